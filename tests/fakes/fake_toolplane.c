/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/fake_toolplane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json/jsonw.h"

struct toolplane_call {
    struct toolplane_call *next;
    const struct toolplane_events *events;
    void *ctx;
};

struct fake_toolplane fake_toolplane;
static struct toolplane_call *first;

static int note(const struct toolplane_request *request, const struct toolplane_events *events,
                void *ctx, struct toolplane_call **ret, struct err *e)
{
    struct fake_toolplane *f = &fake_toolplane;
    f->role = request->role;
    (void)snprintf(f->session, sizeof f->session, "%s", request->session);
    (void)snprintf(f->server, sizeof f->server, "%s", request->server);
    (void)snprintf(f->tool, sizeof f->tool, "%s", request->tool);
    f->origin = request->origin ? *request->origin : (struct request_context){0};
    drop_str char *params = request->params ? json_print(request->params) : xstrdup("");
    (void)snprintf(f->params, sizeof f->params, "%s", params);
    xfree(f->arguments);
    f->arguments = xstrdup(request->arguments);
    if (f->refuse) {
        f->refuse = false;
        return err_set(e, -EAGAIN, "refused");
    }
    struct toolplane_call *call = NEW(struct toolplane_call);
    *call = (struct toolplane_call){.next = first, .events = events, .ctx = ctx};
    first = *ret = call;
    f->open++;
    return 0;
}

int toolplane_call(struct toolplane *plane, const struct toolplane_request *request,
                   const struct toolplane_events *events, void *ctx, struct toolplane_call **ret,
                   struct err *e)
{
    (void)plane;
    fake_toolplane.calls++;
    return note(request, events, ctx, ret, e);
}

int toolplane_approve(struct toolplane *plane, const struct toolplane_request *request,
                      const struct toolplane_events *events, void *ctx, struct toolplane_call **ret,
                      struct err *e)
{
    (void)plane;
    fake_toolplane.approvals++;
    return note(request, events, ctx, ret, e);
}

int toolplane_await(struct toolplane *plane, const struct toolplane_request *request,
                    const struct toolplane_events *events, void *ctx, struct toolplane_call **ret,
                    struct err *e)
{
    (void)plane;
    return note(request, events, ctx, ret, e);
}

void toolplane_unready(const struct toolplane *plane,
                       void (*fn)(void *ctx, const struct tools_server *server), void *ctx)
{
    (void)plane;
    if (fake_toolplane.failed)
        fn(ctx,
           &(struct tools_server){
               .name = "broken", .shown = "", .state = TOOLS_FAILED, .why = fake_toolplane.failed});
}

static void drop(struct toolplane_call *call)
{
    struct toolplane_call **at = &first;
    while (*at && *at != call)
        at = &(*at)->next;
    if (!*at)
        abort(); /* it was done or cancelled before */
    *at = call->next;
    fake_toolplane.open--;
    xfree(call);
}

void toolplane_call_cancel(struct toolplane_call *call)
{
    fake_toolplane.cancels++;
    drop(call);
}

void toolplane_reset(struct toolplane *plane)
{
    (void)plane;
    fake_toolplane.resets++;
}

/* --- registration ---------------------------------------------------------------------------- */

struct toolplane_job {
    void (*done)(void *ctx, char *const *modules, size_t n, const struct err *why);
    void *ctx;
};
static struct toolplane_job job;

int toolplane_register(struct toolplane *plane, const char *name, const struct json *params,
                       void (*done)(void *ctx, char *const *modules, size_t n,
                                    const struct err *why),
                       void *ctx, struct toolplane_job **ret, struct err *e)
{
    struct fake_toolplane *f = &fake_toolplane;
    (void)plane;
    (void)e;
    f->registrations++;
    (void)snprintf(f->server, sizeof f->server, "%s", name);
    drop_str char *text = json_print(params);
    (void)snprintf(f->params, sizeof f->params, "%s", text);
    job = (struct toolplane_job){.done = done, .ctx = ctx};
    *ret = &job;
    return 0;
}

void toolplane_job_alone(struct toolplane_job *registered)
{
    (void)registered;
}

void toolplane_job_listen(struct toolplane_job *listened,
                          void (*text)(void *ctx, const char *text, size_t n))
{
    (void)listened;
    fake_toolplane.say = text;
    fake_toolplane.say_ctx = job.ctx;
}

bool toolplane_find(const struct toolplane *plane, const char *name, struct tools_server *ret)
{
    size_t at = 0;
    return toolplane_next(plane, &at, ret) && strcmp(name, "demo") == 0;
}

void toolplane_job_cancel(struct toolplane_job *cancelled)
{
    *cancelled = (struct toolplane_job){0};
    fake_toolplane.cancels++;
}

void fake_toolplane_registered(char *const *modules, size_t n, const struct err *why)
{
    job.done(job.ctx, modules, n, why);
}

bool toolplane_next(const struct toolplane *plane, size_t *at, struct tools_server *ret)
{
    static const struct tools_tool tool = {"add", "adds", NULL, NULL, "0abc"};
    (void)plane;
    *ret = (struct tools_server){.name = "demo",
                                 .params = "{\"env\":{\"KEY\":\"secret\"}}",
                                 .shown = "python3 demo.py",
                                 .tools = &tool,
                                 .n_tools = 1};
    if (fake_toolplane.launched) {
        ret->program = "/usr/bin/python3";
        ret->cwd = "/own/demo";
        ret->note = "how it is started";
        ret->secret = true;
    }
    return fake_toolplane.removals == 0 && (*at)++ == 0;
}

void toolplane_search(const struct toolplane *plane, const char *server, const char *query,
                      size_t limit, void (*found)(void *ctx, const struct catalog_hit *hit),
                      void *ctx)
{
    struct tools_server demo;
    size_t at = 0;
    bool fits = strcmp(query, "add") == 0 && (!server || strcmp(server, "demo") == 0);
    if (!toolplane_next(plane, &at, &demo) || !fits || limit == 0)
        return;
    found(ctx, &(struct catalog_hit){.server = "demo",
                                     .tool = demo.tools,
                                     .module = "add",
                                     .line = "add(**more) -> str: adds"});
}

static struct toolplane_listener *listeners;

void toolplane_listen(struct toolplane *plane, struct toolplane_listener *listener)
{
    (void)plane;
    listener->next = listeners;
    listeners = listener;
}

void toolplane_unlisten(struct toolplane *plane, struct toolplane_listener *listener)
{
    (void)plane;
    struct toolplane_listener **at = &listeners;
    while (*at != listener)
        at = &(*at)->next;
    *at = listener->next;
}

void fake_toolplane_changed(void)
{
    for (struct toolplane_listener *l = listeners; l; l = l->next)
        l->changed(l->ctx);
}

const char *toolplane_report(const struct toolplane *plane)
{
    (void)plane;
    return NULL;
}

bool toolplane_remove(struct toolplane *plane, const char *name)
{
    (void)plane;
    if (fake_toolplane.removals || strcmp(name, "demo") != 0)
        return false;
    (void)snprintf(fake_toolplane.server, sizeof fake_toolplane.server, "%s", name);
    fake_toolplane.removals++;
    return true;
}

/* --- results ---------------------------------------------------------------------------------- */

void toolplane_put_result(struct jsonw *w, const struct tools_result *result)
{
    (void)result;
    jsonw_raw(w, fake_toolplane.result ? fake_toolplane.result : "null");
}

void toolplane_put_content(struct jsonw *w, const struct tools_result *result)
{
    (void)result;
    if (fake_toolplane.content)
        jsonw_set_raw(w, "content", fake_toolplane.content);
}

void fake_toolplane_done(size_t n, enum toolplane_failure failure, const char *why)
{
    struct toolplane_call *call = first;
    while (n-- > 0)
        call = call->next;
    const struct toolplane_events *events = call->events;
    void *ctx = call->ctx;
    struct tools_result result = {0};
    drop(call);
    events->done(ctx, failure, failure == TOOLPLANE_OK ? &result : NULL, why);
}

void fake_toolplane_clear(void)
{
    xfree(fake_toolplane.arguments);
    fake_toolplane = (struct fake_toolplane){0};
}

static void (*watch)(void *ctx, const struct toolplane_progress *p);
static void *watch_ctx;

void toolplane_watch(struct toolplane *plane,
                     void (*fn)(void *ctx, const struct toolplane_progress *p), void *ctx)
{
    (void)plane;
    watch = fn;
    watch_ctx = ctx;
}

void fake_toolplane_progress(const struct toolplane_progress *p)
{
    if (watch)
        watch(watch_ctx, p);
}

void toolplane_provide(struct toolplane *plane, struct toolplane_provider *provider)
{
    (void)plane, (void)provider;
}

void toolplane_unprovide(struct toolplane *plane, struct toolplane_provider *provider)
{
    (void)plane, (void)provider;
}

void toolplane_answer(struct toolplane_call *call, const char *result, const char *why)
{
    (void)call, (void)result, (void)why;
}
