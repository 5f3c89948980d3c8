/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens in a folder of the workspace, as server-sent events. A client that does not read has
 * nothing fetched for it: the kernel keeps its events, up to its own limit, and says when it loses
 * some. */
#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/list.h"
#include "files/watch.h"
#include "front/workspace/api_files_internal.h"

enum {
    STEPS = 256,
    OUT_MAX = 64 << 10,
    EVENT_MAX = 32 << 10, /* one with the longest path, each of its bytes escaped */
    ALIVE_MS = 15000,
};

struct watcher {
    struct watcher *prev, *next;
    struct api_files *f;
    struct http_request *r;
    struct watch *watch;
    struct loop_io *io;
    struct loop_timer alive;
    struct loop_defer again;
    struct buf out; /* what the stream did not take yet */
    bool over;
};

static void free_watcher(struct watcher *w)
{
    list_remove(&w->f->watchers, w);
    w->f->watches--;
    w->io = loop_io_del(w->io);
    loop_timer_stop(w->f->loop, &w->alive);
    loop_defer_stop(w->f->loop, &w->again);
    w->watch = watch_close(w->watch);
    buf_done(&w->out);
    xfree(w);
}

static void on_watcher_gone(void *ctx)
{
    free_watcher(ctx);
}

enum { TOLD_CLOSED = WATCH__COUNT, TOLD__COUNT };
const char *const api_watch_event_names[] = {
    [WATCH_READY] = "ready",       [WATCH_CREATED] = "created",
    [WATCH_WRITTEN] = "written",   [WATCH_ATTRIBUTES] = "attributes",
    [WATCH_DELETED] = "deleted",   [WATCH_MOVED_FROM] = "moved_from",
    [WATCH_MOVED_TO] = "moved_to", [WATCH_OVERFLOW] = "overflow",
    [WATCH_LIMIT] = "limit",       [WATCH_GONE] = "gone",
    [TOLD_CLOSED] = "closed",      [TOLD__COUNT] = NULL,
};

static void put_watched_event(const struct watcher *w, struct buf *out,
                              const struct watch_event *event)
{
    struct jsonw json = JSONW(out);
    (void)buf_addf(out, "event: %s\ndata: ", api_watch_event_names[event->kind]);
    jsonw_object(&json);
    jsonw_set_text(&json, "path", event->path);
    jsonw_set_text(&json, "type", event->folder ? "folder" : "file");
    if (event->cookie)
        jsonw_set_int(&json, "cookie", event->cookie);
    if (event->kind == WATCH_READY)
        jsonw_set_int(&json, "folders", (int64_t)watch_folders(w->watch));
    jsonw_end(&json);
    (void)buf_adds(out, "\n\n");
}

/* False: nothing more for now, or for ever. */
static bool flush_changes(struct watcher *w)
{
    int code = w->out.len > 0 ? http_stream_write(w->r, w->out.data, w->out.len) : 0;
    if (code == -EAGAIN) {
        loop_io_set(w->io, 0); /* on_writable goes on */
        return false;
    }
    if (code < 0 || w->out.failed < 0) {
        http_stream_abort(w->r);
        free_watcher(w);
        return false;
    }
    buf_clear(&w->out);
    return true;
}

static void go_on_watching(void *ctx)
{
    struct watcher *w = ctx;
    struct watch_event event;
    int found = 1;
    if (w->out.len > 0 && !flush_changes(w))
        return;
    for (int i = 0; i < STEPS && (found || watch_is_busy(w->watch)); i++) {
        found = watch_next(w->watch, &event);
        if (found)
            put_watched_event(w, &w->out, &event);
        w->over |= found && event.kind == WATCH_GONE;
        if (w->out.len > OUT_MAX - EVENT_MAX)
            break;
    }
    if (!flush_changes(w))
        return;
    if (w->over) {
        http_stream_end(w->r);
        free_watcher(w);
        return;
    }
    loop_io_set(w->io, LOOP_IN);
    if (watch_is_busy(w->watch))
        loop_defer(w->f->loop, &w->again, go_on_watching, w);
}

static void on_watched_events(void *ctx, unsigned events)
{
    (void)events;
    go_on_watching(ctx);
}

/* Shows those between here and the client that the stream lives, and looks if the folder does. */
static void on_watcher_alive(void *ctx)
{
    struct watcher *w = ctx;
    loop_timer_set(w->f->loop, &w->alive, ALIVE_MS, on_watcher_alive, w);
    if (w->out.len > 0)
        return;
    (void)buf_adds(&w->out, ":\n\n");
    go_on_watching(w);
}

static int open_watcher(struct api_files *f, struct http_request *r, int *folder, bool below,
                        struct watcher **ret)
{
    struct watch *watch;
    int code = watch_open(fd_take(folder), below, &watch);
    if (code < 0)
        return code;
    watch_judge(watch, files_rules(f, r));
    struct watcher *w = NEW(struct watcher);
    *w = (struct watcher){.f = f, .r = r, .watch = watch, .out = BUF_INIT(OUT_MAX)};
    list_push(&f->watchers, w);
    f->watches++;
    code = loop_io_add(f->loop, watch_fd(watch), LOOP_IN, on_watched_events, w, &w->io, NULL);
    if (code < 0)
        free_watcher(w);
    else
        *ret = w;
    return code;
}

void files_watch(void *ctx, struct http_request *r)
{
    static const struct http_events events = {.writable = go_on_watching, .gone = on_watcher_gone};
    static const struct http_header headers[] = {{"Content-Type", "text/event-stream"},
                                                 {"Cache-Control", "no-store"}};
    const struct api *api = ctx;
    struct api_files *f = api->files;
    char path[BENEATH_PATH_MAX];
    bool below;
    if (!files_path(r, path) || !files_flag(r, "recursive", &below))
        return;
    if (api->drains) {
        http_problem(r, 503, NULL, 0, API_STOPPING);
        return;
    }
    if (f->watches >= API_WATCHES_MAX) {
        http_problem(r, 429, NULL, 0, "%d watches are open, as many as there may be; end one",
                     API_WATCHES_MAX);
        return;
    }
    drop_fd int folder =
        spot_open(&f->top, path, O_PATH | O_DIRECTORY, BENEATH_FOLLOW, files_rules(f, r), NULL);
    struct watcher *w = NULL;
    int code = folder < 0 ? folder : open_watcher(f, r, &folder, below, &w);
    if (code == -ENOTDIR)
        http_problem(r, 409, NULL, 0, "%.300s: this is not a folder; watch the one it is in", path);
    else if (code == -EMFILE || code == -ENOSPC)
        http_problem(r, 503, NULL, 0, "no more watches of this user; see fs.inotify in sysctl");
    else if (code < 0)
        files_problem(f, r, code, path);
    if (code < 0)
        return;
    http_watch(r, &events, w);
    http_stream_begin(r, 200, headers, 2, -1);
    loop_timer_set(f->loop, &w->alive, ALIVE_MS, on_watcher_alive, w);
    loop_defer(f->loop, &w->again, go_on_watching, w);
}

/* What waits for the client goes out before it. */
void api_files_drain(struct api_files *f)
{
    static const char closed[] = "event: closed\ndata: {\"reason\":\"" API_STOPPING "\"}\n\n";
    while (f->watchers) {
        struct watcher *w = f->watchers;
        if (w->out.len > 0)
            http_stream_last(w->r, w->out.data, w->out.len);
        if (!w->over) /* else it has had its last one */
            http_stream_last(w->r, closed, sizeof closed - 1);
        http_stream_end(w->r);
        free_watcher(w);
    }
}
