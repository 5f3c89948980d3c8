/* SPDX-License-Identifier: Apache-2.0
 *
 * A body of /run and /approve, under three content types: what is taken has all its members, what
 * is refused is answered by valid JSON, and what is written compactly means the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "front/toolserver/toolserver_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_json(const char *text, size_t n)
{
    drop_json struct json *json = json_parse_copy(text, n, JSON_REPAIR, NULL);
    if (!json)
        abort();
}

static void read_as(const char *body, size_t n, const char *type, bool with_params)
{
    drop_buf struct buf out = BUF_INIT((size_t)64 << 20), compact = BUF_INIT((size_t)64 << 20);
    struct toolserver_query q = {0};
    int status = toolserver_read(body, n, type, with_params, &q, &out);
    if (status == 0) {
        if (!q.server || !q.tool || !q.arguments || (with_params && !json_is_object(q.params)) ||
            strchr(q.arguments, '\n'))
            abort();
        check_json(q.arguments, strlen(q.arguments));
        toolserver_compact(&compact, q.arguments, strlen(q.arguments));
        check_json(buf_text(&compact), compact.len);
    } else {
        if (out.failed || out.len == 0)
            abort();
        check_json(buf_text(&out), out.len);
    }
    toolserver_query_done(&q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const types[] = {NULL, "application/json", "text/plain"};
    drop_buf struct buf copy = BUF_INIT(size + 1);
    if (buf_add(&copy, data, size) < 0)
        abort();
    const char *body = buf_text(&copy);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        read_as(body, size, types[i], true);
        read_as(body, size, types[i], false);
    }
    size_t at = 0;
    if (!toolserver_json_fault(body, size, &at) || at > size)
        abort();
    return 0;
}
