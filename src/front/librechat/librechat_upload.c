/* SPDX-License-Identifier: Apache-2.0
 *
 * /upload and /upload/batch: files of a form become those of a new session. */
#include <string.h>

#include "base/alloc.h"
#include "base/random.h"
#include "files/newfile.h"
#include "front/librechat/librechat_internal.h"
#include "wire/multipart.h"

enum { FILE_MODE = 0666, FIELD_MAX = 1000 };

struct librechat_upload {
    struct librechat *owner;
    struct http_request *r;
    struct multipart *parts;
    char session[2 * LIBRECHAT_ID_BYTES + 1], space[LIBRECHAT_SPACE_MAX + 1];
    struct buf kind, id, version; /* fields of the form */
    struct buf *field;            /* the one that is being read; NULL: none */
    struct beneath folder;        /* NONE before the first file */
    bool open;                    /* a file is being written */
    struct spot place;
    struct newfile file;
    char name[BENEATH_PATH_MAX]; /* its own */
    struct buf files;            /* of the answer */
    struct jsonw w;
    size_t n;
    struct err e;
};

static void free_librechat_upload(struct librechat_upload *u)
{
    newfile_drop(&u->file);
    spot_close(&u->place);
    u->parts = multipart_close(u->parts);
    beneath_close(&u->folder);
    buf_done(&u->files);
    buf_done(&u->kind);
    buf_done(&u->id);
    buf_done(&u->version);
    xfree(u);
}

static void on_librechat_upload_gone(void *ctx)
{
    free_librechat_upload(ctx);
}

static int fail_upload_file(struct librechat_upload *u, int code)
{
    if (code == SPOT_REFUSED && !u->e.code)
        return librechat_refuse(u->owner, u->name, &u->e);
    return u->e.code ? u->e.code : err_set(&u->e, code, "%.200s: %s", u->name, strerror(-code));
}

/* Whose the session is stands in the fields before the first file. */
static int open_upload_folder(struct librechat_upload *u)
{
    const struct librechat_owner owner = {.kind = u->kind.len ? u->kind.data : NULL,
                                          .id = buf_text(&u->id),
                                          .version = buf_text(&u->version)};
    librechat_space_of(u->r, &owner, u->space);
    return librechat_folder(u->owner, u->space, u->session, true, &u->folder, &u->e);
}

static int open_upload_file(struct librechat_upload *u)
{
    int r = u->folder.root >= 0 ? 0 : open_upload_folder(u);
    if (r < 0)
        return r;
    spot_close(&u->place);
    r = spot_find(&u->folder, u->name, SPOT_MAKE_FOLDERS | SPOT_NO_LINKS, u->owner->rules,
                  SPOT_WRITE, &u->place);
    if (r == 0)
        r = spot_new_file(&u->place, FILE_MODE, &u->file);
    u->open = r == 0;
    return r < 0 ? fail_upload_file(u, r) : 0;
}

/* What else a form has is the client's own. */
static int begin_upload_field(struct librechat_upload *u, const char *name)
{
    u->field = strcmp(name, "kind") == 0      ? &u->kind
               : strcmp(name, "id") == 0      ? &u->id
               : strcmp(name, "version") == 0 ? &u->version
                                              : NULL;
    if (u->field && (u->field->len > 0 || u->folder.root >= 0))
        return err_set(&u->e, -EINVAL, "%s: it is needed once, before the files", name);
    return 0;
}

static int on_upload_part(void *ctx, const char *name, const char *filename)
{
    struct librechat_upload *u = ctx;
    if (!filename)
        return begin_upload_field(u, name);
    if (strcmp(name, "file") != 0 && strcmp(name, "files") != 0)
        return err_set(&u->e, -EINVAL, "the file's field is `file`, not %.60s", name);
    if (u->n == LIBRECHAT_INPUTS_MAX)
        return err_set(&u->e, -EINVAL, "at most %d files are taken at once", LIBRECHAT_INPUTS_MAX);
    if (!*filename || beneath_clean(filename, u->name) < 0 || strstr(filename, "\xC0\x80"))
        return err_set(&u->e, -EINVAL,
                       "the file's name %.200s: a name is needed, or a path below "
                       "the session's folder",
                       filename);
    return open_upload_file(u);
}

static int on_upload_content(void *ctx, const char *bytes, size_t n)
{
    struct librechat_upload *u = ctx;
    if (u->field && buf_add(u->field, bytes, n) < 0)
        return err_set(&u->e, -EINVAL, "kind, id and version: %d bytes at most", FIELD_MAX);
    int r = u->open ? newfile_write(&u->file, bytes, n) : 0;
    return r < 0 ? fail_upload_file(u, r) : 0;
}

static int on_upload_part_end(void *ctx)
{
    struct librechat_upload *u = ctx;
    char id[LIBRECHAT_FILE_ID + 1];
    u->field = NULL;
    if (!u->open)
        return 0;
    u->open = false;
    const uint64_t size = u->file.size;
    int r = spot_commit(&u->place, &u->file, NEWFILE_REPLACE, false);
    if (r < 0)
        return fail_upload_file(u, r);
    drop_str char *path = xasprintf(LIBRECHAT_FOLDER "/%s%s/%s", u->space, u->session, u->name);
    (void)audit_add(u->owner->config.audit, &(struct audit_event){.kind = AUDIT_FILE_WRITTEN,
                                                                  .path = path,
                                                                  .sized = true,
                                                                  .size = size,
                                                                  .request_id = http_id(u->r)});
    librechat_file_id(u->name, id);
    jsonw_object(&u->w);
    jsonw_set_text(&u->w, "fileId", id);
    jsonw_set_text(&u->w, "filename", u->name);
    jsonw_set_text(&u->w, "status", "success");
    jsonw_end(&u->w);
    u->n++;
    return 0;
}

static void end_upload_badly(struct librechat_upload *u, int code)
{
    if (u->e.code == 0)
        (void)err_set(&u->e, -EINVAL, "the body is no multipart/form-data: %s",
                      code == -EMSGSIZE ? "it is over a limit" : "it is broken");
    librechat_fail_err(u->r, &u->e);
    free_librechat_upload(u);
}

static void on_librechat_upload_body(void *ctx, const char *bytes, size_t n)
{
    struct librechat_upload *u = ctx;
    int r = multipart_feed(u->parts, bytes, n);
    if (r < 0)
        end_upload_badly(u, r);
}

static void on_librechat_upload_end(void *ctx)
{
    struct librechat_upload *u = ctx;
    drop_buf struct buf body = BUF_INIT(LIBRECHAT_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    int r = multipart_end(u->parts);
    if (r == 0 && u->n == 0)
        r = err_set(&u->e, -EINVAL, "file: a file is needed");
    if (r < 0) {
        end_upload_badly(u, r);
        return;
    }
    jsonw_end(&u->w);
    jsonw_object(&w);
    jsonw_set_text(&w, "message", "success");
    jsonw_set_text(&w, "storage_session_id", u->session);
    jsonw_set_raw(&w, "files", buf_text(&u->files));
    jsonw_set_int(&w, "succeeded", (int64_t)u->n);
    jsonw_set_int(&w, "failed", 0);
    jsonw_end(&w);
    http_answer_json(u->r, 200, &body);
    free_librechat_upload(u);
}

void librechat_post_upload(void *ctx, struct http_request *r)
{
    static const struct multipart_events parts = {on_upload_part, on_upload_content,
                                                  on_upload_part_end};
    static const struct http_events events = {.body = on_librechat_upload_body,
                                              .end = on_librechat_upload_end,
                                              .gone = on_librechat_upload_gone};
    struct librechat *l = ctx;
    const char *type = http_header(r, "Content-Type");
    struct librechat_upload *u = NEW(struct librechat_upload);
    *u = (struct librechat_upload){.owner = l,
                                   .r = r,
                                   .folder = BENEATH_NONE,
                                   .place = SPOT_NONE,
                                   .file = NEWFILE_NONE,
                                   .kind = BUF_INIT(FIELD_MAX),
                                   .id = BUF_INIT(FIELD_MAX),
                                   .version = BUF_INIT(FIELD_MAX),
                                   .files = BUF_INIT(LIBRECHAT_ANSWER_MAX)};
    u->w = JSONW(&u->files);
    jsonw_array(&u->w);
    random_hex(u->session, LIBRECHAT_ID_BYTES);
    int code = audit_check(l->config.audit, &u->e);
    if (code == 0 && (!type || multipart_open(type, &parts, u, &u->parts) < 0))
        code = err_set(&u->e, -EINVAL, "Content-Type: multipart/form-data is needed");
    if (code < 0)
        end_upload_badly(u, code);
    else
        http_watch(r, &events, u);
}
