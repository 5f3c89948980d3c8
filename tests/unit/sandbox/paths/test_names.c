/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/paths/names.h"
#include "sandbox/proc/addresses.h"

static void a_name_has_one_address_in_any_case(void)
{
    struct host_names *names = names_new();
    char name[DNS_NAME_MAX + 1];
    uint32_t one = names_address(names, "Example.test"), two = names_address(names, "other.test");
    TEST_CHECK(one >> 17 == 0xC6120000 >> 17 && two >> 17 == 0xC6120000 >> 17 && one != two);
    TEST_CHECK(names_address(names, "eXample.tesT") == one);
    TEST_CHECK(names_find(names, one, name) && strcmp(name, "example.test") == 0);
    TEST_CHECK(names_find(names, two, name) && strcmp(name, "other.test") == 0);
    TEST_CHECK(!names_find(names, two + 1, name));
    names = names_free(names);
}

static void a_name_that_is_too_long_has_none(void)
{
    struct host_names *names = names_new();
    char name[DNS_NAME_MAX + 2];
    memset(name, 'a', sizeof name);
    name[DNS_NAME_MAX + 1] = '\0';
    TEST_CHECK(names_address(names, name) == 0);
    name[DNS_NAME_MAX] = '\0';
    TEST_CHECK(names_address(names, name) != 0);
    names = names_free(names);
}

/* Whoever kept an address for long meets nobody there, and not another name. */
static void the_name_unused_for_longest_goes_first(void)
{
    struct host_names *names = names_new();
    char name[DNS_NAME_MAX + 1], other[64];
    uint32_t kept = names_address(names, "kept.test"), lost = names_address(names, "lost.test");
    for (int i = 0; i < 3 * NAMES_MAX; i++) {
        (void)snprintf(other, sizeof other, "n%d.test", i);
        uint32_t address = names_address(names, other);
        TEST_ASSERT(address != kept && address != lost);
        if (i % 1000 == 0)
            TEST_ASSERT(names_find(names, kept, name) && strcmp(name, "kept.test") == 0);
    }
    TEST_CHECK(!names_find(names, lost, name));
    TEST_CHECK(names_find(names, names_address(names, other), name) && strcmp(name, other) == 0);
    names = names_free(names);
}

static void a_virtual_file_is_read_and_not_written(void)
{
    drop_buf struct buf text = BUF_INIT(100);
    char got[100] = "", path[64];
    TEST_ASSERT(buf_adds(&text, "127.0.0.1 localhost\n") == 0);
    drop_fd int fd = names_file("hosts", &text);
    TEST_ASSERT(fd >= 0);
    TEST_CHECK(read(fd, got, sizeof got - 1) == (ssize_t)text.len && strcmp(got, text.data) == 0);
    TEST_CHECK(write(fd, "x", 1) < 0 && ftruncate(fd, 0) < 0);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    drop_fd int again = open(path, O_WRONLY | O_CLOEXEC);
    TEST_CHECK(again < 0 || write(again, "x", 1) < 0);
    TEST_CHECK((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
}

static struct address address_from(const char *text)
{
    struct address address = address_of_v4(0, 443);
    if (inet_pton(AF_INET, text, &address.in.sin_addr) == 1)
        return address;
    address = (struct address){.len = sizeof address.in6};
    address.in6.sin6_family = AF_INET6;
    address.in6.sin6_port = htons(443);
    TEST_ASSERT_(inet_pton(AF_INET6, text, &address.in6.sin6_addr) == 1, "%s", text);
    return address;
}

static void inner_addresses_are_told_from_those_of_the_open_internet(void)
{
    static const char *const inner[] = {
        "0.0.0.0",
        "0.1.2.3",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.1",
        "100.64.0.1",
        "100.127.255.255",
        "198.18.0.1",
        "198.19.255.1",
        "224.0.0.1",
        "255.255.255.255",
        "192.0.0.1",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:172.16.0.1",
        "fe80::1",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2001::1",
        "2001:db8::1",
        "::7f00:1",
    };
    static const char *const open_ones[] = {
        "1.1.1.1",     "172.15.255.255",  "172.32.0.1",     "100.63.255.255",   "100.128.0.1",
        "169.253.1.1", "198.17.255.255",  "198.20.0.1",     "223.255.255.255",  "2606:4700::1111",
        "2a00::1",     "2001:4860::8888", "::ffff:1.1.1.1", "64:ff9b::101:101",
    };
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) {
        struct address address = address_from(inner[i]);
        TEST_CHECK_(address_is_inner(&address), "%s", inner[i]);
    }
    for (size_t i = 0; i < sizeof open_ones / sizeof *open_ones; i++) {
        struct address address = address_from(open_ones[i]);
        TEST_CHECK_(!address_is_inner(&address), "%s", open_ones[i]);
    }
}

static void a_mapped_address_is_the_one_inside(void)
{
    struct address four = address_from("127.0.0.1"), six = address_from("::ffff:127.0.0.1");
    struct address other = address_from("::1"), fit;
    char text[ADDRESS_TEXT_MAX];
    TEST_CHECK(address_same(&four, &six) && !address_same(&four, &other));
    TEST_CHECK(address_is_loopback(&four) && address_is_loopback(&six));
    address_text(&six, text);
    TEST_CHECK(strcmp(text, "127.0.0.1") == 0);
    TEST_CHECK(address_for(&four, AF_INET6, &fit) == 0 && fit.any.sa_family == AF_INET6 &&
               address_same(&fit, &four) && address_port(&fit) == 443);
    TEST_CHECK(address_for(&six, AF_INET, &fit) == 0 && fit.any.sa_family == AF_INET);
    TEST_CHECK(address_for(&other, AF_INET, &fit) == -EAFNOSUPPORT);
    address_set_port(&six, 80);
    TEST_CHECK(!address_same(&four, &six) && address_port(&six) == 80);
}

#define T(name) {#name, name}

TEST_LIST = {
    T(a_name_has_one_address_in_any_case),
    T(a_name_that_is_too_long_has_none),
    T(the_name_unused_for_longest_goes_first),
    T(a_virtual_file_is_read_and_not_written),
    T(inner_addresses_are_told_from_those_of_the_open_internet),
    T(a_mapped_address_is_the_one_inside),
    {NULL, NULL},
};
