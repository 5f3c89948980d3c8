/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/rpcpeek.h"

#include <string.h>

#include "wire/jsonrpc.h"

static bool is_peek_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

void rpc_trim(char **text, size_t *n)
{
    while (*n > 0 && is_peek_space(**text))
        (*text)++, (*n)--;
    while (*n > 0 && is_peek_space((*text)[*n - 1]))
        (*n)--;
}

bool rpc_looks_like_message(const char *text, size_t n)
{
    if (n < 2)
        return false;
    if (*text == '{')
        return text[n - 1] == '}';
    if (*text != '[' || text[n - 1] != ']')
        return false;
    size_t at = 1;
    while (at < n && is_peek_space(text[at]))
        at++;
    return text[at] == '{';
}

/* The end of the string whose quote is at `at`. */
static size_t peek_string_end(const char *text, size_t n, size_t at)
{
    for (at++; at < n && text[at] != '"'; at++) {
        if (text[at] == '\\')
            at++;
    }
    return at < n ? at : n;
}

static bool has_method(const char *text, size_t n)
{
    static const char name[] = "\"method\"";
    long depth = 0;
    char before = 0;
    for (size_t at = 0; at < n; at++) {
        char c = text[at];
        if (is_peek_space(c))
            continue;
        if (c == '"') {
            size_t end = peek_string_end(text, n, at);
            if (depth == 1 && (before == '{' || before == ',') && end - at == sizeof name - 2 &&
                memcmp(text + at, name, sizeof name - 1) == 0)
                return true;
            at = end;
        }
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        before = c;
    }
    return false;
}

bool rpc_looks_like_answer(const char *text, size_t n, const char *id)
{
    if (n > 0 && *text == '[')
        return true; /* a batch answers what was asked */
    struct jsonscan scan = {0};
    jsonscan_feed(&scan, text, n);
    return *jsonscan_id(&scan) && rpc_same_id(jsonscan_id(&scan), id) && !has_method(text, n);
}
