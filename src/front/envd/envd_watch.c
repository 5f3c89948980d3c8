/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens in a folder: by watchers that are asked now and then, and by streams. Who does not
 * read has nothing fetched: the machine keeps its events up to its own limit. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "files/watch.h"
#include "front/envd/envd_internal.h"

enum { STEPS = 200, OUT_MAX = 1 << 20, EVENT_ROOM = 64 << 10, ID_MAX = 40 };

struct envd_watcher {
    struct envd_watcher *prev, *next;
    struct envd *envd;
    struct e2b_sandbox *sandbox;
    struct watch *watch;
    bool entries; /* are told with the events */
    char id[ID_MAX];
    struct envd_path path;
    /* of a stream: */
    struct http_request *r;
    struct loop_io *io;
    struct loop_timer alive, end;
    struct loop_defer again;
    int64_t alive_ms;
    struct buf out; /* what the stream did not take yet */
};

static void free_envd_watcher(struct envd_watcher *w)
{
    struct loop *loop = w->envd->e2b->config.loop;
    list_remove(&w->sandbox->envd->watchers, w);
    w->sandbox->envd->count--;
    w->io = loop_io_del(w->io);
    loop_timer_stop(loop, &w->alive);
    loop_timer_stop(loop, &w->end);
    loop_defer_stop(loop, &w->again);
    w->watch = watch_close(w->watch);
    buf_done(&w->out);
    xfree(w);
}

void envd_watchers_close(struct e2b_sandbox *s)
{
    struct err e = ERR_NONE;
    (void)err_set(&e, -ESHUTDOWN, "the sandbox is gone");
    while (s->envd && s->envd->watchers) {
        struct envd_watcher *w = s->envd->watchers;
        if (w->r)
            envd_stream_end(w->r, &e);
        free_envd_watcher(w);
    }
    xfree(s->envd);
    s->envd = NULL;
}

/* --- events ----------------------------------------------------------------------------------- */

static void put_change(const struct envd_watcher *w, struct jsonw *out, const char *name,
                       const char *type)
{
    struct envd_path path;
    const char *below = w->path.below;
    jsonw_set_text(out, "name", name);
    jsonw_set_text(out, "type", type);
    int n = snprintf(path.below, sizeof path.below, "%s%s%s", below, *below ? "/" : "", name);
    int m = snprintf(path.shown, sizeof path.shown, "%s/%s", w->path.shown, name);
    if (!w->entries || n >= (int)sizeof path.below || m >= (int)sizeof path.shown)
        return;
    drop_buf struct buf entry = BUF_INIT(EVENT_ROOM);
    struct jsonw inner = JSONW(&entry);
    if (envd_put_entry(w->envd, &inner, &path) == 0)
        jsonw_set_raw(out, "entry", buf_text(&entry));
}

/* A file that comes with its content, as uploads do, is created and written. NULL: it is not
 * told. */
static const char *const *types_of(const struct watch_event *event)
{
    static const char *const none[] = {NULL};
    static const char *const created[] = {"EVENT_TYPE_CREATE", NULL};
    static const char *const came[] = {"EVENT_TYPE_CREATE", "EVENT_TYPE_WRITE", NULL};
    static const char *const written[] = {"EVENT_TYPE_WRITE", NULL};
    static const char *const changed[] = {"EVENT_TYPE_CHMOD", NULL};
    static const char *const removed[] = {"EVENT_TYPE_REMOVE", NULL};
    static const char *const moved[] = {"EVENT_TYPE_RENAME", NULL};
    switch (event->kind) {
    case WATCH_CREATED:
    case WATCH_MOVED_TO:
        return event->folder ? created : came;
    case WATCH_WRITTEN:
        return written;
    case WATCH_ATTRIBUTES:
        return changed;
    case WATCH_DELETED:
        return removed;
    case WATCH_MOVED_FROM:
        return moved;
    case WATCH_READY:
    case WATCH_OVERFLOW:
    case WATCH_LIMIT:
    case WATCH_GONE:
    case WATCH__COUNT:
        break;
    }
    return none;
}

/* --- watchers that are asked ------------------------------------------------------------------ */

static int open_envd_watcher(const struct envd_call *call, struct envd_watcher **ret, struct err *e)
{
    struct envd_path path;
    struct e2b_sandbox *s = call->sandbox;
    bool below = json_true(json_get(call->body, "recursive"));
    int r = envd_path(call->envd, json_get_text(call->body, "path"), &path, e);
    if (r < 0)
        return r;
    if (!s->envd)
        s->envd = NEW(struct e2b_envd);
    if (s->envd->count >= ENVD_WATCHERS_MAX)
        return err_set(e, -EAGAIN, "%d watchers are there, which is the limit: stop one",
                       ENVD_WATCHERS_MAX);
    const struct envd *d = call->envd;
    drop_fd int fd =
        spot_open(&d->top, path.below, O_PATH | O_DIRECTORY, BENEATH_FOLLOW, d->rules, NULL);
    if (fd < 0)
        return envd_path_error(d, e, fd, &path);
    struct watch *watch = NULL;
    r = watch_open(fd_take(&fd), below, &watch);
    if (r < 0)
        return err_set(e, -EAGAIN, "path '%.200s' cannot be watched: %s", path.shown, strerror(-r));
    watch_judge(watch, d->rules);
    struct envd_watcher *w = NEW(struct envd_watcher);
    *w = (struct envd_watcher){.envd = call->envd,
                               .sandbox = s,
                               .watch = watch,
                               .entries = json_true(json_get(call->body, "includeEntry")),
                               .path = path,
                               .out = BUF_INIT(OUT_MAX)};
    (void)snprintf(w->id, sizeof w->id, "w%zu", ++s->envd->numbers);
    list_push(&s->envd->watchers, w);
    s->envd->count++;
    *ret = w;
    return 0;
}

/* Until nothing is there, or the answer is long enough. True: the folder is gone. */
static bool put_changes(struct envd_watcher *w, struct jsonw *out)
{
    struct watch_event event = {0};
    bool gone = false;
    for (int i = 0, found = 1; (found || watch_is_busy(w->watch)) && i < STEPS * STEPS &&
                               out->out->len < OUT_MAX - 2 * EVENT_ROOM;
         i++) {
        found = watch_next(w->watch, &event);
        if (!found)
            continue;
        gone |= event.kind == WATCH_GONE;
        for (const char *const *type = types_of(&event); *type; type++) {
            jsonw_object(out);
            put_change(w, out, event.path, *type);
            jsonw_end(out);
        }
    }
    return gone;
}

void envd_create_watcher(void *ctx, struct http_request *r)
{
    drop_call struct envd_call call = {0};
    drop_buf struct buf body = BUF_INIT(ID_MAX * 2);
    struct envd_watcher *w = NULL;
    struct err e = ERR_NONE;
    if (!envd_unary(ctx, r, &call))
        return;
    if (open_envd_watcher(&call, &w, &e) < 0) {
        envd_refuse(r, &e);
        return;
    }
    struct jsonw out = JSONW(&body);
    jsonw_object(&out);
    jsonw_set_text(&out, "watcherId", w->id);
    jsonw_end(&out);
    envd_answer(r, &body);
}

static struct envd_watcher *find_watcher(const struct envd_call *call)
{
    const char *id = json_get_text(call->body, "watcherId");
    struct envd_watcher *w = call->sandbox->envd ? call->sandbox->envd->watchers : NULL;
    while (w && (w->r || !id || strcmp(w->id, id) != 0))
        w = w->next;
    struct err e = ERR_NONE;
    if (!w) {
        (void)err_set(&e, -ENOENT, "watcher with id %.40s not found", id ? id : "");
        envd_refuse(call->r, &e);
    }
    return w;
}

void envd_get_watcher_events(void *ctx, struct http_request *r)
{
    drop_call struct envd_call call = {0};
    drop_buf struct buf body = BUF_INIT(OUT_MAX);
    if (!envd_unary(ctx, r, &call))
        return;
    struct envd_watcher *w = find_watcher(&call);
    if (!w)
        return;
    struct jsonw out = JSONW(&body);
    jsonw_object(&out);
    jsonw_set_array(&out, "events");
    (void)put_changes(w, &out);
    jsonw_end(&out);
    jsonw_end(&out);
    envd_answer(r, &body);
}

void envd_remove_watcher(void *ctx, struct http_request *r)
{
    drop_call struct envd_call call = {0};
    if (!envd_unary(ctx, r, &call))
        return;
    struct envd_watcher *w = find_watcher(&call);
    if (!w)
        return;
    free_envd_watcher(w);
    envd_answer_empty(r);
}

/* --- streams ---------------------------------------------------------------------------------- */

static void on_watch_gone(void *ctx)
{
    free_envd_watcher(ctx);
}

static void put_watch_frame(struct envd_watcher *w, const char *json)
{
    size_t at;
    connect_begin(&w->out, &at);
    (void)buf_adds(&w->out, json);
    connect_finish(&w->out, at, 0);
}

/* False: it has to wait, or it is over. */
static bool flush_watch(struct envd_watcher *w)
{
    int r = w->out.len > 0 ? envd_stream_put(w->r, &w->out) : 0;
    if (r == -EAGAIN) {
        loop_io_set(w->io, 0);
        return false;
    }
    if (r < 0) {
        http_stream_abort(w->r);
        free_envd_watcher(w);
        return false;
    }
    buf_clear(&w->out);
    return true;
}

static void put_changed_frames(struct envd_watcher *w, const struct watch_event *event)
{
    for (const char *const *type = types_of(event); *type; type++) {
        struct jsonw out = JSONW(&w->out);
        size_t at;
        connect_begin(&w->out, &at);
        jsonw_object(&out);
        jsonw_set_object(&out, "filesystem");
        put_change(w, &out, event->path, *type);
        jsonw_end(&out);
        jsonw_end(&out);
        connect_finish(&w->out, at, 0);
    }
}

static void go_on_envd_watch(void *ctx)
{
    struct envd_watcher *w = ctx;
    struct watch_event event;
    bool gone = false;
    int found = 1;
    if (!flush_watch(w))
        return;
    for (int i = 0;
         i < STEPS && (found || watch_is_busy(w->watch)) && w->out.len < OUT_MAX - 2 * EVENT_ROOM;
         i++) {
        found = watch_next(w->watch, &event);
        if (found)
            put_changed_frames(w, &event);
        gone |= found && event.kind == WATCH_GONE;
    }
    if (!flush_watch(w))
        return;
    if (gone) {
        envd_stream_end(w->r, NULL);
        free_envd_watcher(w);
        return;
    }
    loop_io_set(w->io, LOOP_IN);
    if (watch_is_busy(w->watch))
        loop_defer(w->envd->e2b->config.loop, &w->again, go_on_envd_watch, w);
}

static void on_watch_readable(void *ctx, unsigned events)
{
    (void)events;
    go_on_envd_watch(ctx);
}

static void on_watch_alive(void *ctx)
{
    struct envd_watcher *w = ctx;
    loop_timer_set(w->envd->e2b->config.loop, &w->alive, w->alive_ms, on_watch_alive, w);
    if (w->out.len == 0)
        put_watch_frame(w, "{\"keepalive\":{}}");
    go_on_envd_watch(w);
}

static void on_watch_timeout(void *ctx)
{
    struct envd_watcher *w = ctx;
    struct err e = ERR_NONE;
    (void)err_set(&e, -ETIMEDOUT, "the time of Connect-Timeout-Ms is over");
    envd_stream_end(w->r, &e);
    free_envd_watcher(w);
}

static void begin_watch(struct envd_watcher *w, struct http_request *r)
{
    static const struct http_events events = {.writable = go_on_envd_watch, .gone = on_watch_gone};
    struct loop *loop = w->envd->e2b->config.loop;
    struct err e = ERR_NONE;
    w->r = r;
    w->alive_ms = envd_keepalive_ms(r);
    if (loop_io_add(loop, watch_fd(w->watch), LOOP_IN, on_watch_readable, w, &w->io, &e) < 0) {
        envd_refuse_stream(r, &e);
        free_envd_watcher(w);
        return;
    }
    int64_t timeout = envd_timeout_ms(r);
    if (timeout > 0)
        loop_timer_set(loop, &w->end, timeout, on_watch_timeout, w);
    loop_timer_set(loop, &w->alive, w->alive_ms, on_watch_alive, w);
    http_watch(r, &events, w);
    envd_stream_begin(r);
    put_watch_frame(w, "{\"start\":{}}");
    loop_defer(loop, &w->again, go_on_envd_watch, w);
}

void envd_watch_dir(void *ctx, struct http_request *r)
{
    drop_call struct envd_call call = {0};
    struct envd_watcher *w = NULL;
    struct err e = ERR_NONE;
    if (!envd_streaming(ctx, r, &call))
        return;
    if (open_envd_watcher(&call, &w, &e) < 0)
        envd_refuse_stream(r, &e);
    else
        begin_watch(w, r);
}
