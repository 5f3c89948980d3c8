/* SPDX-License-Identifier: Apache-2.0
 *
 * filesystem.Filesystem: one thing at a time. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "files/newfile.h"
#include "files/tree.h"
#include "front/envd/envd_internal.h"

enum { ENTRY_MAX = 32 << 10 };

static void answer_entry(const struct envd_call *call, const struct envd_path *path,
                         int (*put)(const struct envd *d, struct jsonw *w,
                                    const struct envd_path *path))
{
    drop_buf struct buf body = BUF_INIT(ENTRY_MAX);
    struct jsonw w = JSONW(&body);
    struct err e = ERR_NONE;
    jsonw_object(&w);
    jsonw_name(&w, "entry");
    int r = put(call->envd, &w, path);
    jsonw_end(&w);
    if (r == 0) {
        envd_answer(call->r, &body);
        return;
    }
    (void)envd_path_error(call->envd, &e, r, path);
    envd_refuse(call->r, &e);
}

/* The path of a call that changes something, which is not the workspace itself. */
static int changed_path(const struct envd_call *call, const char *member, struct envd_path *ret,
                        struct err *e)
{
    int r = envd_path(call->envd, json_get_text(call->body, member), ret, e);
    if (r == 0 && ret->below[0] == '\0')
        r = err_set(e, -EPERM, "path '%.200s' is the workspace itself", ret->shown);
    return r == 0 ? audit_check(call->envd->e2b->config.audit, e) : r;
}

void envd_stat(void *ctx, struct http_request *r)
{
    drop_call struct envd_call call = {0};
    struct envd_path path;
    struct err e = ERR_NONE;
    if (!envd_unary(ctx, r, &call))
        return;
    if (envd_path(call.envd, json_get_text(call.body, "path"), &path, &e) < 0)
        envd_refuse(r, &e);
    else
        answer_entry(&call, &path, envd_put_readable);
}

/* Not the folders above it, which may be there. */
static int make_last(const struct envd *d, const struct envd_path *path, struct err *e)
{
    drop_held struct spot place = SPOT_NONE;
    int r = envd_place(d, path, true, SPOT_WRITE, &place, e);
    if (r < 0)
        return r;
    r = spot_make_folder(&place, 0777);
    if (r != -EEXIST)
        return r < 0 ? envd_path_error(d, e, r, path) : 0;
    drop_fd int folder =
        spot_open(&d->top, path->below, O_PATH | O_DIRECTORY, BENEATH_FOLLOW, d->rules, NULL);
    return folder >= 0
               ? err_set(e, -EEXIST, "directory already exists: %.200s", path->shown)
               : err_set(e, -EINVAL, "path already exists but it is not a directory: %.200s",
                         path->shown);
}

void envd_make_dir(void *ctx, struct http_request *r)
{
    drop_call struct envd_call call = {0};
    struct envd_path path;
    struct err e = ERR_NONE;
    if (!envd_unary(ctx, r, &call))
        return;
    int code = envd_path(call.envd, json_get_text(call.body, "path"), &path, &e);
    if (code == 0 && path.below[0] == '\0')
        code = err_set(&e, -EEXIST, "directory already exists: %.200s", path.shown);
    if (code == 0)
        code = changed_path(&call, "path", &path, &e);
    if (code == 0)
        code = make_last(call.envd, &path, &e);
    if (code < 0) {
        envd_refuse(r, &e);
        return;
    }
    envd_tell(call.envd, r, &(struct audit_event){.kind = AUDIT_FOLDER_MADE, .path = path.below});
    answer_entry(&call, &path, envd_put_entry);
}

static int move_path(const struct envd *d, const struct envd_path *from, const struct envd_path *to,
                     struct err *e)
{
    drop_held struct spot place = SPOT_NONE, to_place = SPOT_NONE;
    struct stat st;
    int r = envd_place(d, from, false, SPOT_REMOVE, &place, e);
    if (r < 0)
        return r;
    r = spot_stat(&place, &st);
    if (r < 0)
        return envd_path_error(d, e, r, from);
    r = envd_place(d, to, true, SPOT_REMOVE, &to_place, e);
    if (r < 0)
        return r;
    r = spot_move(&place, &to_place, true);
    return r < 0 ? envd_path_error(d, e, r, r == SPOT_REFUSED ? from : to) : 0;
}

void envd_move(void *ctx, struct http_request *r)
{
    drop_call struct envd_call call = {0};
    struct envd_path from, to;
    struct err e = ERR_NONE;
    if (!envd_unary(ctx, r, &call))
        return;
    int code = changed_path(&call, "source", &from, &e);
    if (code == 0)
        code = changed_path(&call, "destination", &to, &e);
    if (code == 0)
        code = move_path(call.envd, &from, &to, &e);
    if (code < 0) {
        envd_refuse(r, &e);
        return;
    }
    envd_tell(call.envd, r,
              &(struct audit_event){.kind = AUDIT_FILE_MOVED, .path = from.below, .to = to.below});
    answer_entry(&call, &to, envd_put_entry);
}

/* --- remove ----------------------------------------------------------------------------------- */

struct envd_removal {
    struct envd *envd;
    struct http_request *r;
    struct tree *tree;
    struct spot place; /* of the folder */
    struct loop_defer next;
    struct envd_path path;
};

static void free_envd_removal(struct envd_removal *d)
{
    loop_defer_stop(d->envd->e2b->config.loop, &d->next);
    d->tree = tree_close(d->tree);
    spot_close(&d->place);
    xfree(d);
}

static void tell_removed(const struct envd *d, const struct http_request *r,
                         const struct envd_path *path, const char *outcome)
{
    envd_tell(
        d, r,
        &(struct audit_event){.kind = AUDIT_FILE_DELETED, .path = path->below, .outcome = outcome});
}

/* What is not there is as it was wanted. */
static void answer_envd_removed(const struct envd *d, struct http_request *r, int code,
                                const struct envd_path *path)
{
    struct err e = ERR_NONE;
    if (code < 0 && code != -ENOENT && code != -ENOTDIR) {
        (void)envd_path_error(d, &e, code, path);
        envd_refuse(r, &e);
        return;
    }
    if (code == 0)
        tell_removed(d, r, path, NULL);
    envd_answer_empty(r);
}

static void on_envd_removal_gone(void *ctx)
{
    struct envd_removal *d = ctx;
    tell_removed(d->envd, d->r, &d->path, "partial");
    free_envd_removal(d);
}

static void go_on_envd_removal(void *ctx)
{
    struct envd_removal *d = ctx;
    const char *below = NULL;
    int done = tree_delete(d->tree, &below);
    if (done == 0) {
        loop_defer(d->envd->e2b->config.loop, &d->next, go_on_envd_removal, d);
        return;
    }
    if (done < 0)
        tell_removed(d->envd, d->r, &d->path, "partial");
    else
        done = spot_remove(&d->place, true);
    answer_envd_removed(d->envd, d->r, done, &d->path);
    free_envd_removal(d);
}

/* place: taken over. */
static void remove_envd_folder(struct envd *envd, struct http_request *r,
                               const struct envd_path *path, struct spot *place)
{
    static const struct http_events events = {.gone = on_envd_removal_gone};
    struct tree *tree = NULL;
    int fd = spot_open_tree(place);
    int code = fd < 0 ? fd : tree_open(fd, &tree);
    if (code < 0) {
        answer_envd_removed(envd, r, code, path);
        return;
    }
    tree_judge(tree, place->rules);
    struct envd_removal *d = NEW(struct envd_removal);
    *d = (struct envd_removal){
        .envd = envd, .r = r, .tree = tree, .place = spot_take(place), .path = *path};
    http_watch(r, &events, d);
    loop_defer(envd->e2b->config.loop, &d->next, go_on_envd_removal, d);
}

void envd_remove(void *ctx, struct http_request *r)
{
    drop_call struct envd_call call = {0};
    struct envd_path path;
    struct err e = ERR_NONE;
    struct stat st;
    drop_held struct spot place = SPOT_NONE;
    if (!envd_unary(ctx, r, &call))
        return;
    if (changed_path(&call, "path", &path, &e) < 0) {
        envd_refuse(r, &e);
        return;
    }
    const struct envd *d = call.envd;
    int code = spot_find(&d->top, path.below, SPOT_AS_IT_IS, d->rules, SPOT_REMOVE, &place);
    if (code == 0)
        code = spot_stat(&place, &st);
    if (code == 0 && S_ISDIR(st.st_mode))
        remove_envd_folder(call.envd, r, &path, &place);
    else
        answer_envd_removed(d, r, code < 0 ? code : spot_remove(&place, false), &path);
}
