/* SPDX-License-Identifier: Apache-2.0
 *
 * A file is read, or only looked for. */
#include <fcntl.h>

#include "base/alloc.h"
#include "front/agentsandbox/agentsandbox_internal.h"
#include "front/workspace/api_files.h"

enum { EXISTS_MAX = 32 << 10 };

static int asb_open_of(struct agentsandbox *a, struct http_request *r, char path[BENEATH_PATH_MAX],
                       int *ret_fd, struct stat *ret_st, struct err *e)
{
    int code = asb_path_of(r, path, e);
    return code < 0 ? code : asb_open_path(a, path, O_RDONLY, ret_fd, ret_st, e);
}

void asb_download(void *ctx, struct http_request *r)
{
    char path[BENEATH_PATH_MAX];
    drop_fd int fd = -1;
    struct stat st;
    struct err e = ERR_NONE;
    int code = asb_open_of(ctx, r, path, &fd, &st, &e);
    if (code == 0 && S_ISDIR(st.st_mode))
        code = err_set(&e, -ENOENT, "File not found: '%.*s' is a folder", ASB_SHOWN_MAX, path);
    if (code < 0)
        asb_fail(r, &e);
    else
        api_files_send(r, fd_take(&fd), &st, path);
}

void asb_list(void *ctx, struct http_request *r)
{
    char path[BENEATH_PATH_MAX];
    drop_fd int fd = -1;
    struct stat st;
    struct err e = ERR_NONE;
    int code = asb_open_of(ctx, r, path, &fd, &st, &e);
    if (code == 0 && !S_ISDIR(st.st_mode))
        code = err_set(&e, -ENOENT, "Path is not a directory: '%.*s'", ASB_SHOWN_MAX, path);
    if (code < 0)
        asb_fail(r, &e);
    else
        asb_list_folder(ctx, r, fd_take(&fd), path);
}

void asb_get(void *ctx, struct http_request *r)
{
    char path[BENEATH_PATH_MAX];
    drop_fd int fd = -1;
    struct stat st;
    struct err e = ERR_NONE;
    if (asb_open_of(ctx, r, path, &fd, &st, &e) < 0)
        asb_fail(r, &e);
    else if (S_ISDIR(st.st_mode))
        asb_list_folder(ctx, r, fd_take(&fd), path);
    else
        api_files_send(r, fd_take(&fd), &st, path);
}

void asb_exists(void *ctx, struct http_request *r)
{
    char path[BENEATH_PATH_MAX];
    drop_fd int fd = -1;
    struct stat st;
    struct err e = ERR_NONE;
    drop_buf struct buf body = BUF_INIT(EXISTS_MAX);
    struct jsonw w = JSONW(&body);
    int code = asb_path_of(r, path, &e);
    if (code == 0)
        code = asb_open_path(ctx, path, O_PATH, &fd, &st, &e);
    if (code < 0 && code != -ENOENT) {
        asb_fail(r, &e);
        return;
    }
    jsonw_object(&w);
    jsonw_set_text(&w, "path", http_param(r, "path"));
    jsonw_set_bool(&w, "exists", code == 0);
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}
