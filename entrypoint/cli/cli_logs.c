/* SPDX-License-Identifier: Apache-2.0
 *
 * ipybox logs: a session's events, a line of text for each line of theirs. What comes from kernels
 * cannot steer the terminal here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json/jsonw.h"
#include "entrypoint/cli/cli.h"
#include "entrypoint/cli/cli_client.h"
#include "front/mcp/ask_text.h"
#include "wire/sse.h"

#define NAME "logs"

enum { BLOCK = 64 << 10, TEXT_FACTOR = 8 /* of what is made visible, to what was there */ };

struct logs {
    const struct options *options;
    struct cli_answer stream;
    struct sse sse;
    unsigned long long last; /* the number of the last event that is wanted */
    bool ended;
};

/* --- text ------------------------------------------------------------------------------------- */

static void put_logged_time(struct buf *out, const struct json *data)
{
    long long ms = (long long)json_number(json_get(data, "time_ms"));
    char text[CLOCK_ISO_MAX];
    (void)buf_adds(out, clock_iso(ms, text));
}

/* Several members, as far as they are there, in one line. */
static void put_members(struct buf *text, const struct json *data, const char *const *names)
{
    for (; *names; names++) {
        const char *value = json_get_text(data, *names);
        if (value && *value)
            (void)buf_addf(text, "%s%s", text->len ? " " : "", value);
    }
}

static void put_what(struct buf *text, const char *type, const struct json *data)
{
    static const char *const members[] = {"text",  "status", "state",  "server", "tool",
                                          "ename", "evalue", "reason", "id",     NULL};
    const char *plain = json_get_text(json_get(data, "data"), "text/plain");
    if (plain)
        (void)buf_adds(text, plain);
    else if (strcmp(type, "reset") == 0)
        (void)buf_adds(text, "the session is another one; its events follow");
    else if (strcmp(type, "gap") == 0)
        (void)buf_addf(text, "%.0f events are lost", json_number(json_get(data, "missed")));
    else
        put_members(text, data, members);
}

static void put_logged_line(struct buf *out, const char *type, const struct json *data,
                            const char *line, size_t n)
{
    drop_str char *copy = xstrndup(line, n);
    int cell = (int)json_number(json_get(data, "cell"));
    put_logged_time(out, data);
    (void)buf_addf(out, cell > 0 ? " cell %d" : " -", cell);
    (void)buf_addf(out, " %s%s", type, n > 0 ? " " : "");
    ask_put_visible(out, copy, 0);
    (void)buf_addc(out, '\n');
}

static void show_logged_text(const struct sse_event *event, const struct json *data)
{
    drop_buf struct buf text = BUF_INIT(CLI_EVENT_MAX);
    drop_buf struct buf out = BUF_INIT(CLI_EVENT_MAX * TEXT_FACTOR);
    put_what(&text, event->type, data);
    const char *at = buf_text(&text);
    do {
        size_t n = strcspn(at, "\n");
        put_logged_line(&out, event->type, data, at, n);
        at += n + (at[n] == '\n');
    } while (*at);
    cli_put(STDOUT_FILENO, &out);
}

static unsigned long long number_of_last(const struct logs *l)
{
    char *end = NULL;
    return strtoull(l->sse.id, &end, 10);
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* The event's own object, behind its type and number. */
static void show_json(const struct logs *l, const struct sse_event *event)
{
    drop_buf struct buf out = BUF_INIT(CLI_EVENT_MAX + 4096);
    struct jsonw w = JSONW(&out);
    (void)buf_adds(&out, "{\"event\":");
    jsonw_text(&w, event->type);
    if (*l->sse.id)
        (void)buf_addf(&out, ",\"id\":%llu", number_of_last(l));
    if (event->n > 2) {
        (void)buf_addc(&out, ',');
        (void)buf_add(&out, event->data + 1, event->n - 1);
    } else {
        (void)buf_addc(&out, '}');
    }
    (void)buf_addc(&out, '\n');
    cli_put(STDOUT_FILENO, &out);
}

/* --- the stream ------------------------------------------------------------------------------- */

static void on_logged_event(struct logs *l, struct sse_event *event)
{
    bool closed = strcmp(event->type, "closed") == 0;
    if (event->n == 0)
        return;
    if (l->options->json)
        show_json(l, event);
    drop_json struct json *data = json_parse(event->data, event->n, JSON_REPAIR, NULL);
    if (!l->options->json && data)
        show_logged_text(event, data);
    l->ended = closed || (!l->options->follow && number_of_last(l) >= l->last);
}

static int follow_logs(struct logs *l, struct err *e)
{
    static char block[BLOCK];
    struct sse_event event;
    while (!l->ended) {
        int n = cli_read(&l->stream, block, sizeof block, e);
        if (n < 0)
            return n;
        if (n == 0)
            return err_set(e, -EPIPE, "the server ended the connection");
        const char *bytes = block;
        size_t left = (size_t)n;
        int r = 0;
        while (!l->ended && (r = sse_next(&l->sse, &bytes, &left, &event)) > 0)
            on_logged_event(l, &event);
        if (r < 0)
            return err_set(e, r, "an event is too long");
    }
    return 0;
}

static int find_last(struct logs *l, struct err *e)
{
    drop_str char *path = cli_path("/v1/sessions/", l->options->session, "");
    const struct cli_request request = {.method = "GET", .path = path};
    drop_json struct json *session = NULL;
    int r = cli_fetch_json(&request, &session, e);
    if (r == 0)
        l->last = (unsigned long long)json_number(json_get(session, "last_event"));
    return r;
}

int cli_logs(const struct options *options)
{
    struct logs l = {.options = options, .stream = CLI_ANSWER, .sse = SSE_INIT(CLI_EVENT_MAX)};
    drop_str char *path = cli_path("/v1/sessions/", options->session, "/events");
    const struct cli_request request = {.method = "GET", .path = path, .events = true};
    struct err e = ERR_NONE;
    int r = find_last(&l, &e);
    l.ended = l.last == 0 && !options->follow;
    if (r == 0 && !l.ended)
        r = cli_ask(&request, &l.stream, &e);
    if (r == 0)
        r = follow_logs(&l, &e);
    if (r < 0)
        cli_complain(NAME, "%s", e.msg);
    cli_answer_done(&l.stream);
    sse_done(&l.sse);
    return r < 0 ? CLI_FAILED : 0;
}
