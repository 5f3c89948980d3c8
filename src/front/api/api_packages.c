/* SPDX-License-Identifier: Apache-2.0
 *
 * /v1/packages: pip, beside the cells. The answer is what came of it; its output is a stream for
 * those who ask for one, and in a file. And a list of what there is. */
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "front/api.h"
#include "front/api/api_bodies.h"
#include "front/api/api_internal.h"
#include "front/api/api_json.h"
#include "session/packages/package_list.h"
#include "session/packages/pip_report.h"

enum { INSTALLS_MAX = 4 };

enum told { TOLD_TEXT, TOLD_PROGRESS, TOLD_END, TOLD__COUNT };
const char *const api_package_event_names[] = {
    [TOLD_TEXT] = "text", [TOLD_PROGRESS] = "progress", [TOLD_END] = "end", [TOLD__COUNT] = NULL};

struct job { /* one run of pip, or of what lists packages, and the request that waits for it */
    struct job *prev, *next;
    struct api_packages *owner;
    struct install *install;
    struct package_list *list;
    struct http_request *r;
    bool streams;
};

struct api_packages {
    struct api *api;
    struct job *jobs;
    size_t count;
};

static void free_package_job(struct job *job)
{
    list_remove(&job->owner->jobs, job);
    job->owner->count--;
    xfree(job);
}

static void on_packages_client_gone(void *ctx)
{
    struct job *job = ctx;
    (void)install_cancel(job->install);
    (void)package_list_cancel(job->list);
    free_package_job(job);
}

/* What a client does not take in time is left out. The end is always taken, and names the file. */
static void send_event(struct job *job, enum told type, const struct buf *data, bool last)
{
    drop_buf struct buf text = BUF_INIT(API_ANSWER_MAX);
    (void)buf_addf(&text, "event: %s\ndata: ", api_package_event_names[type]);
    (void)buf_add(&text, data->data, data->len);
    (void)buf_adds(&text, "\n\n");
    if (text.failed || data->failed)
        return;
    if (last)
        http_stream_last(job->r, text.data, text.len);
    else
        (void)!http_stream_write(job->r, text.data, text.len);
}

static void on_package_text(void *ctx, const char *text, size_t n)
{
    struct job *job = ctx;
    drop_buf struct buf data = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&data);
    if (!job->streams)
        return;
    jsonw_object(&w);
    jsonw_name(&w, "text");
    jsonw_text_n(&w, text, n);
    jsonw_end(&w);
    send_event(job, TOLD_TEXT, &data, false);
}

static void on_package_progress(void *ctx, double progress, double total, const char *what)
{
    struct job *job = ctx;
    drop_buf struct buf data = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&data);
    if (!job->streams)
        return;
    jsonw_object(&w);
    jsonw_name(&w, "progress");
    jsonw_double(&w, progress);
    if (total >= 0) {
        jsonw_name(&w, "total");
        jsonw_double(&w, total);
    }
    if (*what)
        jsonw_set_text(&w, "message", what);
    jsonw_end(&w);
    send_event(job, TOLD_PROGRESS, &data, false);
}

static void on_packages_finished(void *ctx, const char *output, const struct err *why)
{
    struct job *job = ctx;
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX), text = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    const char *workspace = job->owner->api->config->workspace;
    drop_str char *file = pip_report(&text, workspace, output, why != NULL);
    jsonw_object(&w);
    jsonw_set_text(&w, "status", why ? "error" : "ok");
    if (why)
        jsonw_set_text(&w, "reason", why->msg);
    jsonw_set_text(&w, "output", buf_text(&text));
    if (file)
        jsonw_set_text(&w, "output_file", file);
    jsonw_end(&w);
    if (job->streams) {
        send_event(job, TOLD_END, &body, true);
        http_stream_end(job->r);
    } else {
        http_answer_json(job->r, 200, &body);
    }
    free_package_job(job);
}

static int check_room(const struct api_packages *all, struct err *e)
{
    if (all->count >= INSTALLS_MAX)
        return err_set(e, -EAGAIN, "%d packages are being installed already, or listed",
                       INSTALLS_MAX);
    return all->api->stopping ? err_set(e, -ESHUTDOWN, API_STOPPING) : 0;
}

static int start_package_job(struct job *job, const struct json *body, struct err *e)
{
    static const struct install_events events = {
        .text = on_package_text, .progress = on_package_progress, .finished = on_packages_finished};
    const char *package = NULL;
    int r = body_package(body, &package, e);
    if (r == 0)
        r = check_room(job->owner, e);
    if (r == 0)
        r = install_start(job->owner->api->config->packages, package, &events, job, &job->install,
                          e);
    return r;
}

static void attend_package_job(struct job *job, struct http_request *r)
{
    static const struct http_events events = {.gone = on_packages_client_gone};
    struct api_packages *all = job->owner;
    job->r = r;
    list_push(&all->jobs, job);
    all->count++;
    http_watch(r, &events, job);
}

static void attend_install(struct job *job, struct http_request *r)
{
    static const struct http_header stream[] = {{"Content-Type", "text/event-stream"},
                                                {"Cache-Control", "no-store"}};
    attend_package_job(job, r);
    job->streams = api_wants_events(r);
    if (job->streams)
        http_stream_begin(r, 200, stream, 2, -1);
}

static void packages_post(void *ctx, struct http_request *r)
{
    struct api *api = ctx;
    struct err e = ERR_NONE;
    drop_json struct json *body = NULL;
    if (!api_body(r, body_package_known, &body))
        return;
    struct job *job = NEW(struct job);
    job->owner = api->packages;
    if (start_package_job(job, body, &e) < 0) {
        xfree(job);
        api_fail(r, &e);
        return;
    }
    attend_install(job, r);
}

/* --- the list --------------------------------------------------------------------------------- */

static void put_package_list(struct buf *body, const struct json *list)
{
    struct jsonw w = JSONW(body);
    jsonw_object(&w);
    jsonw_set_array(&w, "packages");
    for (const struct json *one = json_first(list); one; one = json_next(one)) {
        const char *name = json_get_text(one, "name"), *version = json_get_text(one, "version");
        if (!name || !version)
            continue;
        jsonw_object(&w);
        jsonw_set_text(&w, "name", name);
        jsonw_set_text(&w, "version", version);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_end(&w);
}

static void on_packages_listed(void *ctx, const struct json *list, const struct err *why)
{
    struct job *job = ctx;
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX);
    if (list) {
        put_package_list(&body, list);
        http_answer_json(job->r, 200, &body);
    } else {
        http_problem(job->r, 500, NULL, 0, "%s", why->msg);
    }
    free_package_job(job);
}

static void packages_get(void *ctx, struct http_request *r)
{
    static const struct package_list_events events = {.finished = on_packages_listed};
    struct api *api = ctx;
    struct err e = ERR_NONE;
    struct job *job = NEW(struct job);
    job->owner = api->packages;
    int failed = check_room(job->owner, &e);
    if (failed == 0)
        failed = package_list_start(api->config->packages, &events, job, &job->list, &e);
    if (failed < 0) {
        xfree(job);
        api_fail(r, &e);
        return;
    }
    attend_package_job(job, r);
}

static const struct http_route routes[] = {
    {"GET", "/v1/packages", HTTP_NO_BODY, 0, NULL, API_EXECUTE, packages_get},
    {"POST", "/v1/packages", HTTP_COLLECT, 64 << 10, API_TYPE, API_EXECUTE, packages_post},
};

static int open_packages_group(struct api *api, struct err *e)
{
    (void)e;
    struct api_packages *all = NEW(struct api_packages);
    all->api = api;
    api->packages = all;
    return 0;
}

static void close_packages_group(struct api *api)
{
    struct api_packages *all = api->packages;
    if (!all)
        return;
    while (all->jobs)
        on_packages_client_gone(all->jobs);
    xfree(all);
    api->packages = NULL;
}

const struct api_group api_packages_group = {.routes = routes,
                                             .n = sizeof routes / sizeof *routes,
                                             .open = open_packages_group,
                                             .close = close_packages_group};
