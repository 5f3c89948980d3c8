/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/sandbox/nettest.h - connections of a confined child. "The internet" is a listener of
 * the test on 127.0.0.1, which some names resolve to; beside it is one that is not listed, and must
 * not be reached. */
#ifndef NETTEST_H
#define NETTEST_H

#include "unit/sandbox/brokertest.h"

#include <netdb.h>

#include "sandbox/net/loopback.h"
#include "sandbox/net/net_internal.h"

enum { TEXT = 4096 };

static int host, secret; /* listeners: one that is allowed, one that is not */
static uint16_t host_port, secret_port;
static char network[TEXT];

static inline int fake_resolve(const char *name, int family, struct address *ret, int max)
{
    (void)family, (void)max;
    ret[0] = address_of_v4(INADDR_LOOPBACK, 0);
    if (strcmp(name, "example.test") == 0 || strcmp(name, "a.wild.test") == 0)
        return 1;
    if (strcmp(name, "inner.test") == 0) {
        ret[0] = address_of_v4(INADDR_LOOPBACK + 2, 0);
        return 1;
    }
    if (strcmp(name, "two.test") == 0) { /* nobody listens at the first */
        ret[0] = address_of_v4(INADDR_LOOPBACK + 3, 0);
        ret[1] = address_of_v4(INADDR_LOOPBACK, 0);
        return 2;
    }
    return -EHOSTUNREACH;
}

static inline void use_fake_names(void)
{
    broker->net->resolve = fake_resolve;
}

static inline void open_internet(void)
{
    struct err e = ERR_NONE;
    make_place();
    TEST_ASSERT(loopback_listen(&host, &host_port, &e) == 0);
    TEST_ASSERT(loopback_listen(&secret, &secret_port, &e) == 0);
    /* whoever accepts may stand still for a moment */
    TEST_ASSERT(listen(host, 4096) == 0 && listen(secret, 4096) == 0);
}

static inline int count_accepted(int listener)
{
    int n = 0, fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        (void)close(fd);
        n++;
    }
    return n;
}

/* Names, and the two addresses that they may lead to. */
static inline const char *some_names(void)
{
    static char text[256];
    (void)snprintf(text, sizeof text,
                   "\"example.test\",\"*.wild.test\",\"inner.test\",\"two.test\","
                   "\"127.0.0.1:%u\",\"127.0.0.4:%u\"",
                   host_port, host_port);
    return text;
}

static inline void stage_of(const char *domains, const char *more, struct stage stage,
                            void (*fn)(void))
{
    static struct lists lists;
    (void)snprintf(network, sizeof network, "\"allowedDomains\":[%s],\"deniedDomains\":[]%s%s",
                   domains, *more ? "," : "", more);
    lists = (struct lists){.network = network};
    stage.lists = &lists;
    stage.network = true;
    stage.ready = use_fake_names;
    stage.child = fn;
    start_stage(&stage);
}

static inline void act_net(const char *domains, const char *more, void (*fn)(void))
{
    stage_of(domains, more, (struct stage){.naive = false}, fn);
    end_stage();
}

/* After a test that has waited for its child already. */
static inline void end_waited_stage(void)
{
    child = fork();
    if (child == 0)
        _exit(0);
    end_stage();
}

/* --- what the child does ---------------------------------------------------------------------- */

static inline int tcp(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        complain("socket: %s", strerror(errno));
    return fd;
}

static inline int connect_v4(int fd, uint32_t v4, uint16_t port)
{
    struct address to = address_of_v4(v4, port);
    return connect(fd, &to.any, to.len);
}

static inline int reaches(uint32_t v4, uint16_t port)
{
    drop_fd int fd = tcp();
    return connect_v4(fd, v4, port);
}

#ifndef __GLIBC__
/* What glibc does where resolv.conf says use-vc: the stub's answer over TCP, as a code of
 * getaddrinfo(). musl asks over UDP alone, which no sandbox has. */
static inline int ask_stub(const char *name, uint32_t *ret)
{
    unsigned char text[512] = {0, 0, 0, 1, 1, 0, 0, 1}; /* length, id, recursion, one question */
    const struct sockaddr_in stub = {
        .sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(0x7F000035)};
    size_t n = 14;
    for (const char *at = name; *at; at += at[0] == '.') {
        size_t label = strcspn(at, ".");
        text[n++] = (unsigned char)label;
        memcpy(text + n, at, label);
        n += label;
        at += label;
    }
    n++;
    text[n + 1] = text[n + 3] = 1; /* an address, of the internet */
    n += 4;
    text[1] = (unsigned char)(n - 2);
    drop_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (const struct sockaddr *)&stub, sizeof stub) < 0)
        return EAI_NONAME;
    ssize_t got = write(fd, text, n) == (ssize_t)n ? read(fd, text, sizeof text) : -1;
    if (got < 14 || (text[5] & 15) != 0 || text[9] == 0)
        return EAI_NONAME;
    memcpy(ret, text + got - 4, sizeof *ret);
    *ret = ntohl(*ret);
    return 0;
}
#endif

/* getaddrinfo()'s code; the first address. */
static inline int look_up(const char *name, uint32_t *ret)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int r = getaddrinfo(name, NULL, &hints, &found);
    for (const struct addrinfo *at = found; r == 0 && at; at = at->ai_next) {
        struct address address;
        if (address_read(at->ai_addr, at->ai_addrlen, &address) == 0)
            (void)address_v4(&address, ret);
    }
    if (found)
        freeaddrinfo(found);
#ifndef __GLIBC__
    if (r != 0)
        r = ask_stub(name, ret);
#endif
    return r;
}

#endif
