/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder of the workspace as a tar archive, out and in, as the client takes and brings it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "files/newfile.h"
#include "files/tree.h"
#include "files/untar.h"
#include "front/workspace/api_files_internal.h"
#include "wire/tar.h"

enum {
    CHUNK = 64 << 10,
    OUT_MAX = 4 * CHUNK, /* a chunk, and what one member's head may add */
    STEPS = 64,          /* members or chunks before others have their turn */
};

/* --- out -------------------------------------------------------------------------------------- */

struct tar_out {
    struct api_files *f;
    struct http_request *r;
    const struct spot_rules *rules; /* of what it holds; NULL: everything */
    struct tree *tree;
    int fd; /* of the file whose content is on its way */
    uint64_t size, left;
    struct buf out;
    bool over;
    struct loop_defer next;
};

static void free_out(struct tar_out *t)
{
    loop_defer_stop(t->f->loop, &t->next);
    t->tree = tree_close(t->tree);
    t->fd = fd_close(t->fd);
    buf_done(&t->out);
    xfree(t);
}

static void on_out_gone(void *ctx)
{
    free_out(ctx);
}

static int add_content(struct tar_out *t)
{
    size_t n = t->left < CHUNK ? (size_t)t->left : CHUNK;
    if (buf_reserve(&t->out, n) < 0)
        return -ENOMEM;
    ssize_t got = n > 0 ? read(t->fd, t->out.data + t->out.len, n) : 0;
    if (got < 0)
        return -errno;
    if (got == 0 && n > 0)
        return -ESTALE; /* it was cut while it was read */
    t->out.len += (size_t)got;
    t->left -= (uint64_t)got;
    if (t->left == 0) {
        tar_put_padding(&t->out, t->size);
        t->fd = fd_close(t->fd);
    }
    return 0;
}

static int add_file(struct tar_out *t, const struct tree_entry *entry, struct tar_member *m)
{
    struct stat st;
    drop_fd int fd = spot_open_at(entry->dir, entry->name, O_RDONLY, t->rules, &st);
    if (fd < 0) /* what is refused is as if it were not there */
        return fd == -ENOENT || fd == SPOT_REFUSED ? 0 : fd;
    if (!S_ISREG(st.st_mode))
        return 0; /* something else has its name by now */
    m->type = TAR_FILE;
    m->size = t->size = t->left = (uint64_t)st.st_size;
    m->mtime = st.st_mtim.tv_sec;
    tar_put_member(&t->out, m);
    t->fd = fd_take(&fd);
    return 0;
}

static int add_folder(struct tar_out *t, const struct tree_entry *entry, struct tar_member *m)
{
    char path[TAR_NAME_MAX + 1];
    (void)snprintf(path, sizeof path, "%s/", entry->path);
    int code = tree_enter(t->tree);
    if (code == -ENOENT || code == -ENOTDIR || code == SPOT_REFUSED)
        return 0;
    m->type = TAR_FOLDER;
    m->path = path;
    tar_put_member(&t->out, m);
    return code;
}

static int add_member(struct tar_out *t, const struct tree_entry *entry)
{
    char text[TAR_NAME_MAX] = "";
    struct tar_member m = {.path = entry->path,
                           .link = text,
                           .mode = entry->st.st_mode & 07777,
                           .mtime = entry->st.st_mtim.tv_sec};
    if (entry->leaving || newfile_is_temporary(entry->name))
        return 0;
    if (S_ISREG(entry->st.st_mode))
        return add_file(t, entry, &m);
    if (S_ISDIR(entry->st.st_mode))
        return add_folder(t, entry, &m);
    if (!S_ISLNK(entry->st.st_mode))
        return 0; /* FIFOs, sockets and devices are not content */
    ssize_t n = spot_link_text(entry->dir, entry->name, text, sizeof text - 1);
    if (n < 0)
        return n == -ENOENT || n == -EINVAL ? 0 : (int)n;
    text[n] = '\0';
    m.type = TAR_SYMLINK;
    tar_put_member(&t->out, &m);
    return 0;
}

static int add_next(struct tar_out *t, struct err *e)
{
    struct tree_entry entry;
    if (t->fd >= 0) {
        int code = add_content(t);
        return code < 0 ? err_set(e, code, "a file that was being read: %s", strerror(-code)) : 0;
    }
    int code = tree_next(t->tree, &entry);
    if (code == 0) {
        tar_put_end(&t->out);
        t->over = true;
    }
    if (code <= 0)
        return code < 0 ? err_set(e, code, "a folder: %s", strerror(-code)) : 0;
    code = add_member(t, &entry);
    if (code < 0)
        return err_set(e, code, "%.200s: %s", entry.path, strerror(-code));
    return t->out.failed < 0 ? err_set(e, t->out.failed, "no memory") : 0;
}

/* Nothing is sent that only looks complete: the client sees that the rest is missing. */
static void fail_out(struct tar_out *t, const struct err *e)
{
    const char *before = log_set_request(http_id(t->r));
    log_warning("files", "an archive is cut off: %s", e->msg);
    (void)log_set_request(before);
    http_stream_abort(t->r);
    free_out(t);
}

/* 0: go on; 1: nothing more to do for now. */
static int send_out(struct tar_out *t)
{
    int code = http_stream_write(t->r, t->out.data, t->out.len);
    if (code == -EAGAIN)
        return 1; /* on_out_writable goes on */
    if (code < 0) {
        http_stream_abort(t->r);
        free_out(t);
        return 1;
    }
    buf_clear(&t->out);
    return 0;
}

static void go_on_out(void *ctx)
{
    struct tar_out *t = ctx;
    struct err e = ERR_NONE;
    for (int i = 0; i < STEPS; i++) {
        bool full = t->out.len >= CHUNK || (t->over && t->out.len > 0);
        if (full && send_out(t) != 0)
            return;
        if (full)
            continue;
        if (t->over) {
            http_stream_end(t->r);
            free_out(t);
            return;
        }
        if (add_next(t, &e) < 0) {
            fail_out(t, &e);
            return;
        }
    }
    loop_defer(t->f->loop, &t->next, go_on_out, t);
}

void files_tar_out(void *ctx, struct http_request *r)
{
    static const struct http_events events = {.writable = go_on_out, .gone = on_out_gone};
    static const struct http_header headers[] = {{"Content-Type", "application/x-tar"},
                                                 {"X-Content-Type-Options", "nosniff"}};
    struct api_files *f = ((struct api *)ctx)->files;
    char path[BENEATH_PATH_MAX];
    struct tree *tree = NULL;
    if (!files_path(r, path))
        return;
    int fd =
        spot_open(&f->top, path, O_RDONLY | O_DIRECTORY, BENEATH_FOLLOW, files_rules(f, r), NULL);
    int code = fd < 0 ? fd : tree_open(fd, &tree);
    if (code == -ENOTDIR) {
        http_problem(r, 409, NULL, 0, "%.300s: this is not a folder", path);
        return;
    }
    if (code < 0) {
        files_problem(f, r, code, path);
        return;
    }
    struct tar_out *t = NEW(struct tar_out);
    *t = (struct tar_out){.f = f,
                          .r = r,
                          .rules = files_archive_rules(f, r),
                          .tree = tree,
                          .fd = -1,
                          .out = BUF_INIT(OUT_MAX)};
    tree_judge(tree, t->rules);
    http_watch(r, &events, t);
    http_stream_begin(r, 200, headers, 2, -1);
    loop_defer(f->loop, &t->next, go_on_out, t);
}

/* --- in --------------------------------------------------------------------------------------- */

struct tar_in {
    struct api_files *f;
    struct http_request *r;
    struct untar *untar;
    char path[BENEATH_PATH_MAX];
};

static void free_in(struct tar_in *t)
{
    t->untar = untar_close(t->untar);
    xfree(t);
}

/* What is in place by now: also of one that ended in the middle. */
static void notify_unpacked(const struct tar_in *t, const struct untar_counts *n,
                            const char *outcome)
{
    files_tell(t->f, t->r,
               &(struct audit_event){.kind = AUDIT_ARCHIVE_UNPACKED,
                                     .path = t->path,
                                     .outcome = outcome,
                                     .files = n->files,
                                     .sized = true,
                                     .size = n->bytes});
}

static void on_in_gone(void *ctx)
{
    struct tar_in *t = ctx;
    notify_unpacked(t, untar_so_far(t->untar), "partial");
    free_in(t);
}

static void fail_in(struct tar_in *t, const struct err *e)
{
    const struct untar_counts *n = untar_so_far(t->untar);
    notify_unpacked(t, n, "partial");
    http_problem(t->r, files_status(e->code), NULL, 0,
                 "%s; before it %llu files, %llu folders and %llu links were put in place", e->msg,
                 (unsigned long long)n->files, (unsigned long long)n->folders,
                 (unsigned long long)n->links);
    free_in(t);
}

static void on_in_body(void *ctx, const char *bytes, size_t n)
{
    struct tar_in *t = ctx;
    struct err e = ERR_NONE;
    if (untar_feed(t->untar, bytes, n, &e) < 0)
        fail_in(t, &e);
}

static void on_in_end(void *ctx)
{
    struct tar_in *t = ctx;
    struct err e = ERR_NONE;
    struct untar_counts n;
    if (untar_end(t->untar, &n, &e) < 0) {
        fail_in(t, &e);
        return;
    }
    notify_unpacked(t, &n, "ok");
    drop_buf struct buf body = BUF_INIT(4096);
    struct jsonw w = JSONW(&body);
    jsonw_object(&w);
    jsonw_set_int(&w, "files", (int64_t)n.files);
    jsonw_set_int(&w, "folders", (int64_t)n.folders);
    jsonw_set_int(&w, "links", (int64_t)n.links);
    jsonw_set_int(&w, "bytes", (int64_t)n.bytes);
    jsonw_end(&w);
    http_answer_json(t->r, 200, &body);
    free_in(t);
}

void files_tar_in(void *ctx, struct http_request *r)
{
    static const struct http_events events = {
        .body = on_in_body, .end = on_in_end, .gone = on_in_gone};
    struct api_files *f = ((struct api *)ctx)->files;
    char path[BENEATH_PATH_MAX];
    bool parents;
    if (!files_path(r, path) || !files_flag(r, "parents", &parents) || !files_audited(f, r))
        return;
    const struct spot_rules *rules = files_rules(f, r);
    int folder = spot_folder(&f->top, path, parents ? SPOT_MAKE_FOLDERS : SPOT_AS_IT_IS, rules);
    if (folder == -ENOENT) {
        http_problem(r, 404, NULL, 0, "%.300s: the folder is not there; ask for parents=true",
                     path);
        return;
    }
    if (folder < 0) {
        files_problem(f, r, folder, path);
        return;
    }
    struct tar_in *t = NEW(struct tar_in);
    *t = (struct tar_in){.f = f, .r = r, .untar = untar_open(folder)};
    (void)snprintf(t->path, sizeof t->path, "%s", path);
    untar_judge(t->untar, rules);
    http_watch(r, &events, t);
}
