/* SPDX-License-Identifier: Apache-2.0
 *
 * POST /files/compose: some files, one behind the other, become one, which is there whole or not at
 * all; then they are gone. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "front/envd/envd_internal.h"

enum { SOURCES_MAX = 1000, STEP = 1 << 20, COMPOSE_ANSWER_MAX = 32 << 10 };

struct composition {
    struct envd_call call;
    struct envd_path to, from;
    const struct json *next; /* of the sources; borrowed from the call's body */
    struct json *body;
    int fd; /* of the one that is read; -1: none */
    struct envd_file file;
    struct loop_defer again;
    struct err e;
};

static void free_composition(struct composition *c)
{
    loop_defer_stop(c->call.envd->e2b->config.loop, &c->again);
    (void)fd_close(c->fd);
    envd_file_drop(&c->file);
    (void)json_free(c->body);
    xfree(c);
}

static void on_composition_gone(void *ctx)
{
    free_composition(ctx);
}

static void fail_composition(struct composition *c)
{
    envd_fail_files(c->call.r, &c->e);
    free_composition(c);
}

static int open_source(struct composition *c, const char *text)
{
    const struct envd *d = c->call.envd;
    struct stat st;
    int r = envd_path(d, text, &c->from, &c->e);
    if (r < 0)
        return r;
    if (strcmp(c->from.below, c->to.below) == 0)
        return err_set(&c->e, -EINVAL, "source path '%.200s' cannot be the same as destination",
                       text);
    c->fd = spot_open(&d->top, c->from.below, O_RDONLY, BENEATH_FOLLOW, d->rules, &st);
    if (c->fd < 0)
        return envd_path_error(d, &c->e, c->fd == -ENOTDIR ? -ENOENT : c->fd, &c->from);
    if (!S_ISREG(st.st_mode))
        return err_set(&c->e, -EINVAL, "source path is not a regular file: %.200s", text);
    drop_held struct spot place = SPOT_NONE; /* it will go */
    return envd_place(d, &c->from, false, SPOT_REMOVE, &place, &c->e);
}

/* 1: there is more of this source; 0: its end. */
static int copy_step(struct composition *c)
{
    static char bytes[STEP];
    ssize_t n = read(c->fd, bytes, sizeof bytes);
    if (n < 0)
        return envd_path_error(c->call.envd, &c->e, -errno, &c->from);
    int r = n > 0 ? newfile_write(&c->file.file, bytes, (size_t)n) : 0;
    return r < 0 ? envd_path_error(c->call.envd, &c->e, r, &c->to) : n > 0;
}

static void remove_source(struct composition *c, const char *text)
{
    const struct envd *d = c->call.envd;
    drop_held struct spot place = SPOT_NONE;
    if (envd_path(d, text, &c->from, &c->e) < 0 ||
        envd_place(d, &c->from, false, SPOT_REMOVE, &place, &c->e) < 0)
        return;
    if (spot_remove(&place, false) == 0)
        envd_tell(d, c->call.r,
                  &(struct audit_event){.kind = AUDIT_FILE_DELETED, .path = c->from.below});
}

static void answer_composition(struct composition *c)
{
    const char *slash = strrchr(c->to.shown, '/');
    drop_buf struct buf body = BUF_INIT(COMPOSE_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    jsonw_object(&w);
    jsonw_set_text(&w, "path", c->to.shown);
    jsonw_set_text(&w, "name", slash ? slash + 1 : c->to.shown);
    jsonw_set_text(&w, "type", "file");
    jsonw_end(&w);
    http_answer_json(c->call.r, 200, &body);
    free_composition(c);
}

static void finish_composition(struct composition *c)
{
    const struct envd *d = c->call.envd;
    const uint64_t size = c->file.file.size;
    if (envd_file_commit(d, &c->file, &c->to, &c->e) < 0) {
        fail_composition(c);
        return;
    }
    envd_tell(d, c->call.r,
              &(struct audit_event){
                  .kind = AUDIT_FILE_WRITTEN, .path = c->to.below, .sized = true, .size = size});
    const struct json *sources = json_get(c->body, "source_paths");
    for (const struct json *j = json_first(sources); j; j = json_next(j))
        remove_source(c, json_text(j));
    answer_composition(c);
}

static void go_on_composition(void *ctx)
{
    struct composition *c = ctx;
    int r = 0;
    if (c->fd < 0 && !c->next) {
        finish_composition(c);
        return;
    }
    if (c->fd < 0)
        r = open_source(c, json_text(c->next));
    if (r == 0)
        r = copy_step(c);
    if (r < 0) {
        fail_composition(c);
        return;
    }
    if (r == 0) {
        c->fd = fd_close(c->fd);
        c->next = json_next(c->next);
    }
    loop_defer(c->call.envd->e2b->config.loop, &c->again, go_on_composition, c);
}

static int check_composition(struct composition *c)
{
    const struct json *sources = json_get(c->body, "source_paths");
    const struct envd *d = c->call.envd;
    if (!json_is_array(sources) || json_count(sources) == 0 || json_count(sources) > SOURCES_MAX)
        return err_set(&c->e, -EINVAL, "source_paths: an array of 1 to %d paths is needed",
                       SOURCES_MAX);
    for (const struct json *j = json_first(sources); j; j = json_next(j))
        if (!json_text(j))
            return err_set(&c->e, -EINVAL, "source_paths: a path is a text");
    int r = envd_check_user(json_get_text(c->body, "username"), &c->e);
    if (r == 0)
        r = envd_path(d, json_get_text(c->body, "destination"), &c->to, &c->e);
    if (r == 0 && c->to.below[0] == '\0')
        r = envd_path_error(d, &c->e, -EISDIR, &c->to);
    if (r == 0)
        r = audit_check(d->e2b->config.audit, &c->e);
    c->next = json_first(sources);
    return r == 0 ? envd_file_open(d, &c->to, &c->file, &c->e) : r;
}

void envd_compose_files(void *ctx, struct http_request *r)
{
    static const struct http_events events = {.gone = on_composition_gone};
    struct envd_call call = {0};
    struct json *body = NULL;
    if (!envd_begin_files(ctx, r, "write", &call) || !e2b_body(r, &body))
        return;
    struct composition *c = NEW(struct composition);
    *c = (struct composition){.call = call, .body = body, .fd = -1, .file = ENVD_FILE_NONE};
    if (check_composition(c) < 0) {
        fail_composition(c);
        return;
    }
    http_watch(r, &events, c);
    loop_defer(call.envd->e2b->config.loop, &c->again, go_on_composition, c);
}
