/* SPDX-License-Identifier: Apache-2.0
 *
 * POST /files: the body is a file, or has some as parts; it may come in gzip. */
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "front/envd/envd_internal.h"
#include "front/http/http_head.h"
#include "wire/gunzip.h"
#include "wire/multipart.h"

enum { ANSWER_MAX = 1 << 20 };

struct envd_upload {
    struct envd *envd;
    struct http_request *r;
    struct multipart *parts; /* NULL: the body is the file */
    struct gunzip *gzip;     /* NULL: the body is as it is */
    struct json *metadata;   /* of each file; NULL: none */
    bool named;              /* `path` is in the query, else each part has a name */
    bool open;               /* a file is being written */
    struct envd_file file;
    struct envd_path path;
    struct buf answer;
    struct jsonw w;
    char **written; /* their paths; owned */
    size_t n;
    struct err e;
};

static void free_upload(struct envd_upload *u)
{
    envd_file_drop(&u->file);
    u->parts = multipart_close(u->parts);
    u->gzip = gunzip_close(u->gzip);
    (void)json_free(u->metadata);
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

static int begin_upload_file(struct envd_upload *u, const char *path)
{
    struct err *e = &u->e;
    int r = envd_path(u->envd, path, &u->path, e);
    if (r == 0 && u->path.below[0] == '\0')
        r = envd_path_error(u->envd, e, -EISDIR, &u->path);
    for (size_t i = 0; r == 0 && i < u->n; i++)
        if (strcmp(u->written[i], u->path.below) == 0)
            r = err_set(e, -EINVAL, "you cannot upload multiple files to the same path '%.200s'",
                        u->path.shown);
    if (r == 0)
        r = envd_file_open(u->envd, &u->path, &u->file, e);
    u->open = r == 0;
    return r;
}

static int write_file(struct envd_upload *u, const char *bytes, size_t n)
{
    int r = newfile_write(&u->file.file, bytes, n);
    return r < 0 ? envd_path_error(u->envd, &u->e, r, &u->path) : 0;
}

static int end_file(struct envd_upload *u)
{
    const char *slash = strrchr(u->path.below, '/'), *name = slash ? slash + 1 : u->path.below;
    const uint64_t size = u->file.file.size;
    int r = envd_metadata_set(u->file.file.fd, u->metadata, &u->e);
    if (r < 0)
        return r;
    r = envd_file_commit(u->envd, &u->file, &u->path, &u->e);
    u->open = false;
    if (r < 0)
        return r;
    envd_tell(u->envd, u->r,
              &(struct audit_event){
                  .kind = AUDIT_FILE_WRITTEN, .path = u->path.below, .sized = true, .size = size});
    u->written = xrealloc(u->written, (u->n + 1) * sizeof *u->written);
    u->written[u->n++] = xstrdup(u->path.below);
    jsonw_object(&u->w);
    jsonw_set_text(&u->w, "path", u->path.shown);
    jsonw_set_text(&u->w, "name", name);
    jsonw_set_text(&u->w, "type", "file");
    drop_str char *metadata = u->metadata ? json_print(u->metadata) : NULL;
    if (metadata)
        jsonw_set_raw(&u->w, "metadata", metadata);
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
    const char *limit = code == -EMSGSIZE ? "it is over a limit" : "it is broken";
    if (u->e.code == 0 && u->gzip && !gunzip_is_good(u->gzip) && code == -EMSGSIZE)
        (void)err_set(&u->e, -EFBIG, "the body inflates to more than %llu MiB: send it as it is",
                      (unsigned long long)(ENVD_INFLATED_MAX >> 20));
    else if (u->e.code == 0 && u->gzip && !gunzip_is_good(u->gzip))
        (void)err_set(&u->e, -EINVAL, "the body is no gzip: it is broken");
    else if (u->e.code == 0)
        (void)err_set(&u->e, -EINVAL, "the body is no multipart/form-data: %s", limit);
    envd_fail_files(u->r, &u->e);
    free_upload(u);
}

static int take_plain(void *ctx, const char *bytes, size_t n)
{
    struct envd_upload *u = ctx;
    return u->parts ? multipart_feed(u->parts, bytes, n) : write_file(u, bytes, n);
}

static void on_upload_body(void *ctx, const char *bytes, size_t n)
{
    struct envd_upload *u = ctx;
    int r = u->gzip ? gunzip_feed(u->gzip, bytes, n) : take_plain(u, bytes, n);
    if (r < 0)
        fail_upload(u, r);
}

static void on_upload_end(void *ctx)
{
    struct envd_upload *u = ctx;
    int r = u->gzip ? gunzip_end(u->gzip) : 0;
    if (r == 0)
        r = u->parts ? multipart_end(u->parts) : end_file(u);
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
    if (coding && strcasecmp(coding, "gzip") == 0)
        u->gzip = gunzip_open(ENVD_INFLATED_MAX, take_plain, u);
    else if (coding && strcasecmp(coding, "identity") != 0)
        return err_set(&u->e, -EINVAL,
                       "Content-Encoding: %.40s is not taken: gzip is, or the file as it is",
                       coding);
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
    if (!envd_begin_files(ctx, r, "write", &call))
        return;
    struct envd_upload *u = NEW(struct envd_upload);
    *u = (struct envd_upload){.envd = call.envd,
                              .r = r,
                              .named = http_query(r, "path") != NULL,
                              .file = ENVD_FILE_NONE,
                              .answer = BUF_INIT(ANSWER_MAX)};
    u->w = JSONW(&u->answer);
    jsonw_array(&u->w);
    int code = audit_check(call.envd->e2b->config.audit, &u->e);
    if (code == 0)
        code = envd_metadata_of(r, &u->metadata, &u->e);
    if (code == 0)
        code = open_body(u);
    if (code < 0)
        fail_upload(u, code);
    else
        http_watch(r, &events, u);
}
