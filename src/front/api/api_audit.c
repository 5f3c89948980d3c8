/* SPDX-License-Identifier: Apache-2.0
 *
 * /v1/audit: the end of the audit log, for who looks on. It proves nothing: the file with `ipybox
 * audit verify` does. */
#include <string.h>

#include "front/api.h"
#include "front/api/api_internal.h"
#include "front/api/api_json.h"

enum { RECORDS = 100, RECORDS_MAX = 500 };

/* A line that is no JSON, which another hand has written, is left out. */
static void put_audited(struct jsonw *w, const char *line, size_t n)
{
    struct err ignored = ERR_NONE;
    drop_json struct json *record = json_parse_copy(line, n, JSON_STRICT, &ignored);
    if (record)
        jsonw_raw_n(w, line, n);
}

static void audit_get(void *ctx, struct http_request *r)
{
    const struct api *api = ctx;
    struct err e = ERR_NONE;
    size_t limit = RECORDS;
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX), lines = BUF_INIT(AUDIT_LAST_MAX + 1);
    struct jsonw w = JSONW(&body);
    struct audit_numbers numbers;
    if (!api_limit(r, RECORDS_MAX, &limit))
        return;
    if (audit_last(api->config->audit, limit, &lines, &e) < 0) {
        api_fail(r, &e);
        return;
    }
    jsonw_object(&w);
    jsonw_set_text(&w, "state", audit_state_names[audit_state(api->config->audit, &numbers)]);
    jsonw_set_array(&w, "records");
    for (const char *at = lines.data, *end = lines.data + lines.len; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        put_audited(&w, at, (size_t)((newline ? newline : end) - at));
        at = newline ? newline + 1 : end;
    }
    jsonw_end(&w);
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}

static const struct http_route routes[] = {
    {"GET", "/v1/audit", HTTP_NO_BODY, 0, NULL, API_ADMIN, audit_get},
};

const struct api_group api_audit_group = {.routes = routes, .n = sizeof routes / sizeof *routes};
