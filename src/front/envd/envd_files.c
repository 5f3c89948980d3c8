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
        fd = beneath_at(&call.envd->top, path.below, O_RDONLY, BENEATH_FOLLOW);
        code = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : S_ISDIR(st.st_mode) ? -EISDIR : 0;
        if (code < 0)
            code = envd_path_error(&e, code == -ENOTDIR ? -ENOENT : code, &path);
    }
    if (code == 0)
        code = envd_may_read(call.envd, fd, &path, &e);
    if (code < 0)
        envd_fail_files(r, &e);
    else
        api_files_send(r, fd_take(&fd), &st, path.shown);
}

int envd_open_new(const struct envd *d, const struct envd_path *path, struct newfile *ret,
                  struct err *e)
{
    const char *name;
    struct stat st;
    drop_fd int dir = beneath_parent(&d->top, path->below, true, BENEATH_FOLLOW, &name);
    if (dir < 0)
        return envd_path_error(e, dir, path);
    bool there = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    int r = there && S_ISDIR(st.st_mode) ? -EISDIR : newfile_open(dir, FILE_MODE, false, ret);
    if (r == 0 && there && S_ISREG(st.st_mode) && fchmod(ret->fd, st.st_mode & 0777) < 0)
        r = -errno;
    return r < 0 ? envd_path_error(e, r, path) : 0;
}
