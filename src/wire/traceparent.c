/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/traceparent.h"

#include <stdio.h>
#include <string.h>

enum {
    VERSION_HEX = 2,
    FLAGS_HEX = 2,
    ID_AT = VERSION_HEX + 1,
    SPAN_AT = ID_AT + TRACE_ID_HEX + 1,
    FLAGS_AT = SPAN_AT + TRACE_SPAN_HEX + 1,
    FLAGS_KNOWN = 3,
    STATE_MEMBERS_MAX = 32,
    STATE_KEY_MAX = 256,
    STATE_VALUE_MAX = 256,
};
_Static_assert(FLAGS_AT + FLAGS_HEX == TRACEPARENT_LEN, "the form of version 00");

static const char digits[] = "0123456789abcdef";
static const char key_bytes[] = "abcdefghijklmnopqrstuvwxyz0123456789_-*/@";

/* --- traceparent ------------------------------------------------------------------------------ */

static bool is_hex(const char *text, size_t n)
{
    return strspn(text, digits) >= n;
}

static bool is_trace_id(const char *text, size_t n)
{
    return is_hex(text, n) && strspn(text, "0") < n;
}

static bool is_parent(const char *text)
{
    size_t n = strlen(text);
    if (n < TRACEPARENT_LEN || !is_hex(text, VERSION_HEX) || strncmp(text, "ff", 2) == 0)
        return false;
    bool first = strncmp(text, "00", VERSION_HEX) == 0;
    if (n > TRACEPARENT_LEN && (first || text[TRACEPARENT_LEN] != '-'))
        return false;
    return text[ID_AT - 1] == '-' && text[SPAN_AT - 1] == '-' && text[FLAGS_AT - 1] == '-' &&
           is_trace_id(text + ID_AT, TRACE_ID_HEX) && is_trace_id(text + SPAN_AT, TRACE_SPAN_HEX) &&
           is_hex(text + FLAGS_AT, FLAGS_HEX);
}

/* --- tracestate ------------------------------------------------------------------------------- */

static bool is_tracestate_key(const char *text, size_t n)
{
    bool begins = n > 0 && strchr("abcdefghijklmnopqrstuvwxyz0123456789", *text) && *text;
    return begins && n <= STATE_KEY_MAX && strspn(text, key_bytes) >= n;
}

static bool is_value(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] < ' ' || text[i] > '~' || text[i] == '=')
            return false;
    }
    return n > 0 && n <= STATE_VALUE_MAX;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* "key=value", maybe with blanks around it; an empty one is allowed, too. */
static bool is_member(const char *text, size_t n)
{
    while (n > 0 && is_blank(*text)) {
        text++;
        n--;
    }
    while (n > 0 && is_blank(text[n - 1]))
        n--;
    const char *equals = memchr(text, '=', n);
    if (n == 0)
        return true;
    size_t key = equals ? (size_t)(equals - text) : 0;
    return equals && is_tracestate_key(text, key) && is_value(equals + 1, n - key - 1);
}

static bool is_state(const char *text)
{
    int members = 0;
    if (strlen(text) > TRACESTATE_MAX)
        return false;
    for (;;) {
        size_t n = strcspn(text, ",");
        if (++members > STATE_MEMBERS_MAX || !is_member(text, n))
            return false;
        if (text[n] == '\0')
            return true;
        text += n + 1;
    }
}

/* --- the whole -------------------------------------------------------------------------------- */

static unsigned char hex_value(char c)
{
    return (unsigned char)(strchr(digits, c) - digits);
}

int trace_parse(const char *parent, const char *state, struct trace *ret)
{
    if (!parent || !is_parent(parent))
        return -EINVAL;
    struct trace trace = {0};
    memcpy(trace.id, parent + ID_AT, TRACE_ID_HEX);
    memcpy(trace.span, parent + SPAN_AT, TRACE_SPAN_HEX);
    trace.flags = hex_value(parent[FLAGS_AT + 1]) & FLAGS_KNOWN;
    if (state && is_state(state))
        memcpy(trace.state, state, strlen(state) + 1);
    *ret = trace;
    return 0;
}

bool trace_is_set(const struct trace *trace)
{
    return trace->id[0] != '\0';
}

void trace_write(const struct trace *trace, const char *span, char ret[TRACEPARENT_LEN + 1])
{
    (void)snprintf(ret, TRACEPARENT_LEN + 1, "00-%s-%.16s-%02x", trace->id, span, trace->flags);
}
