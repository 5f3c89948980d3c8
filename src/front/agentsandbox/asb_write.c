/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of clients: forms with a file whose name is its path (/upload), and bodies that are the
 * file (PUT). Each is there whole or not at all; missing folders are made. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "files/newfile.h"
#include "front/agentsandbox/agentsandbox_internal.h"
#include "front/http/http_head.h"
#include "wire/multipart.h"

enum { NEW_MODE = 0666, MODE_BITS = 0777, MODE_DIGITS = 4, OCTAL = 3 };

struct asb_upload {
    struct agentsandbox *owner;
    struct http_request *r;
    struct multipart *parts; /* NULL: the body is the file */
    bool sandboxd;           /* the route has the path */
    int mode;                /* -1: as it is, or as new ones are */
    bool open;               /* a file is being written */
    size_t n;                /* files that are there */
    struct spot place;
    struct newfile file;
    char path[BENEATH_PATH_MAX];
    struct err e;
};

static void free_asb_upload(struct asb_upload *u)
{
    newfile_drop(&u->file);
    spot_close(&u->place);
    u->parts = multipart_close(u->parts);
    xfree(u);
}

static void on_asb_upload_gone(void *ctx)
{
    free_asb_upload(ctx);
}

static int open_asb_file(struct asb_upload *u)
{
    const struct agentsandbox *a = u->owner;
    struct stat st;
    int r = spot_find(&a->top, u->path, SPOT_MAKE_FOLDERS, a->rules, SPOT_WRITE, &u->place);
    if (r < 0)
        return asb_path_error(a, &u->e, r, u->path);
    bool there = spot_stat(&u->place, &st) == 0;
    r = there && S_ISDIR(st.st_mode) ? -EISDIR : spot_new_file(&u->place, NEW_MODE, &u->file);
    int mode = u->mode >= 0                   ? u->mode
               : there && S_ISREG(st.st_mode) ? (int)(st.st_mode & MODE_BITS)
                                              : -1;
    if (r == 0 && mode >= 0 && fchmod(u->file.fd, (mode_t)mode) < 0)
        r = -errno;
    u->open = r == 0;
    return r < 0 ? asb_path_error(a, &u->e, r, u->path) : 0;
}

static int begin_asb_file(struct asb_upload *u, const char *path)
{
    int r = asb_path(path, u->path, &u->e);
    if (r == 0 && u->path[0] == '\0')
        r = err_set(&u->e, -EINVAL, "the name of a file is needed");
    return r == 0 ? open_asb_file(u) : r;
}

static int write_asb_file(struct asb_upload *u, const char *bytes, size_t n)
{
    int r = newfile_write(&u->file, bytes, n);
    return r < 0 ? asb_path_error(u->owner, &u->e, r, u->path) : 0;
}

static int end_asb_file(struct asb_upload *u)
{
    const uint64_t size = u->file.size;
    int r = spot_commit(&u->place, &u->file, NEWFILE_REPLACE, false);
    spot_close(&u->place);
    u->open = false;
    if (r < 0)
        return asb_path_error(u->owner, &u->e, r, u->path);
    asb_tell(u->owner, u->r,
             &(struct audit_event){
                 .kind = AUDIT_FILE_WRITTEN, .path = u->path, .sized = true, .size = size});
    u->n++;
    return 0;
}

static int on_asb_part(void *ctx, const char *name, const char *filename)
{
    struct asb_upload *u = ctx;
    if (strcmp(name, "file") != 0)
        return 0; /* its content is nobody's */
    if (!filename || strstr(filename, "\xC0\x80") || u->n > 0)
        return err_set(&u->e, -EINVAL, "file: one file with a name is needed");
    return begin_asb_file(u, u->sandboxd ? http_param(u->r, "path") : filename);
}

static int on_asb_content(void *ctx, const char *bytes, size_t n)
{
    struct asb_upload *u = ctx;
    return u->open ? write_asb_file(u, bytes, n) : 0;
}

static int on_asb_part_end(void *ctx)
{
    struct asb_upload *u = ctx;
    return u->open ? end_asb_file(u) : 0;
}

static void fail_asb_upload(struct asb_upload *u, int code)
{
    if (u->e.code == 0)
        (void)err_set(&u->e, -EINVAL, "the body is no multipart/form-data: %s",
                      code == -EMSGSIZE ? "it is over a limit" : "it is broken");
    asb_fail(u->r, &u->e);
    free_asb_upload(u);
}

static void on_asb_body(void *ctx, const char *bytes, size_t n)
{
    struct asb_upload *u = ctx;
    int r = u->parts ? multipart_feed(u->parts, bytes, n) : write_asb_file(u, bytes, n);
    if (r < 0)
        fail_asb_upload(u, r);
}

static void on_asb_body_end(void *ctx)
{
    struct asb_upload *u = ctx;
    int r = u->parts ? multipart_end(u->parts) : end_asb_file(u);
    if (r == 0 && u->n == 0)
        r = err_set(&u->e, -EINVAL, "file: a file is needed");
    if (r < 0) {
        fail_asb_upload(u, r);
        return;
    }
    if (u->sandboxd)
        http_answer(u->r, 204, NULL, 0, NULL, 0);
    else
        asb_answer_message(u->r, "File '%.*s' uploaded successfully.", ASB_SHOWN_MAX, u->path);
    free_asb_upload(u);
}

/* --- the request ------------------------------------------------------------------------------ */

/* 0 and three octal digits. */
static int read_mode(const char *text, int *ret, struct err *e)
{
    int mode = 0;
    bool right = !text || (strlen(text) == MODE_DIGITS && text[0] == '0' &&
                           strspn(text, "01234567") == MODE_DIGITS);
    if (!right)
        return err_set(e, -EINVAL, "mode: 0 and three octal digits are needed");
    for (const char *at = text; at && *at; at++)
        mode = (mode << OCTAL) + (*at - '0');
    *ret = text ? mode : -1;
    return 0;
}

static int open_asb_body(struct asb_upload *u)
{
    static const struct multipart_events events = {on_asb_part, on_asb_content, on_asb_part_end};
    const char *type = http_header(u->r, "Content-Type");
    const char *coding = http_header(u->r, "Content-Encoding");
    int r = audit_check(u->owner->config.audit, &u->e);
    if (r == 0 && u->sandboxd)
        r = read_mode(http_query(u->r, "mode"), &u->mode, &u->e);
    if (r < 0)
        return r;
    if (coding && strcasecmp(coding, "identity") != 0)
        return err_set(&u->e, -EINVAL, "Content-Encoding: send the file as it is");
    bool form = type && http_type_is(type, "multipart/form-data");
    if (form && multipart_open(type, &events, u, &u->parts) == 0)
        return 0;
    if (u->sandboxd && !form)
        return begin_asb_file(u, http_param(u->r, "path"));
    return err_set(&u->e, -EINVAL, "Content-Type: multipart/form-data is needed");
}

static void receive_asb(struct agentsandbox *a, struct http_request *r, bool sandboxd)
{
    static const struct http_events events = {
        .body = on_asb_body, .end = on_asb_body_end, .gone = on_asb_upload_gone};
    struct asb_upload *u = NEW(struct asb_upload);
    *u = (struct asb_upload){.owner = a,
                             .r = r,
                             .sandboxd = sandboxd,
                             .mode = -1,
                             .place = SPOT_NONE,
                             .file = NEWFILE_NONE};
    int code = open_asb_body(u);
    if (code < 0)
        fail_asb_upload(u, code);
    else
        http_watch(r, &events, u);
}

void asb_upload(void *ctx, struct http_request *r)
{
    receive_asb(ctx, r, false);
}

void asb_put(void *ctx, struct http_request *r)
{
    receive_asb(ctx, r, true);
}
