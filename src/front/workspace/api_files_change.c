/* SPDX-License-Identifier: Apache-2.0
 *
 * What changes the workspace: a file is put, deleted or moved, a folder is made. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/json.h"
#include "files/newfile.h"
#include "files/tree.h"
#include "front/workspace/api_files_internal.h"

enum { FILE_MODE = 0666, FOLDER_MODE = 0777, SHOWN_MAX = 300 };

static struct api_files *files_of(void *ctx)
{
    return ((struct api *)ctx)->files;
}

/* As files_path(), but not the workspace itself. */
static bool path_of_one(struct http_request *r, char path[BENEATH_PATH_MAX])
{
    if (!files_path(r, path))
        return false;
    if (path[0] == '\0')
        http_problem(r, 400, NULL, 0, "this is not for the workspace itself; name something in it");
    return path[0] != '\0';
}

/* The folder of a path; *ret_name points into the path. Below 0: it has answered. */
static int open_parent(const struct api_files *f, struct http_request *r, const char *path,
                       bool make, const char **ret_name)
{
    int dir = beneath_parent(&f->top, path, make, BENEATH_FOLLOW, ret_name);
    if (dir == -ENOENT)
        http_problem(r, 409, NULL, 0, "%.*s: its folder is not there; ask for parents=true",
                     SHOWN_MAX, path);
    else if (dir < 0)
        files_problem(r, dir, path);
    return dir;
}

/* --- put -------------------------------------------------------------------------------------- */

struct put {
    struct api_files *f;
    struct http_request *r;
    struct newfile file;
    bool replaces;
    char path[BENEATH_PATH_MAX];
};

static void free_put(struct put *p)
{
    newfile_drop(&p->file);
    xfree(p);
}

static void on_put_gone(void *ctx)
{
    free_put(ctx);
}

static void on_put_body(void *ctx, const char *bytes, size_t n)
{
    struct put *p = ctx;
    int code = newfile_write(&p->file, bytes, n);
    if (code == 0)
        return;
    files_problem(p->r, code, p->path);
    free_put(p);
}

/* A body takes its time: its folder may be elsewhere by now, and another have its name. */
static int same_folder(const struct put *p)
{
    struct stat then, now;
    const char *name;
    drop_fd int dir = beneath_parent(&p->f->top, p->path, false, BENEATH_FOLLOW, &name);
    if (dir < 0)
        return dir;
    if (fstat(dir, &now) < 0 || fstat(p->file.dir, &then) < 0)
        return -errno;
    return now.st_ino == then.st_ino && now.st_dev == then.st_dev ? 0 : -ENOENT;
}

static void told_put(const struct put *p, const struct stat *st)
{
    files_tell(p->f, p->r,
               &(struct audit_event){.kind = AUDIT_FILE_WRITTEN,
                                     .path = p->path,
                                     .sized = true,
                                     .size = (uint64_t)st->st_size});
    files_answer_entry(p->r, p->replaces ? 200 : 201, p->path, st);
}

static void on_put_end(void *ctx)
{
    struct put *p = ctx;
    const char *slash = strrchr(p->path, '/'), *none = http_header(p->r, "If-None-Match");
    enum newfile_how how = none && strcmp(none, "*") == 0 ? NEWFILE_NEW : NEWFILE_REPLACE;
    struct stat st;
    if (files_may_change(p->f, p->r, p->path) && /* both once more */
        files_allowed(p->f, p->r, JUDGE_WRITE, p->path)) {
        int code = fstat(p->file.fd, &st) < 0 ? -errno : same_folder(p);
        if (code == 0)
            code = newfile_commit(&p->file, slash ? slash + 1 : p->path, how, true);
        if (code == -EEXIST && how == NEWFILE_NEW)
            http_problem(p->r, 412, NULL, 0, "%.*s: it is there, against If-None-Match", SHOWN_MAX,
                         p->path);
        else if (code == -ENOENT)
            http_problem(p->r, 409, NULL, 0, "%.*s: its folder was moved meanwhile; send it again",
                         SHOWN_MAX, p->path);
        else if (code < 0)
            files_problem(p->r, code, p->path);
        else
            told_put(p, &st);
    }
    free_put(p);
}

static bool has_room(struct http_request *r, int dir, const char *path)
{
    struct statvfs fs;
    int64_t length = http_body_length(r);
    if (length <= 0 || fstatvfs(dir, &fs) < 0 || fs.f_blocks == 0 ||
        (uint64_t)length / fs.f_frsize <= fs.f_bavail)
        return true;
    files_problem(r, -ENOSPC, path);
    return false;
}

/* mode: as asked for. */
static void begin_put(struct api_files *f, struct http_request *r, const char *path, int dir,
                      const char *name, mode_t mode)
{
    static const struct http_events events = {
        .body = on_put_body, .end = on_put_end, .gone = on_put_gone};
    struct newfile file = NEWFILE_NONE;
    struct stat st;
    const char *asked = http_query(r, "mode");
    bool there = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    int code = there && S_ISDIR(st.st_mode) ? -EISDIR : newfile_open(dir, mode, false, &file);
    if (code == 0 && there && !asked && S_ISREG(st.st_mode))
        mode = st.st_mode & 0777;
    if (code == 0 && (asked || (there && S_ISREG(st.st_mode))) && fchmod(file.fd, mode) < 0)
        code = -errno;
    if (code < 0) {
        newfile_drop(&file);
        files_problem(r, code, path);
        return;
    }
    struct put *p = NEW(struct put);
    *p = (struct put){.f = f, .r = r, .file = file, .replaces = there};
    (void)snprintf(p->path, sizeof p->path, "%s", path);
    http_watch(r, &events, p);
}

void files_put(void *ctx, struct http_request *r)
{
    struct api_files *f = files_of(ctx);
    char path[BENEATH_PATH_MAX];
    const char *name;
    mode_t mode = FILE_MODE;
    bool parents;
    if (!path_of_one(r, path) || !files_flag(r, "parents", &parents) ||
        !files_mode(r, http_query(r, "mode"), &mode) || !files_may_change(f, r, path) ||
        !files_audited(f, r) || !files_allowed(f, r, JUDGE_WRITE, path))
        return;
    drop_fd int dir = open_parent(f, r, path, parents, &name);
    if (dir >= 0 && has_room(r, dir, path))
        begin_put(f, r, path, dir, name, mode);
}

/* --- delete ----------------------------------------------------------------------------------- */

struct removal {
    struct api_files *f;
    struct http_request *r;
    struct tree *tree;
    int dir; /* where the folder is */
    struct loop_defer next;
    char path[BENEATH_PATH_MAX];
};

static void free_removal(struct removal *d)
{
    loop_defer_stop(d->f->loop, &d->next);
    d->tree = tree_close(d->tree);
    d->dir = fd_close(d->dir);
    xfree(d);
}

/* outcome: "partial" when some of a folder is gone, else NULL. */
static void notify_removed(const struct api_files *f, const struct http_request *r,
                           const char *path, const char *outcome)
{
    files_tell(f, r,
               &(struct audit_event){.kind = AUDIT_FILE_DELETED, .path = path, .outcome = outcome});
}

static void answer_removed(const struct api_files *f, struct http_request *r, int code,
                           const char *path)
{
    if (code < 0) {
        files_problem(r, code, path);
        return;
    }
    notify_removed(f, r, path, NULL);
    http_answer(r, 204, NULL, 0, "", 0);
}

static void on_removal_gone(void *ctx)
{
    struct removal *d = ctx;
    notify_removed(d->f, d->r, d->path, "partial");
    free_removal(d);
}

static void go_on_removing(void *ctx)
{
    struct removal *d = ctx;
    const char *below = NULL, *slash = strrchr(d->path, '/');
    int done = tree_delete(d->tree, &below);
    if (done == 0) {
        loop_defer(d->f->loop, &d->next, go_on_removing, d);
        return;
    }
    if (done < 0) {
        drop_str char *path = xasprintf("%s/%s", d->path, below);
        notify_removed(d->f, d->r, d->path, "partial");
        files_problem(d->r, done, path);
    } else {
        done = unlinkat(d->dir, slash ? slash + 1 : d->path, AT_REMOVEDIR) < 0 ? -errno : 0;
        answer_removed(d->f, d->r, done, d->path);
    }
    free_removal(d);
}

/* dir is taken over. */
static void remove_folder(struct api_files *f, struct http_request *r, const char *path, int dir,
                          const char *name)
{
    static const struct http_events events = {.gone = on_removal_gone};
    struct tree *tree = NULL;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int code = fd < 0 ? -errno : tree_open(fd, &tree);
    if (code < 0) {
        (void)fd_close(dir);
        files_problem(r, code, path);
        return;
    }
    struct removal *d = NEW(struct removal);
    *d = (struct removal){.f = f, .r = r, .tree = tree, .dir = dir};
    (void)snprintf(d->path, sizeof d->path, "%s", path);
    http_watch(r, &events, d);
    loop_defer(f->loop, &d->next, go_on_removing, d);
}

void files_delete(void *ctx, struct http_request *r)
{
    struct api_files *f = files_of(ctx);
    char path[BENEATH_PATH_MAX];
    const char *name;
    struct stat st;
    bool recursive;
    if (!path_of_one(r, path) || !files_flag(r, "recursive", &recursive) ||
        !files_may_change(f, r, path) || !files_audited(f, r) ||
        !files_allowed(f, r, JUDGE_REMOVE, path))
        return;
    drop_fd int dir = beneath_parent(&f->top, path, false, BENEATH_FOLLOW, &name);
    if (dir < 0)
        files_problem(r, dir, path);
    else if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        files_problem(r, -errno, path);
    else if (S_ISDIR(st.st_mode) && recursive)
        remove_folder(f, r, path, fd_take(&dir), name);
    else
        answer_removed(f, r,
                       unlinkat(dir, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) < 0 ? -errno : 0,
                       path);
}

/* --- move, and a new folder ------------------------------------------------------------------- */

static bool take_flag(struct http_request *r, const struct json *body, const char *name, bool *ret)
{
    const struct json *value = json_get(body, name);
    if (value && !json_is_bool(value)) {
        http_problem(r, 400, NULL, 0, "%s must be true or false", name);
        return false;
    }
    *ret = value && json_true(value);
    return true;
}

static void answer_name(struct http_request *r, int status, int dir, const char *name,
                        const char *path)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        files_problem(r, -errno, path);
    else
        files_answer_entry(r, status, path, &st);
}

static void move_file(struct api_files *f, struct http_request *r, const char *path,
                      const struct json *body)
{
    char to[BENEATH_PATH_MAX];
    const char *name, *to_name, *asked;
    bool overwrite, parents;
    struct err e = ERR_NONE;
    if (!take_flag(r, body, "overwrite", &overwrite) || !take_flag(r, body, "parents", &parents))
        return;
    int code = json_need_text(body, "to", &asked, &e);
    if (code == 0)
        code = beneath_clean(asked, to);
    if (code < 0 || to[0] == '\0') {
        http_problem(r, 400, NULL, 0, "to must be a path in the workspace");
        return;
    }
    drop_fd int dir = beneath_parent(&f->top, path, false, BENEATH_FOLLOW, &name);
    struct stat st;
    code = dir < 0 ? dir : fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
    if (code < 0) {
        files_problem(r, code, path);
        return;
    }
    if (!files_allowed_move(f, r, path, to, S_ISDIR(st.st_mode)))
        return;
    drop_fd int to_dir = open_parent(f, r, to, parents, &to_name);
    if (to_dir < 0)
        return;
    if (overwrite)
        code = renameat(dir, name, to_dir, to_name) < 0 ? -errno : 0;
    else
        code = rename_to_new(dir, name, to_dir, to_name);
    if (code == -EXDEV)
        http_problem(r, 409, NULL, 0, "%.*s: it is on another file system; copy it", SHOWN_MAX, to);
    else if (code == -EINVAL)
        http_problem(r, 409, NULL, 0, "%.*s: a folder cannot move into itself", SHOWN_MAX, to);
    else if (code < 0)
        files_problem(r, code, to);
    if (code < 0)
        return;
    files_tell(f, r, &(struct audit_event){.kind = AUDIT_FILE_MOVED, .path = path, .to = to});
    answer_name(r, 200, to_dir, to_name, to);
}

static void make_api_folder(struct api_files *f, struct http_request *r, const char *path,
                            const struct json *body)
{
    const struct json *text = json_get(body, "mode");
    const char *name;
    mode_t mode = FOLDER_MODE;
    bool parents;
    if (!take_flag(r, body, "parents", &parents) ||
        !files_mode(r, text && !json_text(text) ? "" : json_text(text), &mode))
        return;
    if (!files_allowed(f, r, JUDGE_WRITE, path))
        return;
    drop_fd int dir = open_parent(f, r, path, parents, &name);
    if (dir < 0)
        return;
    int code = mkdirat(dir, name, mode) < 0 ? -errno : 0;
    if (code == -EEXIST)
        http_problem(r, 409, NULL, 0, "%.*s: something has this name already", SHOWN_MAX, path);
    else if (code < 0)
        files_problem(r, code, path);
    if (code < 0)
        return;
    files_tell(f, r, &(struct audit_event){.kind = AUDIT_FOLDER_MADE, .path = path});
    answer_name(r, 201, dir, name, path);
}

void files_post(void *ctx, struct http_request *r)
{
    static const struct {
        const char *name;
        void (*run)(struct api_files *f, struct http_request *r, const char *path,
                    const struct json *body);
    } actions[] = {{"move", move_file}, {"make_folder", make_api_folder}};
    char path[BENEATH_PATH_MAX];
    struct err e = ERR_NONE;
    if (!path_of_one(r, path) || !files_audited(files_of(ctx), r))
        return;
    drop_json struct json *body =
        json_parse_copy(buf_text(http_body(r)), http_body(r)->len, JSON_STRICT, &e);
    if (!body) {
        http_problem(r, 400, NULL, 0, "the body is not JSON: %s", e.msg);
        return;
    }
    const char *action = json_get_text(body, "action");
    for (size_t i = 0; action && i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(actions[i].name, action) == 0) {
            actions[i].run(files_of(ctx), r, path, body);
            return;
        }
    }
    http_problem(r, 400, NULL, 0, "action must be \"move\" or \"make_folder\"");
}
