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

/* The place of something new. False: it has answered. */
static bool find_new(const struct api_files *f, struct http_request *r, const char *path, bool make,
                     enum spot_act act, struct spot *ret)
{
    int code = spot_find(&f->top, path, make ? SPOT_MAKE_FOLDERS : SPOT_AS_IT_IS, files_rules(f, r),
                         act, ret);
    if (code == -ENOENT)
        http_problem(r, 409, NULL, 0, "%.*s: its folder is not there; ask for parents=true",
                     SHOWN_MAX, path);
    else if (code < 0)
        files_problem(f, r, code, path);
    return code == 0;
}

/* --- put -------------------------------------------------------------------------------------- */

struct put {
    struct api_files *f;
    struct http_request *r;
    struct spot place;
    struct newfile file;
    bool replaces;
    char path[BENEATH_PATH_MAX];
};

static void free_put(struct put *p)
{
    newfile_drop(&p->file);
    spot_close(&p->place);
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
    files_problem(p->f, p->r, code, p->path);
    free_put(p);
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
    const char *none = http_header(p->r, "If-None-Match");
    enum newfile_how how = none && strcmp(none, "*") == 0 ? NEWFILE_NEW : NEWFILE_REPLACE;
    struct stat st;
    if (files_may_change(p->f, p->r, p->path)) { /* once more */
        int code = fstat(p->file.fd, &st) < 0 ? -errno : 0;
        if (code == 0)
            code = spot_commit(&p->place, &p->file, how, true);
        if (code == -EEXIST && how == NEWFILE_NEW)
            http_problem(p->r, 412, NULL, 0, "%.*s: it is there, against If-None-Match", SHOWN_MAX,
                         p->path);
        else if (code < 0)
            files_problem(p->f, p->r, code == -ENOENT ? -ESTALE : code, p->path);
        else
            told_put(p, &st);
    }
    free_put(p);
}

static bool has_room(struct http_request *r, int dir)
{
    struct statvfs fs;
    int64_t length = http_body_length(r);
    return length <= 0 || fstatvfs(dir, &fs) < 0 || fs.f_blocks == 0 ||
           (uint64_t)length / fs.f_frsize <= fs.f_bavail;
}

/* mode: as asked for. place: taken over. */
static void begin_put(struct api_files *f, struct http_request *r, const char *path,
                      struct spot *place, mode_t mode)
{
    static const struct http_events events = {
        .body = on_put_body, .end = on_put_end, .gone = on_put_gone};
    struct newfile file = NEWFILE_NONE;
    struct stat st;
    const char *asked = http_query(r, "mode");
    bool there = spot_stat(place, &st) == 0;
    int code = there && S_ISDIR(st.st_mode) ? -EISDIR
               : !has_room(r, place->dir)   ? -ENOSPC
                                            : spot_new_file(place, mode, &file);
    if (code == 0 && there && !asked && S_ISREG(st.st_mode))
        mode = st.st_mode & 0777;
    if (code == 0 && (asked || (there && S_ISREG(st.st_mode))) && fchmod(file.fd, mode) < 0)
        code = -errno;
    if (code < 0) {
        newfile_drop(&file);
        files_problem(f, r, code, path);
        return;
    }
    struct put *p = NEW(struct put);
    *p = (struct put){.f = f, .r = r, .place = spot_take(place), .file = file, .replaces = there};
    (void)snprintf(p->path, sizeof p->path, "%s", path);
    http_watch(r, &events, p);
}

void files_put(void *ctx, struct http_request *r)
{
    struct api_files *f = files_of(ctx);
    char path[BENEATH_PATH_MAX];
    mode_t mode = FILE_MODE;
    bool parents;
    drop_held struct spot place = SPOT_NONE;
    if (!path_of_one(r, path) || !files_flag(r, "parents", &parents) ||
        !files_mode(r, http_query(r, "mode"), &mode) || !files_may_change(f, r, path) ||
        !files_audited(f, r))
        return;
    if (find_new(f, r, path, parents, SPOT_WRITE, &place))
        begin_put(f, r, path, &place, mode);
}

/* --- delete ----------------------------------------------------------------------------------- */

struct removal {
    struct api_files *f;
    struct http_request *r;
    struct tree *tree;
    struct spot place; /* of the folder */
    struct loop_defer next;
    char path[BENEATH_PATH_MAX];
};

static void free_removal(struct removal *d)
{
    loop_defer_stop(d->f->loop, &d->next);
    d->tree = tree_close(d->tree);
    spot_close(&d->place);
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
        files_problem(f, r, code, path);
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
    const char *below = NULL;
    int done = tree_delete(d->tree, &below);
    if (done == 0) {
        loop_defer(d->f->loop, &d->next, go_on_removing, d);
        return;
    }
    if (done < 0) {
        drop_str char *path = xasprintf("%s/%s", d->path, below);
        notify_removed(d->f, d->r, d->path, "partial");
        files_problem(d->f, d->r, done, path);
    } else {
        answer_removed(d->f, d->r, spot_remove(&d->place, true), d->path);
    }
    free_removal(d);
}

/* place: taken over. */
static void remove_folder(struct api_files *f, struct http_request *r, const char *path,
                          struct spot *place)
{
    static const struct http_events events = {.gone = on_removal_gone};
    struct tree *tree = NULL;
    int fd = spot_open_tree(place);
    int code = fd < 0 ? fd : tree_open(fd, &tree);
    if (code < 0) {
        files_problem(f, r, code, path);
        return;
    }
    tree_judge(tree, place->rules);
    struct removal *d = NEW(struct removal);
    *d = (struct removal){.f = f, .r = r, .tree = tree, .place = spot_take(place)};
    (void)snprintf(d->path, sizeof d->path, "%s", path);
    http_watch(r, &events, d);
    loop_defer(f->loop, &d->next, go_on_removing, d);
}

void files_delete(void *ctx, struct http_request *r)
{
    struct api_files *f = files_of(ctx);
    char path[BENEATH_PATH_MAX];
    struct stat st;
    bool recursive;
    drop_held struct spot place = SPOT_NONE;
    if (!path_of_one(r, path) || !files_flag(r, "recursive", &recursive) ||
        !files_may_change(f, r, path) || !files_audited(f, r))
        return;
    int code = spot_find(&f->top, path, SPOT_AS_IT_IS, files_rules(f, r), SPOT_REMOVE, &place);
    if (code == 0)
        code = spot_stat(&place, &st);
    if (code == 0 && S_ISDIR(st.st_mode) && recursive)
        remove_folder(f, r, path, &place);
    else
        answer_removed(f, r, code < 0 ? code : spot_remove(&place, S_ISDIR(st.st_mode)), path);
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

static void answer_name(const struct api_files *f, struct http_request *r, int status,
                        const struct spot *place, const char *path)
{
    struct stat st;
    int code = spot_stat(place, &st);
    if (code < 0)
        files_problem(f, r, code, path);
    else
        files_answer_entry(r, status, path, &st);
}

static void fail_move(const struct api_files *f, struct http_request *r, int code, const char *from,
                      const char *to)
{
    if (code == -EXDEV)
        http_problem(r, 409, NULL, 0, "%.*s: it is on another file system; copy it", SHOWN_MAX, to);
    else if (code == -EINVAL)
        http_problem(r, 409, NULL, 0, "%.*s: a folder cannot move into itself", SHOWN_MAX, to);
    else
        files_problem(f, r, code, code == SPOT_REFUSED ? from : to);
}

static void move_file(struct api_files *f, struct http_request *r, const char *path,
                      const struct json *body)
{
    char to[BENEATH_PATH_MAX];
    const char *asked;
    bool overwrite, parents;
    drop_held struct spot place = SPOT_NONE, to_place = SPOT_NONE;
    struct stat st;
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
    code = spot_find(&f->top, path, SPOT_AS_IT_IS, files_rules(f, r), SPOT_REMOVE, &place);
    if (code == 0)
        code = spot_stat(&place, &st);
    if (code < 0) {
        files_problem(f, r, code, path);
        return;
    }
    if (!find_new(f, r, to, parents, SPOT_REMOVE, &to_place))
        return;
    code = spot_move(&place, &to_place, overwrite);
    if (code < 0) {
        fail_move(f, r, code, path, to);
        return;
    }
    files_tell(f, r, &(struct audit_event){.kind = AUDIT_FILE_MOVED, .path = path, .to = to});
    answer_name(f, r, 200, &to_place, to);
}

static void make_api_folder(struct api_files *f, struct http_request *r, const char *path,
                            const struct json *body)
{
    const struct json *text = json_get(body, "mode");
    mode_t mode = FOLDER_MODE;
    bool parents;
    drop_held struct spot place = SPOT_NONE;
    if (!take_flag(r, body, "parents", &parents) ||
        !files_mode(r, text && !json_text(text) ? "" : json_text(text), &mode))
        return;
    if (!find_new(f, r, path, parents, SPOT_WRITE, &place))
        return;
    int code = spot_make_folder(&place, mode);
    if (code == -EEXIST)
        http_problem(r, 409, NULL, 0, "%.*s: something has this name already", SHOWN_MAX, path);
    else if (code < 0)
        files_problem(f, r, code, path);
    if (code < 0)
        return;
    files_tell(f, r, &(struct audit_event){.kind = AUDIT_FOLDER_MADE, .path = path});
    answer_name(f, r, 201, &place, path);
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
