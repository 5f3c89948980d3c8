/* SPDX-License-Identifier: Apache-2.0
 *
 * A registration: the server is started and listed, then remembered, then its package is written.
 * It ends in on_generated(), once, or without an event in toolplane_job_cancel(). */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "approval/toolplane_internal.h"
#include "base/alloc.h"
#include "base/list.h"

static void free_tool_job(struct toolplane_job *job)
{
    list_remove(&job->plane->jobs, job);
    xfree(job->name);
    xfree(job);
}

static void notify_registered(const struct toolplane_job *job, bool well)
{
    (void)audit_add(job->plane->config.audit,
                    &(struct audit_event){.kind = AUDIT_SERVER_REGISTERED,
                                          .request_id = job->request_id,
                                          .server = job->name,
                                          .outcome = well ? "ok" : "error"});
}

static void notify_of_change(const struct toolplane *plane)
{
    struct toolplane_listener *next = NULL;
    for (struct toolplane_listener *l = plane->listeners; l; l = next) {
        next = l->next;
        l->changed(l->ctx);
    }
}

void toolplane_listen(struct toolplane *plane, struct toolplane_listener *listener)
{
    list_push(&plane->listeners, listener);
}

void toolplane_unlisten(struct toolplane *plane, struct toolplane_listener *listener)
{
    list_remove(&plane->listeners, listener);
}

/* --- starts that have failed ------------------------------------------------------------------ */

static struct failed_start **find_failure(struct toolplane *plane, const char *name)
{
    struct failed_start **at = &plane->failures;
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

void toolplane_forget_failure(struct toolplane *plane, const char *name)
{
    struct failed_start **at = find_failure(plane, name), *failure = *at;
    if (!failure)
        return;
    *at = failure->next;
    xfree(failure->name);
    xfree(failure->why);
    xfree(failure);
}

/* The oldest make room: names are a stranger's to choose. */
static void keep_failure(struct toolplane *plane, const char *name, const char *why)
{
    size_t n = 0;
    toolplane_forget_failure(plane, name);
    struct failed_start *failure = NEW(struct failed_start);
    *failure =
        (struct failed_start){.next = plane->failures, .name = xstrdup(name), .why = xstrdup(why)};
    plane->failures = failure;
    for (; failure->next; failure = failure->next)
        if (++n == TOOLPLANE_FAILURES_MAX) {
            toolplane_forget_failure(plane, failure->next->name);
            return;
        }
}

const char *toolplane_failure_of(const struct toolplane *plane, const char *name)
{
    for (const struct failed_start *f = plane->failures; f; f = f->next)
        if (strcmp(f->name, name) == 0)
            return f->why;
    return NULL;
}

const struct toolplane_job *toolplane_find_job(const struct toolplane *plane, const char *name)
{
    const struct toolplane_job *job = plane->jobs;
    while (job && strcmp(job->name, name) != 0)
        job = job->next;
    return job;
}

/* --- its end ---------------------------------------------------------------------------------- */

static void on_generated(void *ctx, char *const *modules, size_t n, const struct err *why)
{
    struct toolplane_job *job = ctx;
    drop_str char *name = xstrdup(job->name);
    notify_registered(job, why == NULL);
    struct toolplane_job copy = *job;
    copy.plane->report = job->generation ? generation_report(job->generation) : NULL;
    free_tool_job(job);
    toolplane_forget_failure(copy.plane, name);
    if (why && copy.remember)
        keep_failure(copy.plane, name, why->msg);
    copy.done(copy.ctx, modules, n, why);
    copy.plane->report = NULL;
    toolplane_started(copy.plane, name, why);
    if (!why || copy.remember)
        notify_of_change(copy.plane);
}

static void remember(const struct toolplane *plane, const struct tools_server *server)
{
    const struct toolplane_config *c = &plane->config;
    struct err e = ERR_NONE;
    if (!c->remembered)
        return;
    drop_json struct json *params =
        json_parse_copy(server->params, strlen(server->params), JSON_STRICT, NULL);
    if (remembered_write(c->remembered, server->name, params, &e) < 0 && c->log)
        c->log(LOG_WARNING, e.msg);
}

const char *toolplane_report(const struct toolplane *plane)
{
    return plane->report;
}

static void on_plane_registered(void *ctx, const struct tools_server *server, const struct err *why)
{
    struct toolplane_job *job = ctx;
    job->job = NULL;
    if (server && job->remember)
        remember(job->plane, server);
    if (server && !job->generate)
        on_generated(job, NULL, 0, NULL);
    else if (server)
        job->generation = generation_start(job->plane->generations, job->name, on_generated, job);
    else
        on_generated(job, NULL, 0, why);
}

int toolplane_start_job(struct toolplane *plane, const char *name, const struct json *params,
                        struct toolplane_job how, struct toolplane_job **ret, struct err *e)
{
    if (strcasecmp(name, TOOLPLANE_OWN) == 0)
        return err_set(e, -EINVAL, "server_name: %s is the name of shell commands", name);
    struct toolplane_job *job = NEW(struct toolplane_job);
    *job = how;
    job->plane = plane;
    (void)snprintf(job->request_id, sizeof job->request_id, "%s",
                   log_request() ? log_request() : "");
    int r =
        tools_register(plane->config.tools, name, params, on_plane_registered, job, &job->job, e);
    if (r < 0) {
        xfree(job);
        return r;
    }
    job->name = xstrdup(name);
    list_push(&plane->jobs, job);
    *ret = job;
    return 0;
}

int toolplane_register(struct toolplane *plane, const char *name, const struct json *params,
                       void (*done)(void *ctx, char *const *modules, size_t n,
                                    const struct err *why),
                       void *ctx, struct toolplane_job **ret, struct err *e)
{
    struct toolplane_job how = {.remember = true, .generate = true, .done = done, .ctx = ctx};
    return toolplane_start_job(plane, name, params, how, ret, e);
}

static void on_install_text(void *ctx, const char *text, size_t n)
{
    struct toolplane_job *job = ctx;
    job->text(job->ctx, text, n);
}

void toolplane_job_listen(struct toolplane_job *job,
                          void (*text)(void *ctx, const char *text, size_t n))
{
    job->text = text;
    tools_job_listen(job->job, on_install_text);
}

void toolplane_job_alone(struct toolplane_job *job)
{
    job->generate = job->remember = false;
}

void toolplane_job_cancel(struct toolplane_job *job)
{
    if (job->job)
        tools_job_cancel(job->job);
    job->generation = generation_cancel(job->generation);
    struct toolplane *plane = job->plane;
    drop_str char *name = xstrdup(job->name);
    struct err why = ERR_NONE;
    (void)err_set(&why, -ECANCELED, "the registration of the MCP server %s was given up", name);
    free_tool_job(job);
    if (!toolplane_find_job(plane, name))
        toolplane_started(plane, name, &why);
}

void toolplane_reset(struct toolplane *plane)
{
    tools_reset(plane->config.tools);
}

bool toolplane_find(const struct toolplane *plane, const char *name, struct tools_server *ret)
{
    return tools_find(plane->config.tools, name, ret);
}

void toolplane_unready(const struct toolplane *plane,
                       void (*fn)(void *ctx, const struct tools_server *server), void *ctx)
{
    struct tools_server known;
    const struct toolplane_job *job = plane->jobs;
    while (job && job->next)
        job = job->next; /* the oldest */
    for (; job; job = job->prev)
        if (!tools_find(plane->config.tools, job->name, &known))
            fn(ctx,
               &(struct tools_server){.name = job->name, .shown = "", .state = TOOLS_STARTING});
    for (const struct failed_start *f = plane->failures; f; f = f->next)
        if (!tools_find(plane->config.tools, f->name, &known) &&
            !toolplane_find_job(plane, f->name))
            fn(ctx, &(struct tools_server){
                        .name = f->name, .shown = "", .state = TOOLS_FAILED, .why = f->why});
}

bool toolplane_next(const struct toolplane *plane, size_t *at, struct tools_server *ret)
{
    return tools_next(plane->config.tools, at, ret);
}

void toolplane_search(const struct toolplane *plane, const char *server, const char *query,
                      size_t limit, void (*found)(void *ctx, const struct catalog_hit *hit),
                      void *ctx)
{
    catalog_search(plane->config.tools, server, query, limit, found, ctx);
}

bool toolplane_remove(struct toolplane *plane, const char *name)
{
    struct tools_server server;
    bool found = tools_find(plane->config.tools, name, &server);
    drop_str char *copy = xstrdup(name); /* it may be the server's own */
    if (plane->config.remembered && remembered_remove(plane->config.remembered, copy))
        found = true;
    found = found || toolplane_failure_of(plane, copy);
    toolplane_forget_failure(plane, copy);
    if (!found)
        return false;
    tools_remove(plane->config.tools, copy);
    (void)audit_add(plane->config.audit,
                    &(struct audit_event){.kind = AUDIT_SERVER_REMOVED, .server = copy});
    notify_of_change(plane);
    return true;
}
