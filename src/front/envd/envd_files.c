/* SPDX-License-Identifier: Apache-2.0
 *
 * /files: who may, and a file is read. The caller brings a token of the sandbox or a signed URL.
 * Errors are REST's here: {"code", "message"}. */
#include <fcntl.h>

#include "base/alloc.h"
#include "front/envd/envd_internal.h"
#include "front/workspace/api_files.h"

enum { FILE_MODE = 0666 };

void envd_fail_files(struct http_request *r, const struct err *e)
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

bool envd_begin_files(void *ctx, struct http_request *r, const char *operation,
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
    if (code == -ENOENT || (s && !e2b_sandbox_awake(s))) {
        const char *id = http_header(r, "E2b-Sandbox-Id");
        e2b_fail_absent(r, s ? s->id : id ? id : "");
        return false;
    }
    if (code == 0)
        code = envd_check_user(http_query(r, "username"), &e);
    if (code < 0)
        envd_fail_files(r, &e);
    return code == 0;
}

void envd_get_file(void *ctx, struct http_request *r)
{
    struct envd_call call = {0};
    struct envd_path path;
    struct err e = ERR_NONE;
    struct stat st;
    if (!envd_begin_files(ctx, r, "read", &call))
        return;
    int code = envd_path(call.envd, http_query(r, "path"), &path, &e);
    drop_fd int fd = -1;
    if (code == 0) {
        const struct envd *d = call.envd;
        fd = spot_open(&d->top, path.below, O_RDONLY, BENEATH_FOLLOW, d->rules, &st);
        code = fd < 0 ? fd : S_ISDIR(st.st_mode) ? -EISDIR : 0;
        if (code < 0)
            code = envd_path_error(d, &e, code == -ENOTDIR ? -ENOENT : code, &path);
    }
    if (code < 0)
        envd_fail_files(r, &e);
    else
        api_files_send(r, fd_take(&fd), &st, path.shown);
}

void envd_file_drop(struct envd_file *f)
{
    newfile_drop(&f->file);
    spot_close(&f->place);
}

int envd_file_open(const struct envd *d, const struct envd_path *path, struct envd_file *ret,
                   struct err *e)
{
    struct stat st;
    int r = envd_place(d, path, true, SPOT_WRITE, &ret->place, e);
    if (r < 0)
        return r;
    bool there = spot_stat(&ret->place, &st) == 0;
    r = there && S_ISDIR(st.st_mode) ? -EISDIR : spot_new_file(&ret->place, FILE_MODE, &ret->file);
    if (r == 0 && there && S_ISREG(st.st_mode) && fchmod(ret->file.fd, st.st_mode & 0777) < 0)
        r = -errno;
    return r < 0 ? envd_path_error(d, e, r, path) : 0;
}

int envd_file_commit(const struct envd *d, struct envd_file *f, const struct envd_path *path,
                     struct err *e)
{
    int r = spot_commit(&f->place, &f->file, NEWFILE_REPLACE, false);
    spot_close(&f->place);
    return r < 0 ? envd_path_error(d, e, r, path) : 0;
}
