/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "wire/dns.h"

enum { CLASS_IN = 1, TYPE_PTR = 12 };

struct query {
    uint8_t bytes[1024];
    size_t n;
};

static void add(struct query *query, const void *bytes, size_t n)
{
    memcpy(query->bytes + query->n, bytes, n);
    query->n += n;
}

/* A query for "a.b" as a resolver writes it. */
static struct query query_for(const char *name, unsigned type)
{
    struct query query = {.n = 0};
    add(&query, "\x12\x34\x01\x00\0\1\0\0\0\0\0\0", 12);
    while (*name) {
        size_t n = strcspn(name, ".");
        const uint8_t length = (uint8_t)n;
        add(&query, &length, 1);
        add(&query, name, n);
        name += n + (name[n] == '.');
    }
    const uint8_t tail[] = {0, (uint8_t)(type >> 8), (uint8_t)type, 0, CLASS_IN};
    add(&query, tail, sizeof tail);
    return query;
}

static void a_query_is_read(void)
{
    struct query query = query_for("www.Example.TEST", DNS_A);
    struct dns_question question;
    TEST_ASSERT(dns_parse(query.bytes, query.n, &question) == 0);
    TEST_CHECK(strcmp(question.name, "www.example.test") == 0);
    TEST_CHECK(question.type == DNS_A && question.class == CLASS_IN && question.end == query.n);
    query = query_for("1.0.18.198.in-addr.arpa", TYPE_PTR);
    TEST_CHECK(dns_parse(query.bytes, query.n, &question) == 0 && question.type == TYPE_PTR);
    query = query_for("", DNS_A);
    TEST_CHECK(dns_parse(query.bytes, query.n, &question) == 0 && question.name[0] == '\0');
}

static void an_additional_section_is_passed_over(void)
{
    struct query query = query_for("example.test", DNS_A);
    size_t end = query.n;
    query.bytes[11] = 1;
    add(&query, "\0\0\x29\x04\xd0\0\0\0\0\0\0", 11);
    struct dns_question question;
    TEST_CHECK(dns_parse(query.bytes, query.n, &question) == 0 && question.end == end);
}

static void an_address_is_told_for_type_a_alone(void)
{
    struct query query = query_for("Example.test", DNS_A);
    struct dns_question question;
    uint8_t out[DNS_MESSAGE_MAX];
    TEST_ASSERT(dns_parse(query.bytes, query.n, &question) == 0);
    size_t n = dns_answer(query.bytes, &question, DNS_OK, 0xC6120007, out);
    TEST_ASSERT(n == query.n + 16);
    TEST_CHECK(memcmp(out, "\x12\x34\x81\x80\0\1\0\1\0\0\0\0", 12) == 0);
    TEST_CHECK(memcmp(out + 12, query.bytes + 12, query.n - 12) == 0); /* letters as they were */
    TEST_CHECK(memcmp(out + query.n, "\xC0\x0C\0\1\0\1", 6) == 0);
    TEST_CHECK(memcmp(out + n - 6, "\0\4\xC6\x12\0\7", 6) == 0);

    query = query_for("example.test", DNS_AAAA);
    TEST_ASSERT(dns_parse(query.bytes, query.n, &question) == 0);
    n = dns_answer(query.bytes, &question, DNS_OK, 0xC6120007, out);
    TEST_CHECK(n == query.n && (out[3] & 0xF) == DNS_OK && out[7] == 0);
    n = dns_answer(query.bytes, &question, DNS_NO_NAME, 0, out);
    TEST_CHECK(n == query.n && (out[3] & 0xF) == DNS_NO_NAME && out[7] == 0);
}

static void what_is_no_query_is_not_answered(void)
{
    struct dns_question question;
    struct query query = query_for("example.test", DNS_A);
    for (size_t n = 0; n < query.n; n++)
        TEST_CHECK_(dns_parse(query.bytes, n, &question) == -EBADMSG, "cut to %zu", n);
    query.bytes[2] |= 0x80; /* an answer */
    TEST_CHECK(dns_parse(query.bytes, query.n, &question) == -EBADMSG);
    query = query_for("example.test", DNS_A);
    query.bytes[12] = 0xC0; /* a pointer to itself */
    query.bytes[13] = 12;
    TEST_CHECK(dns_parse(query.bytes, query.n, &question) == -EBADMSG);
    query = query_for("example.test", DNS_A);
    query.n = DNS_MESSAGE_MAX + 1;
    TEST_CHECK(dns_parse(query.bytes, query.n, &question) == -EBADMSG);
}

static void a_name_has_at_most_253_bytes(void)
{
    char name[256] = "";
    struct dns_question question;
    for (int i = 0; i < 253; i++)
        name[i] = i % 50 == 49 ? '.' : 'a';
    struct query query = query_for(name, DNS_A);
    TEST_CHECK(dns_parse(query.bytes, query.n, &question) == 0 && strcmp(question.name, name) == 0);
    name[253] = 'a';
    query = query_for(name, DNS_A);
    TEST_CHECK(dns_parse(query.bytes, query.n, &question) == -EBADMSG);
}

static void what_is_no_host_gets_a_code_for_an_answer(void)
{
    struct dns_question question;
    uint8_t out[DNS_MESSAGE_MAX];
    struct query query = query_for("exam ple.test", DNS_A);
    TEST_CHECK(dns_parse(query.bytes, query.n, &question) == -ENOTSUP);
    TEST_CHECK(question.name[0] == '\0' && question.end == query.n);
    TEST_CHECK(dns_answer(query.bytes, &question, DNS_NO_NAME, 0, out) == query.n);

    query = query_for("example.test", DNS_A);
    query.bytes[2] = 0x10; /* status */
    TEST_CHECK(dns_parse(query.bytes, query.n, &question) == -ENOTSUP && question.end == 12);
    TEST_CHECK(dns_answer(query.bytes, &question, DNS_NOT_IMPLEMENTED, 0xC6120007, out) == 12);
    TEST_CHECK(out[5] == 0 && (out[2] & 0x78) == 0x10);

    query = query_for("example.test", DNS_A);
    query.bytes[query.n - 1] = 3; /* another class */
    TEST_CHECK(dns_parse(query.bytes, query.n, &question) == -ENOTSUP);
}

#define T(name) {#name, name}

TEST_LIST = {
    T(a_query_is_read),
    T(an_additional_section_is_passed_over),
    T(an_address_is_told_for_type_a_alone),
    T(what_is_no_query_is_not_answered),
    T(a_name_has_at_most_253_bytes),
    T(what_is_no_host_gets_a_code_for_an_answer),
    {NULL, NULL},
};
