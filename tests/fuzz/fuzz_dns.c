/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries for names. What is read is a name that can be written down, and every answer echoes the
 * question and fits. */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

static void check_name(const char *name)
{
    must(strlen(name) <= DNS_NAME_MAX);
    for (; *name; name++)
        must(islower((unsigned char)*name) || isdigit((unsigned char)*name) ||
             strchr("-_.", *name) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dns_question question;
    uint8_t out[DNS_MESSAGE_MAX];
    int r = dns_parse(data, size, &question);
    if (r == -EBADMSG)
        return 0;
    must(r == 0 || r == -ENOTSUP);
    must(question.end <= size);
    check_name(question.name);
    size_t plain = dns_answer(data, &question, DNS_NO_NAME, 1, out);
    must(plain <= question.end && (out[2] & 0x80) != 0 && out[7] == 0);
    size_t told = dns_answer(data, &question, DNS_OK, 1, out);
    must(told == plain || (told == plain + 16 && question.type == DNS_A && told <= sizeof out));
    struct dns_question again;
    out[2] &= 0x7F; /* the answer's question is the query's */
    out[7] = 0;
    if (r == 0 && plain == question.end)
        must(dns_parse(out, told, &again) == 0 && strcmp(again.name, question.name) == 0);
    return 0;
}
