/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp_http/mcp_http_head.h"

#include <string.h>
#include <strings.h>

#include "base/text/base64.h"
#include "front/mcp/mcp.h"

enum { HEADER_MAX = 64 << 10 };

/* --- Accept ----------------------------------------------------------------------------------- */

static bool range_takes(const char *range, size_t n, const char *type)
{
    size_t slash = strcspn(type, "/");
    if (n == 3 && strncmp(range, "*/*", 3) == 0)
        return true;
    if (n == slash + 2 && range[n - 1] == '*')
        return strncasecmp(range, type, slash + 1) == 0;
    return n == strlen(type) && strncasecmp(range, type, n) == 0;
}

bool mcp_head_accepts(const char *accept, const char *type)
{
    while (accept && *accept) {
        accept += strspn(accept, " \t,");
        if (range_takes(accept, strcspn(accept, " \t,;"), type))
            return true;
        accept += strcspn(accept, ",");
    }
    return false;
}

/* --- mirrors of the body ---------------------------------------------------------------------- */

/* A value as it was meant: without blanks at its ends, and decoded where it is written as
 * "=?base64?…?=". -EBADMSG: it cannot be decoded. */
static int decode_mcp_header(const char *value, struct buf *ret)
{
    static const char open[] = "=?base64?", close[] = "?=";
    const size_t frame = sizeof open - 1 + sizeof close - 1;
    value += strspn(value, " \t");
    size_t n = strlen(value);
    while (n > 0 && strchr(" \t", value[n - 1]))
        n--;
    bool encoded = n >= frame && strncasecmp(value, open, sizeof open - 1) == 0 &&
                   memcmp(value + n - 2, close, 2) == 0;
    if (!encoded)
        return buf_add(ret, value, n);
    value += sizeof open - 1;
    n -= frame;
    if (memchr(value, ' ', n) || memchr(value, '\t', n))
        return -EBADMSG;
    int r = base64_decode(ret, value, n);
    if (r < 0)
        return -EBADMSG;
    drop_buf struct buf again = BUF_INIT(HEADER_MAX); /* one value has one spelling */
    r = base64_encode(&again, ret->data, ret->len);
    return r == 0 && again.len == n && memcmp(buf_text(&again), value, n) == 0 ? 0 : -EBADMSG;
}

/* expected == NULL: the message has nothing to compare it with. */
static int check_mcp_header(const struct http_request *r, const char *name, const char *expected,
                            struct err *e)
{
    drop_buf struct buf value = BUF_INIT(HEADER_MAX);
    size_t count = http_header_count(r, name);
    if (count == 0 && !expected)
        return 0;
    if (count == 0)
        return err_set(e, -EBADMSG, "Header mismatch: %s is missing", name);
    if (count > 1)
        return err_set(e, -EBADMSG, "Header mismatch: %s is there %zu times", name, count);
    if (decode_mcp_header(http_header(r, name), &value) < 0)
        return err_set(e, -EBADMSG, "Header mismatch: %s cannot be decoded", name);
    if (!expected || value.len != strlen(expected) ||
        memcmp(buf_text(&value), expected, value.len) != 0)
        return err_set(e, -EBADMSG, "Header mismatch: %s differs from the body", name);
    return 0;
}

/* The member of params that Mcp-Name mirrors; NULL: none does. */
static const char *named_member(const char *method)
{
    static const char *const members[][2] = {
        {"tools/call", "name"},  {"prompts/get", "name"},    {"resources/read", "uri"},
        {"tasks/get", "taskId"}, {"tasks/update", "taskId"}, {"tasks/cancel", "taskId"}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (strcmp(method, members[i][0]) == 0)
            return members[i][1];
    }
    return NULL;
}

int mcp_head_mirrors(const struct http_request *r, const struct rpc_message *m, struct err *e)
{
    const char *member = named_member(m->method);
    int result = check_mcp_header(r, "MCP-Protocol-Version",
                                  json_get_text(json_get(m->params, "_meta"), MCP_VERSION_KEY), e);
    if (result == 0)
        result = check_mcp_header(r, "Mcp-Method", m->method, e);
    if (result == 0 && member)
        result = check_mcp_header(r, "Mcp-Name", json_get_text(m->params, member), e);
    return result;
}
