/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/fake_tools.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json/jsonw.h"

struct fake_tools fake_tools;

static struct tools_tool list[] = {
    {.name = "echo", .description = "Echo.", .digest = "d1"},
    {.name = "Odd Name", .description = "", .digest = "d2"},
};
static const struct tools_server server = {
    .name = "demo", .params = "{}", .shown = "run demo", .tools = list, .n_tools = 2};

static struct {
    void (*done)(void *ctx, const struct tools_server *server, const struct err *why);
    void *ctx;
} job;

static struct {
    struct tools_call_events events;
    void *ctx;
} call;

int tools_check_params(const char *name, const struct json *params, struct err *e)
{
    (void)name;
    return json_is_object(params) ? 0 : err_set(e, -EINVAL, "not parameters");
}

char *tools_shown(const struct json *params)
{
    return xasprintf("shown %s", json_get_text(params, "command"));
}

int tools_register(struct tools *tools, const char *name, const struct json *params,
                   void (*done)(void *ctx, const struct tools_server *server,
                                const struct err *why),
                   void *ctx, struct tools_job **ret, struct err *e)
{
    (void)tools, (void)e;
    drop_str char *text = json_print(params);
    (void)snprintf(fake_tools.registered, sizeof fake_tools.registered, "%s %s", name, text);
    fake_tools.registrations++;
    job.done = done;
    job.ctx = ctx;
    *ret = (struct tools_job *)&job;
    return 0;
}

void tools_job_listen(struct tools_job *listened,
                      void (*text)(void *ctx, const char *text, size_t n))
{
    (void)listened, (void)text;
}

void tools_job_cancel(struct tools_job *cancelled)
{
    (void)cancelled;
    fake_tools.cancelled++;
}

bool tools_find(const struct tools *tools, const char *name, struct tools_server *ret)
{
    (void)tools;
    if (!fake_tools.known || strcmp(name, "demo") != 0)
        return false;
    *ret = server;
    return true;
}

struct tool_list *tools_hold(const struct tools *tools, const char *name, struct tools_server *ret)
{
    (void)tools, (void)name;
    *ret = server;
    return (struct tool_list *)&job;
}

void tools_release(struct tool_list *held)
{
    (void)held;
}

bool tools_equal_params(const struct json *a, const struct json *b)
{
    drop_str char *x = json_print(a), *y = json_print(b);
    return x && y && strcmp(x, y) == 0;
}

bool tools_same_params(const struct tools *tools, const char *name, const struct json *params)
{
    (void)tools, (void)name;
    drop_str char *text = json_print(params);
    return strcmp(text, fake_tools.params) == 0;
}

bool tools_next(const struct tools *tools, size_t *at, struct tools_server *ret)
{
    return (*at)++ == 0 && tools_find(tools, "demo", ret);
}

void tools_remove(struct tools *tools, const char *name)
{
    (void)tools, (void)name;
    fake_tools.known = false;
}

void tools_reset(struct tools *tools)
{
    (void)tools;
    fake_tools.resets++;
}

int tools_call_start(struct tools *tools, const char *name, const char *tool, const char *arguments,
                     const struct trace *trace, const struct tools_call_events *events, void *ctx,
                     struct tools_call **ret, struct err *e)
{
    (void)tools, (void)e;
    (void)snprintf(fake_tools.called, sizeof fake_tools.called, "%s %s %s", name, tool, arguments);
    fake_tools.calls++;
    fake_tools.trace = trace ? *trace : (struct trace){0};
    call.events = *events;
    fake_tools.progress_wanted = events->progress != NULL;
    call.ctx = ctx;
    *ret = (struct tools_call *)&call;
    return 0;
}

void tools_call_answer(struct tools_call *answered, uint64_t key, const char *answer)
{
    (void)answered, (void)key;
    fake_tools.answers++;
    (void)snprintf(fake_tools.answer, sizeof fake_tools.answer, "%s", answer);
}

void tools_call_cancel(struct tools_call *cancelled)
{
    (void)cancelled;
    fake_tools.cancelled++;
}

void fake_tools_registered(const char *why_not)
{
    struct err why = ERR_NONE;
    if (why_not)
        (void)err_set(&why, -EIO, "%s", why_not);
    else
        fake_tools.known = true;
    job.done(job.ctx, why_not ? NULL : &server, why_not ? &why : NULL);
}

void fake_tools_done(const char *text, bool is_error, const char *reason)
{
    struct err why = ERR_NONE;
    if (!text) {
        (void)err_set(&why, -EIO, "%s", reason);
        call.events.done(call.ctx, NULL, &why);
        return;
    }
    drop_buf struct buf out = BUF_INIT(4096);
    struct jsonw w = JSONW(&out);
    jsonw_array(&w);
    jsonw_object(&w);
    jsonw_set_text(&w, "type", "text");
    jsonw_set_text(&w, "text", text);
    jsonw_end(&w);
    jsonw_end(&w);
    drop_json struct json *content = json_parse_copy(out.data, out.len, JSON_STRICT, NULL);
    struct tools_result result = {.is_error = is_error, .content = content};
    call.events.done(call.ctx, &result, NULL);
}

void fake_tools_ask(const char *params)
{
    drop_json struct json *form = json_parse_copy(params, strlen(params), JSON_STRICT, NULL);
    call.events.input(call.ctx, 7, form);
}

void fake_tools_progress(double progress, double total, const char *message)
{
    call.events.progress(call.ctx, progress, total, message);
}
