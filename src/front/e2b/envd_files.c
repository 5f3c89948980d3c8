/* SPDX-License-Identifier: Apache-2.0
 *
 * /files: a file is read, or some are written. The caller brings a token of the sandbox or a signed
 * URL. Errors are REST's here: {"code", "message"}. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "files/newfile.h"
#include "front/e2b/envd_internal.h"
#include "front/http/http_head.h"
#include "front/workspace/api_files.h"
#include "wire/multipart.h"

enum { ANSWER_MAX = 1 << 20, FILE_MODE = 0666 };

static void fail_files(struct http_request *r, const struct err *e)
{
    int status = connect_code_of(-e->code)->status;
    if (e->code == -ENOSPC || e->code == -EDQUOT || e->code == -EFBIG)
        status = 507;
    e2b_fail(r, status, "%s", e->msg);
}

/* A signed URL may name no sandbox: it is for the one whose token it was signed with. */
static struct e2b_sandbox *sandbox_of_file(struct e2b *e2b, const struct http_request *r,
                                           const char *operation)
{
    struct e2b_sandbox *s = e2b_addressed(e2b, r);
    if (s || http_header(r, "E2b-Sandbox-Id"))
        return s;
    for (s = e2b->sandboxes; s && !envd_signed(r, s->access_token, operation);)
        s = s->next;
    return s;
}

/* False: it has answered. */
static bool begin_files(void *ctx, struct http_request *r, const char *operation,
                        struct envd_call *ret)
{
    struct err e = ERR_NONE;
    struct e2b *e2b = ctx;
    struct e2b_sandbox *s = sandbox_of_file(e2b, r, operation);
    bool named = http_header(r, "E2b-Sandbox-Id") != NULL;
    int code = envd_find_in(e2b, s, r, ret, &e);
    if ((!s && !named) ||
        (s && !e2b_may_use(e2b, s, r) && !envd_signed(r, s->access_token, operation))) {
        e2b_fail(r, 401,
                 "unauthorized access, please provide a valid access token or method signing if "
                 "supported");
        return false;
    }
    if (code == -ENOENT) {
        e2b_fail_absent(r,
                        http_header(r, "E2b-Sandbox-Id") ? http_header(r, "E2b-Sandbox-Id") : "");
        return false;
    }
    if (code == 0)
        code = envd_check_user(http_query(r, "username"), &e);
    if (code < 0)
        fail_files(r, &e);
    return code == 0;
}

void envd_get_file(void *ctx, struct http_request *r)
{
    struct envd_call call = {0};
    struct envd_path path;
    struct err e = ERR_NONE;
    struct stat st;
    if (!begin_files(ctx, r, "read", &call))
        return;
    int code = envd_path(call.envd, http_query(r, "path"), &path, &e);
    drop_fd int fd = -1;
    if (code == 0) {
        fd = beneath_at(&call.envd->top, path.below, O_RDONLY, BENEATH_FOLLOW);
        code = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : S_ISDIR(st.st_mode) ? -EISDIR : 0;
        if (code < 0)
            code = envd_path_error(&e, code == -ENOTDIR ? -ENOENT : code, &path);
    }
    if (code == 0)
        code = envd_may_read(call.envd, fd, &path, &e);
    if (code < 0)
        fail_files(r, &e);
    else
        api_files_send(r, fd_take(&fd), &st, path.shown);
}

/* --- writing ---------------------------------------------------------------------------------- */

struct envd_upload {
    struct envd *envd;
    struct http_request *r;
    struct multipart *parts; /* NULL: the body is the file */
    bool named;              /* `path` is in the query, else each part has a name */
    bool open;               /* a file is being written */
    struct newfile file;
    struct envd_path path;
    struct buf answer;
    struct jsonw w;
    char **written; /* their paths; owned */
    size_t n;
    struct err e;
};

static void free_upload(struct envd_upload *u)
{
    newfile_drop(&u->file);
    u->parts = multipart_close(u->parts);
    for (size_t i = 0; i < u->n; i++)
        xfree(u->written[i]);
    xfree(u->written);
    buf_done(&u->answer);
    xfree(u);
}

static void on_upload_gone(void *ctx)
{
    free_upload(ctx);
}

static int open_new(struct envd_upload *u)
{
    const char *name;
    struct stat st;
    struct err *e = &u->e;
    drop_fd int dir = beneath_parent(&u->envd->top, u->path.below, true, BENEATH_FOLLOW, &name);
    if (dir < 0)
        return envd_path_error(e, dir, &u->path);
    bool there = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    int r = there && S_ISDIR(st.st_mode) ? -EISDIR : newfile_open(dir, FILE_MODE, false, &u->file);
    if (r == 0 && there && S_ISREG(st.st_mode) && fchmod(u->file.fd, st.st_mode & 0777) < 0)
        r = -errno;
    if (r < 0)
        return envd_path_error(e, r, &u->path);
    u->open = true;
    return 0;
}

static int begin_upload_file(struct envd_upload *u, const char *path)
{
    struct err *e = &u->e;
    int r = envd_path(u->envd, path, &u->path, e);
    if (r == 0 && u->path.below[0] == '\0')
        r = envd_path_error(e, -EISDIR, &u->path);
    for (size_t i = 0; r == 0 && i < u->n; i++)
        if (strcmp(u->written[i], u->path.below) == 0)
            r = err_set(e, -EINVAL, "you cannot upload multiple files to the same path '%.200s'",
                        u->path.shown);
    if (r == 0)
        r = envd_may(u->envd, JUDGE_WRITE, &u->path, e);
    return r == 0 ? open_new(u) : r;
}

static int write_file(struct envd_upload *u, const char *bytes, size_t n)
{
    int r = newfile_write(&u->file, bytes, n);
    return r < 0 ? envd_path_error(&u->e, r, &u->path) : 0;
}

/* A body takes its time: what may be written is asked once more. */
static int end_file(struct envd_upload *u)
{
    const char *slash = strrchr(u->path.below, '/'), *name = slash ? slash + 1 : u->path.below;
    const uint64_t size = u->file.size;
    int r = envd_may(u->envd, JUDGE_WRITE, &u->path, &u->e);
    if (r < 0)
        return r;
    r = newfile_commit(&u->file, name, NEWFILE_REPLACE, false);
    u->open = false;
    if (r < 0)
        return envd_path_error(&u->e, r, &u->path);
    envd_tell(u->envd, u->r,
              &(struct audit_event){
                  .kind = AUDIT_FILE_WRITTEN, .path = u->path.below, .sized = true, .size = size});
    u->written = xrealloc(u->written, (u->n + 1) * sizeof *u->written);
    u->written[u->n++] = xstrdup(u->path.below);
    jsonw_object(&u->w);
    jsonw_set_text(&u->w, "path", u->path.shown);
    jsonw_set_text(&u->w, "name", name);
    jsonw_set_text(&u->w, "type", "file");
    jsonw_end(&u->w);
    return 0;
}

static int on_part_begin(void *ctx, const char *name, const char *filename)
{
    struct envd_upload *u = ctx;
    const char *path = u->named ? http_query(u->r, "path") : filename;
    if (strcmp(name, "file") != 0)
        return 0; /* its content is nobody's */
    if (!path || !*path)
        return err_set(&u->e, -EINVAL, "a path is needed: as a query, or as the file's name");
    return begin_upload_file(u, path);
}

static int on_part_content(void *ctx, const char *bytes, size_t n)
{
    struct envd_upload *u = ctx;
    return u->open ? write_file(u, bytes, n) : 0;
}

static int on_part_end(void *ctx)
{
    struct envd_upload *u = ctx;
    return u->open ? end_file(u) : 0;
}

static void fail_upload(struct envd_upload *u, int code)
{
    if (u->e.code == 0)
        (void)err_set(&u->e, -EINVAL, "the body is no multipart/form-data: %s",
                      code == -EMSGSIZE ? "it is over a limit" : "it is broken");
    fail_files(u->r, &u->e);
    free_upload(u);
}

static void on_upload_body(void *ctx, const char *bytes, size_t n)
{
    struct envd_upload *u = ctx;
    int r = u->parts ? multipart_feed(u->parts, bytes, n) : write_file(u, bytes, n);
    if (r < 0)
        fail_upload(u, r);
}

static void on_upload_end(void *ctx)
{
    struct envd_upload *u = ctx;
    int r = u->parts ? multipart_end(u->parts) : end_file(u);
    if (r < 0) {
        fail_upload(u, r);
        return;
    }
    jsonw_end(&u->w);
    http_answer_json(u->r, 200, &u->answer);
    free_upload(u);
}

/* What the body is. */
static int open_body(struct envd_upload *u)
{
    static const struct multipart_events events = {on_part_begin, on_part_content, on_part_end};
    const char *type = http_header(u->r, "Content-Type");
    const char *coding = http_header(u->r, "Content-Encoding");
    if (coding && strcasecmp(coding, "identity") != 0)
        return err_set(&u->e, -EINVAL,
                       "Content-Encoding: %.40s is not taken: send the file as it is", coding);
    if (type && http_type_is(type, "application/octet-stream")) {
        if (!u->named)
            return err_set(&u->e, -EINVAL, "path: a query is needed");
        return begin_upload_file(u, http_query(u->r, "path"));
    }
    if (type && multipart_open(type, &events, u, &u->parts) == 0)
        return 0;
    return err_set(&u->e, -EINVAL,
                   "Content-Type: multipart/form-data or application/octet-stream is needed");
}

void envd_post_file(void *ctx, struct http_request *r)
{
    static const struct http_events events = {
        .body = on_upload_body, .end = on_upload_end, .gone = on_upload_gone};
    struct envd_call call = {0};
    if (!begin_files(ctx, r, "write", &call))
        return;
    struct envd_upload *u = NEW(struct envd_upload);
    *u = (struct envd_upload){.envd = call.envd,
                              .r = r,
                              .named = http_query(r, "path") != NULL,
                              .file = NEWFILE_NONE,
                              .answer = BUF_INIT(ANSWER_MAX)};
    u->w = JSONW(&u->answer);
    jsonw_array(&u->w);
    int code = audit_check(call.envd->e2b->config.audit, &u->e);
    if (code == 0)
        code = open_body(u);
    if (code < 0)
        fail_upload(u, code);
    else
        http_watch(r, &events, u);
}
