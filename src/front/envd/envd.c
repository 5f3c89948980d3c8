/* SPDX-License-Identifier: Apache-2.0
 *
 * envd: the files and the processes of a sandbox. */
#include "base/alloc.h"
#include "front/envd/envd_internal.h"
#include "front/workspace/api_files.h"

/* Whether the sandbox is running: 502 says that it is not. This wakes none. */
static void get_envd_health(void *ctx, struct http_request *r)
{
    char room[E2B_ID_MAX + 1];
    const char *id = e2b_named_id(r, room);
    const struct e2b_sandbox *s = e2b_addressed(ctx, r);
    if (s ? !s->paused : !id)
        http_answer(r, 204, NULL, 0, NULL, 0);
    else
        e2b_fail_absent(r, s ? s->id : id);
}

/* The variables that it was made with. */
static void get_envs(void *ctx, struct http_request *r)
{
    const struct e2b_sandbox *s = e2b_addressed(ctx, r);
    drop_buf struct buf body = BUF_INIT(E2B_ANSWER_MAX);
    drop_str char *text = s && s->env ? json_print(s->env) : NULL;
    (void)buf_adds(&body, text ? text : "{}");
    http_answer_json(r, 200, &body);
}

#define CALL HTTP_COLLECT, ENVD_BODY_MAX, NULL, E2B_NEEDS_TOKEN

static const struct http_route routes[] = {
    {"GET", "/health", HTTP_NO_BODY, 0, NULL, E2B_FREE, get_envd_health},
    {"GET", "/envs", HTTP_NO_BODY, 0, NULL, E2B_NEEDS_TOKEN, get_envs},
    {"GET", "/files", HTTP_NO_BODY, 0, NULL, E2B_FREE, envd_get_file},
    {"POST", "/files", HTTP_RECEIVE, API_FILES_BODY_MAX, NULL, E2B_FREE, envd_post_file},
    {"POST", "/files/compose", CALL, envd_compose_files},
    {"GET", "/metrics", HTTP_NO_BODY, 0, NULL, E2B_NEEDS_TOKEN, e2b_metrics_of_envd},
    {"POST", "/filesystem.Filesystem/Stat", CALL, envd_stat},
    {"POST", "/filesystem.Filesystem/MakeDir", CALL, envd_make_dir},
    {"POST", "/filesystem.Filesystem/Move", CALL, envd_move},
    {"POST", "/filesystem.Filesystem/ListDir", CALL, envd_list_dir},
    {"POST", "/filesystem.Filesystem/Remove", CALL, envd_remove},
    {"POST", "/filesystem.Filesystem/WatchDir", CALL, envd_watch_dir},
    {"POST", "/filesystem.Filesystem/CreateWatcher", CALL, envd_create_watcher},
    {"POST", "/filesystem.Filesystem/GetWatcherEvents", CALL, envd_get_watcher_events},
    {"POST", "/filesystem.Filesystem/RemoveWatcher", CALL, envd_remove_watcher},
    {"POST", "/process.Process/Start", CALL, envd_start},
    {"POST", "/process.Process/Connect", CALL, envd_connect},
    {"POST", "/process.Process/List", CALL, envd_list},
    {"POST", "/process.Process/SendInput", CALL, envd_send_input},
    {"POST", "/process.Process/StreamInput", HTTP_RECEIVE, API_FILES_BODY_MAX, NULL,
     E2B_NEEDS_TOKEN, envd_stream_input},
    {"POST", "/process.Process/CloseStdin", CALL, envd_close_stdin},
    {"POST", "/process.Process/SendSignal", CALL, envd_send_signal},
    {"POST", "/process.Process/Update", CALL, envd_update},
};

/* A workspace that cannot be opened is none: each path in it is an error. */
static void open_envd(struct e2b *e)
{
    struct err why = ERR_NONE;
    struct envd *d = NEW(struct envd);
    *d = (struct envd){.e2b = e, .top = BENEATH_NONE, .judge = judge_new(e->config.sessions)};
    d->rules = judge_rules(d->judge);
    if (beneath_open(e->config.workspace, &d->top, &why) < 0)
        log_warning("e2b", "files: %s", why.msg);
    e->daemon = d;
}

static void close_envd(struct e2b *e)
{
    e->daemon->judge = judge_free(e->daemon->judge);
    beneath_close(&e->daemon->top);
    xfree(e->daemon);
    e->daemon = NULL;
}

static void end_envd(struct e2b *e, struct e2b_sandbox *s)
{
    (void)e;
    envd_watchers_close(s);
}

static void drain_envd(struct e2b *e)
{
    for (struct e2b_sandbox *s = e->sandboxes; s; s = s->next)
        envd_watchers_close(s);
}

const struct e2b_part e2b_envd_part = {.routes = routes,
                                       .n = sizeof routes / sizeof *routes,
                                       .open = open_envd,
                                       .close = close_envd,
                                       .ended = end_envd,
                                       .drain = drain_envd};
