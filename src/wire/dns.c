/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/dns.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum {
    HEADER = 12,
    LABEL_MAX = 63,
    TTL_S = 5, /* short: the address is ours and may be given to another name one day */
    CLASS_IN = 1,
    ANSWER = 16, /* a pointer to the name, type, class, TTL, length, four bytes */
    IS_ANSWER = 0x80,
    OPCODE = 0x78,
    RECURSION_DESIRED = 0x01,
    RECURSION_AVAILABLE = 0x80,
};

static unsigned get16(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

static uint8_t *put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
    return at + 2;
}

static bool is_label_byte(uint8_t c)
{
    return c < 0x80 && (isalnum(c) || c == '-' || c == '_');
}

/* One label at *at; its bytes go behind those that are in name. */
static int take_label(const uint8_t *bytes, size_t n, size_t *at, char *name, size_t *len)
{
    size_t count = bytes[*at];
    if (count > LABEL_MAX || count >= n - *at) /* compressed, or cut off */
        return -EBADMSG;
    if (*len + (*len > 0) + count > DNS_NAME_MAX)
        return -EBADMSG;
    if (*len > 0)
        name[(*len)++] = '.';
    bool host = true;
    for (size_t i = 1; i <= count; i++) {
        uint8_t c = bytes[*at + i];
        host = host && is_label_byte(c);
        name[(*len)++] = (char)tolower(c);
    }
    *at += count + 1;
    return host ? 0 : -ENOTSUP;
}

static int take_dns_name(const uint8_t *bytes, size_t n, size_t *at, char *name)
{
    size_t len = 0;
    int r = 0;
    while (*at < n && bytes[*at] != 0) {
        int label = take_label(bytes, n, at, name, &len);
        if (label == -EBADMSG)
            return label;
        r = label < 0 ? label : r;
    }
    if (*at >= n)
        return -EBADMSG;
    (*at)++;
    name[r < 0 ? 0 : len] = '\0';
    return r;
}

int dns_parse(const uint8_t *query, size_t n, struct dns_question *ret)
{
    if (n < HEADER || n > DNS_MESSAGE_MAX || (query[2] & IS_ANSWER) != 0)
        return -EBADMSG;
    struct dns_question question = {.end = HEADER};
    if ((query[2] & OPCODE) != 0 || get16(query + 4) != 1 || get16(query + 6) != 0) {
        *ret = question;
        return -ENOTSUP;
    }
    size_t at = HEADER;
    int r = take_dns_name(query, n, &at, question.name);
    if (r == -EBADMSG || n - at < 4)
        return -EBADMSG;
    question.type = (uint16_t)get16(query + at);
    question.class = (uint16_t)get16(query + at + 2);
    question.end = at + 4;
    *ret = question;
    return r < 0 || question.class != CLASS_IN ? -ENOTSUP : 0;
}

size_t dns_answer(const uint8_t *query, const struct dns_question *question, enum dns_code code,
                  uint32_t address, uint8_t out[static DNS_MESSAGE_MAX])
{
    size_t echoed = question->end <= DNS_MESSAGE_MAX - ANSWER ? question->end : HEADER;
    bool told = code == DNS_OK && question->type == DNS_A && address != 0 && echoed > HEADER;
    memcpy(out, query, echoed);
    out[2] = (uint8_t)(IS_ANSWER | (query[2] & (OPCODE | RECURSION_DESIRED)));
    out[3] = (uint8_t)(RECURSION_AVAILABLE | (unsigned)code);
    uint8_t *at = put16(out + 4, echoed > HEADER);
    at = put16(at, told);
    at = put16(at, 0);
    put16(at, 0);
    if (!told)
        return echoed;
    at = put16(out + echoed, 0xC000 | HEADER);
    at = put16(at, DNS_A);
    at = put16(at, CLASS_IN);
    at = put16(at, 0);
    at = put16(at, TTL_S);
    at = put16(at, 4);
    at = put16(at, address >> 16);
    put16(at, address & 0xFFFF);
    return echoed + ANSWER;
}
