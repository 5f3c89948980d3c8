/* SPDX-License-Identifier: Apache-2.0
 *
 * What is told of sandboxes: one, all, all page by page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text/hexdigit.h"
#include "front/e2b/e2b_control.h"

enum { PAGE_MAX = 100, TOKEN_MAX = 40 };

#define MIB (UINT64_C(1) << 20)
#define FOREVER_MS INT64_C(253402300799000) /* the end of the year 9999 */

/* --- documents -------------------------------------------------------------------------------- */

static void put_names(struct jsonw *w, const struct e2b_sandbox *s)
{
    jsonw_set_text(w, "templateID", s->template_name);
    jsonw_set_text(w, "alias", s->template_name);
    jsonw_set_text(w, "sandboxID", s->id);
    jsonw_set_text(w, "clientID", "local");
    jsonw_set_text(w, "envdVersion", E2B_ENVD_VERSION);
}

void e2b_put_created(struct jsonw *w, const struct e2b_sandbox *s)
{
    jsonw_object(w);
    put_names(w, s);
    jsonw_set_text(w, "envdAccessToken", s->access_token);
    jsonw_set_text(w, "trafficAccessToken", s->traffic_token);
    jsonw_set_text(w, "domain", NULL);
    jsonw_end(w);
}

void e2b_answer_sandbox(struct http_request *r, int status, const struct e2b_sandbox *s)
{
    drop_buf struct buf body = BUF_INIT(E2B_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    e2b_put_created(&w, s);
    http_answer_json(r, status, &body);
}

/* Of the machine: all sandboxes share it. */
static void put_machine(struct jsonw *w, const struct e2b *e)
{
    struct statvfs disk = {0};
    uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES), size = (uint64_t)sysconf(_SC_PAGESIZE);
    (void)statvfs(e->config.workspace, &disk);
    jsonw_set_int(w, "cpuCount", sysconf(_SC_NPROCESSORS_ONLN));
    jsonw_set_int(w, "memoryMB", (int64_t)(pages * size / MIB));
    jsonw_set_int(w, "diskSizeMB", (int64_t)(disk.f_blocks * disk.f_frsize / MIB));
}

static void put_sandbox_members(struct jsonw *w, const struct e2b_sandbox *s)
{
    char *metadata = s->metadata ? json_print(s->metadata) : NULL;
    put_names(w, s);
    jsonw_set_time(w, "startedAt", s->started_ms);
    jsonw_set_time(w, "endAt", s->end_ms > 0 ? s->end_ms : FOREVER_MS);
    put_machine(w, s->owner);
    jsonw_set_text(w, "state", s->paused ? "paused" : "running");
    if (metadata)
        jsonw_set_raw(w, "metadata", metadata);
    xfree(metadata);
}

void e2b_sandbox_get(void *ctx, struct http_request *r)
{
    const struct e2b_sandbox *s = e2b_sandbox_param(ctx, r);
    drop_buf struct buf body = BUF_INIT(E2B_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    if (!s)
        return;
    jsonw_object(&w);
    put_sandbox_members(&w, s);
    jsonw_set_text(&w, "envdAccessToken", s->access_token);
    jsonw_set_text(&w, "domain", NULL);
    jsonw_set_bool(&w, "allowInternetAccess", !s->offline);
    jsonw_set_object(&w, "lifecycle");
    jsonw_set_bool(&w, "autoResume", s->wakes);
    jsonw_set_text(&w, "onTimeout", s->pauses ? "pause" : "kill");
    jsonw_end(&w);
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}

/* --- filters ---------------------------------------------------------------------------------- */

/* In place. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++, to++) {
        int high = *at == '%' ? hexdigit(at[1]) : -1;
        int low = high >= 0 ? hexdigit(at[2]) : -1;
        *to = *at == '+' ? ' ' : *at;
        if (low >= 0) {
            *to = (char)(high << 4 | low);
            at += 2;
        }
    }
    *to = '\0';
}

static bool has_metadata(const struct e2b_sandbox *s, char *pair)
{
    char *value = strchr(pair, '=');
    if (value)
        *value++ = '\0';
    for (int i = 0; i < 2; i++) { /* clients escape the names and values, and then the list */
        unescape(pair);
        if (value)
            unescape(value);
    }
    const char *has = json_get_text(s->metadata, pair);
    return has && strcmp(has, value ? value : "") == 0;
}

/* filter: "name=value&…"; NULL: none. */
static bool is_sandbox_wanted(const struct e2b_sandbox *s, const char *filter)
{
    drop_str char *copy = xstrdup(filter ? filter : "");
    bool wanted = true;
    for (char *at = copy, *next; wanted && *at; at = next) {
        size_t n = strcspn(at, "&");
        next = at[n] ? at + n + 1 : at + n;
        at[n] = '\0';
        wanted = !*at || has_metadata(s, at);
    }
    return wanted;
}

/* --- lists ------------------------------------------------------------------------------------ */

void e2b_sandboxes_list(void *ctx, struct http_request *r)
{
    const struct e2b *e = ctx;
    drop_buf struct buf body = BUF_INIT(E2B_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    jsonw_array(&w);
    for (const struct e2b_sandbox *s = e->sandboxes; s; s = s->next) {
        if (s->paused || !is_sandbox_wanted(s, http_query(r, "metadata")))
            continue;
        jsonw_object(&w);
        put_sandbox_members(&w, s);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}

struct sandbox_page {
    const char *metadata;
    uint64_t limit, before; /* sandboxes with smaller numbers; 0: all */
    bool running, paused;   /* which are wanted */
};

bool e2b_read_number(struct http_request *r, const char *name, uint64_t least, uint64_t most,
                     uint64_t *ret)
{
    const char *text = http_query(r, name);
    char *end = NULL;
    if (!text || !*text)
        return true;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && errno == 0 && n >= least && n <= most) {
        *ret = n;
        return true;
    }
    e2b_fail(r, 400, "%s: a number from %llu to %llu is needed", name, (unsigned long long)least,
             (unsigned long long)most);
    return false;
}

static bool read_page(struct http_request *r, struct sandbox_page *ret)
{
    const char *state = http_query(r, "state");
    *ret = (struct sandbox_page){.metadata = http_query(r, "metadata"),
                                 .limit = PAGE_MAX,
                                 .running = !state || !*state || strstr(state, "running"),
                                 .paused = !state || !*state || strstr(state, "paused")};
    return e2b_read_number(r, "limit", 1, PAGE_MAX, &ret->limit) &&
           e2b_read_number(r, "nextToken", 1, UINT64_MAX, &ret->before);
}

void e2b_sandboxes_list_v2(void *ctx, struct http_request *r)
{
    const struct e2b *e = ctx;
    char token[TOKEN_MAX];
    struct http_header headers[] = {{"Content-Type", E2B_TYPE}, {"x-next-token", token}};
    struct sandbox_page page;
    uint64_t n = 0, last = 0;
    bool more = false;
    drop_buf struct buf body = BUF_INIT(E2B_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    if (!read_page(r, &page))
        return;
    jsonw_array(&w);
    for (const struct e2b_sandbox *s = e->sandboxes; s && !more; s = s->next) {
        if ((page.before > 0 && s->number >= page.before) ||
            !(s->paused ? page.paused : page.running) || !is_sandbox_wanted(s, page.metadata))
            continue;
        more = n++ == page.limit;
        if (more)
            break;
        last = s->number;
        jsonw_object(&w);
        put_sandbox_members(&w, s);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    (void)snprintf(token, sizeof token, "%llu", (unsigned long long)last);
    http_answer(r, 200, headers, more ? 2 : 1, buf_text(&body), body.len);
}
