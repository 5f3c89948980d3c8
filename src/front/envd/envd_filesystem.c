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

static void answer_entry(const struct envd_call *call, const struct envd_path *path)
{
    drop_buf struct buf body = BUF_INIT(ENTRY_MAX);
    struct jsonw w = JSONW(&body);
    struct err e = ERR_NONE;
    jsonw_object(&w);
    jsonw_name(&w, "entry");
    int r = envd_put_entry(call->envd, &w, path);
    jsonw_end(&w);
    if (r == 0) {
        envd_answer(call->r, &body);
        return;
    }
    (void)envd_path_error(&e, r, path);
    envd_refuse(call->r, &e);
}

/* The path of a call that changes something, which is not the workspace itself. */
static int changed_path(const struct envd_call *call, const char *member, enum judge_act act,
                        struct envd_path *ret, struct err *e)
{
    int r = envd_path(call->envd, json_get_text(call->body, member), ret, e);
    if (r == 0 && ret->below[0] == '\0')
        r = err_set(e, -EPERM, "path '%.200s' is the workspace itself", ret->shown);
    if (r == 0)
        r = audit_check(call->envd->e2b->config.audit, e);
    return r == 0 ? envd_may(call->envd, act, ret, e) : r;
}

void envd_stat(void *ctx, struct http_request *r)
{
    drop_call struct envd_call call = {0};
    struct envd_path path;
    struct err e = ERR_NONE;
    if (!envd_unary(ctx, r, &call))
        return;
    if (envd_path(call.envd, json_get_text(call.body, "path"), &path, &e) < 0 ||
        envd_may(call.envd, JUDGE_READ, &path, &e) < 0)
        envd_refuse(r, &e);
    else
        answer_entry(&call, &path);
}

/* Not the folders above it, which may be there. */
static int make_last(const struct envd *d, const struct envd_path *path, struct err *e)
{
    const char *name;
    struct stat st;
    drop_fd int dir = beneath_parent(&d->top, path->below, true, BENEATH_FOLLOW, &name);
    if (dir < 0)
        return envd_path_error(e, dir, path);
    int r = mkdirat(dir, name, 0777) < 0 ? -errno : 0;
    if (r != -EEXIST)
        return r < 0 ? envd_path_error(e, r, path) : 0;
    bool folder = fstatat(dir, name, &st, 0) == 0 && S_ISDIR(st.st_mode);
    return folder ? err_set(e, -EEXIST, "directory already exists: %.200s", path->shown)
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
        code = changed_path(&call, "path", JUDGE_WRITE, &path, &e);
    if (code == 0)
        code = make_last(call.envd, &path, &e);
    if (code < 0) {
        envd_refuse(r, &e);
        return;
    }
    envd_tell(call.envd, r, &(struct audit_event){.kind = AUDIT_FOLDER_MADE, .path = path.below});
    answer_entry(&call, &path);
}

static int move_path(const struct envd *d, const struct envd_path *from, const struct envd_path *to,
                     struct err *e)
{
    const char *name, *to_name;
    struct stat st;
    drop_fd int dir = beneath_parent(&d->top, from->below, false, BENEATH_FOLLOW, &name);
    int r = dir < 0 ? dir : fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
    if (r < 0)
        return envd_path_error(e, r == -ENOTDIR ? -ENOENT : r, from);
    r = envd_may_move(d, from, to, S_ISDIR(st.st_mode), e);
    if (r < 0)
        return r;
    drop_fd int to_dir = beneath_parent(&d->top, to->below, true, BENEATH_FOLLOW, &to_name);
    if (to_dir < 0)
        return envd_path_error(e, to_dir, to);
    return renameat(dir, name, to_dir, to_name) < 0 ? envd_path_error(e, -errno, to) : 0;
}

void envd_move(void *ctx, struct http_request *r)
{
    drop_call struct envd_call call = {0};
    struct envd_path from, to;
    struct err e = ERR_NONE;
    if (!envd_unary(ctx, r, &call))
        return;
    int code = changed_path(&call, "source", JUDGE_REMOVE, &from, &e);
    if (code == 0)
        code = changed_path(&call, "destination", JUDGE_WRITE, &to, &e);
    if (code == 0)
        code = move_path(call.envd, &from, &to, &e);
    if (code < 0) {
        envd_refuse(r, &e);
        return;
    }
    envd_tell(call.envd, r,
              &(struct audit_event){.kind = AUDIT_FILE_MOVED, .path = from.below, .to = to.below});
    answer_entry(&call, &to);
}

/* --- remove ----------------------------------------------------------------------------------- */

struct envd_removal {
    struct envd *envd;
    struct http_request *r;
    struct tree *tree;
    int dir; /* where the folder is */
    struct loop_defer next;
    struct envd_path path;
};

static void free_envd_removal(struct envd_removal *d)
{
    loop_defer_stop(d->envd->e2b->config.loop, &d->next);
    d->tree = tree_close(d->tree);
    d->dir = fd_close(d->dir);
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
        (void)envd_path_error(&e, code, path);
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
    const char *below = NULL, *slash = strrchr(d->path.below, '/');
    int done = tree_delete(d->tree, &below);
    if (done == 0) {
        loop_defer(d->envd->e2b->config.loop, &d->next, go_on_envd_removal, d);
        return;
    }
    if (done < 0)
        tell_removed(d->envd, d->r, &d->path, "partial");
    else
        done = unlinkat(d->dir, slash ? slash + 1 : d->path.below, AT_REMOVEDIR) < 0 ? -errno : 0;
    answer_envd_removed(d->envd, d->r, done, &d->path);
    free_envd_removal(d);
}

/* dir is taken over. */
static void remove_envd_folder(struct envd *envd, struct http_request *r,
                               const struct envd_path *path, int dir, const char *name)
{
    static const struct http_events events = {.gone = on_envd_removal_gone};
    struct tree *tree = NULL;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int code = fd < 0 ? -errno : tree_open(fd, &tree);
    if (code < 0) {
        (void)fd_close(dir);
        answer_envd_removed(envd, r, code, path);
        return;
    }
    struct envd_removal *d = NEW(struct envd_removal);
    *d = (struct envd_removal){.envd = envd, .r = r, .tree = tree, .dir = dir, .path = *path};
    http_watch(r, &events, d);
    loop_defer(envd->e2b->config.loop, &d->next, go_on_envd_removal, d);
}

void envd_remove(void *ctx, struct http_request *r)
{
    drop_call struct envd_call call = {0};
    struct envd_path path;
    struct err e = ERR_NONE;
    struct stat st;
    const char *name;
    if (!envd_unary(ctx, r, &call))
        return;
    if (changed_path(&call, "path", JUDGE_REMOVE, &path, &e) < 0) {
        envd_refuse(r, &e);
        return;
    }
    drop_fd int dir = beneath_parent(&call.envd->top, path.below, false, BENEATH_FOLLOW, &name);
    int code = dir < 0 ? dir : fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
    if (code == 0 && S_ISDIR(st.st_mode))
        remove_envd_folder(call.envd, r, &path, fd_take(&dir), name);
    else
        answer_envd_removed(call.envd, r, code < 0 || unlinkat(dir, name, 0) == 0 ? code : -errno,
                            &path);
}
