/* SPDX-License-Identifier: Apache-2.0 */
#include "front/workspace/api_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text/utf8.h"
#include "files/listing.h"
#include "front/api.h"
#include "front/http/http_head.h"
#include "front/workspace/api_files_internal.h"

enum {
    ENTRY_MAX = 16 << 10,
    PAGE_MAX = 8 << 20,
    POST_MAX = 64 << 10,
    SHOWN_MAX = 300, /* of a path in a message */
    RANGE_MAX = 80,
};

/* --- errors ----------------------------------------------------------------------------------- */

static const struct {
    int code, status;
    const char *text;
} problems[] = {
    {ENOENT, 404, "there is nothing with this name"},
    {ENOTDIR, 409, "a part of this path is not a folder"},
    {EISDIR, 409, "a folder is there; delete or move it first"},
    {EEXIST, 409, "something has this name already; ask for overwrite, or take another name"},
    {ENOTEMPTY, 409,
     "the folder is not empty; ask for recursive=true, or try again when something "
     "was made in it meanwhile"},
    {EXDEV, 403, "this leads out of the workspace"},
    {ELOOP, 403, "this leads through too many links"},
    {EACCES, 403,
     "the server's user may not do this; look at the permissions of it and its folder"},
    {EPERM, 403, "the server's user may not do this; look at the permissions of it and its folder"},
    {EROFS, 403, "the file system is read-only"},
    {ENXIO, 409, "this is neither a file nor a folder"},
    {ENAMETOOLONG, 400, "the path, or a name in it, is too long"},
    {EINVAL, 400, "this is not a path: names with / between them, none of them empty, . or .."},
    {ENOSPC, 507, "no space is left; delete something"},
    {EDQUOT, 507, "the quota is used up; delete something"},
    {EFBIG, 507, "the file is larger than files may be here"},
    {EBUSY, 409, "this is in use"},
    {ETXTBSY, 409, "this program is running"},
    {EAGAIN, 503, "somebody holds or moves this; try again"},
    {EMFILE, 503, "too many files are open; try again"},
    {ENFILE, 503, "too many files are open; try again"},
    {ENOMEM, 503, "no memory for this; try again"},
    {EBADMSG, 400, "the archive is broken"},
    {ESTALE, 409, "its folder was moved meanwhile; send it again"},
};

int files_status(int code)
{
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        if (problems[i].code == -code)
            return problems[i].status;
    }
    return 500;
}

void files_problem(const struct api_files *f, struct http_request *r, int code, const char *path)
{
    const char *text = strerror(-code);
    if (code == SPOT_REFUSED) {
        files_refuse(f, r, path);
        return;
    }
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        if (problems[i].code == -code)
            text = problems[i].text;
    }
    http_problem(r, files_status(code), NULL, 0, "%.*s: %s", SHOWN_MAX,
                 path[0] ? path : "the workspace", text);
}

/* --- what a request asks ---------------------------------------------------------------------- */

bool files_path(struct http_request *r, char ret[BENEATH_PATH_MAX])
{
    const char *path = http_param(r, "path");
    if (!path)
        path = http_query(r, "path");
    int code = path ? beneath_clean(path, ret) : 0;
    if (!path)
        ret[0] = '\0';
    if (code < 0)
        files_problem(NULL, r, code, path);
    return code == 0;
}

bool files_flag(struct http_request *r, const char *name, bool *ret)
{
    const char *text = http_query(r, name);
    bool yes = text && strcmp(text, "true") == 0;
    if (text && !yes && strcmp(text, "false") != 0) {
        http_problem(r, 400, NULL, 0, "%s must be true or false", name);
        return false;
    }
    *ret = yes;
    return true;
}

bool files_mode(struct http_request *r, const char *text, mode_t *ret)
{
    if (!text)
        return true;
    size_t n = strlen(text);
    mode_t mode = 0;
    for (size_t i = 0; i < n; i++)
        mode = mode << 3 | (mode_t)(text[i] - '0');
    if (n == 0 || n > 4 || strspn(text, "01234567") != n || mode > 0777) {
        http_problem(r, 400, NULL, 0,
                     "mode must be octal permissions from 0 to 0777, such as 0644");
        return false;
    }
    *ret = mode;
    return true;
}

/* --- what is told of a file ------------------------------------------------------------------- */

void files_etag(const struct stat *st, char ret[FILES_ETAG_MAX])
{
    int64_t time = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
    (void)snprintf(ret, FILES_ETAG_MAX, "\"%llx-%llx-%llx\"", (unsigned long long)st->st_ino,
                   (unsigned long long)time, (unsigned long long)st->st_size);
}

static bool has_etag(const char *list, const struct stat *st, bool weak)
{
    char etag[FILES_ETAG_MAX + 2] = "W/";
    files_etag(st, etag + 2);
    return strcmp(list, "*") == 0 || http_list_has(list, etag + 2, true) ||
           (weak && http_list_has(list, etag, true));
}

bool files_may_change(const struct api_files *f, struct http_request *r, const char *path)
{
    const char *match = http_header(r, "If-Match"), *none = http_header(r, "If-None-Match");
    struct stat st;
    if (!match && !none)
        return true;
    drop_fd int fd = spot_open(&f->top, path, O_PATH, BENEATH_FOLLOW, files_rules(f, r), &st);
    bool there = fd >= 0;
    if (match && !(there && has_etag(match, &st, false)))
        http_problem(r, 412, NULL, 0, "%.*s: it is not what If-Match says; read it again",
                     SHOWN_MAX, path);
    else if (none && there && has_etag(none, &st, true))
        http_problem(r, 412, NULL, 0, "%.*s: it is there, against If-None-Match", SHOWN_MAX, path);
    else
        return true;
    return false;
}

static const char *type_name(mode_t mode)
{
    return S_ISREG(mode) ? "file" : S_ISDIR(mode) ? "folder" : S_ISLNK(mode) ? "link" : "other";
}

/* A name that JSON cannot hold is told once more, escaped. No request can name it. */
static void put_raw_name(struct jsonw *w, const char *name)
{
    drop_buf struct buf raw = BUF_INIT((size_t)3 * BENEATH_PATH_MAX);
    if (utf8_valid(name, strlen(name)))
        return;
    for (; *name; name++) {
        bool plain = strchr("-._~/", *name) || (*name >= '0' && *name <= '9') ||
                     ((*name | 32) >= 'a' && (*name | 32) <= 'z');
        (void)buf_addf(&raw, plain ? "%c" : "%%%02X", (unsigned char)*name);
    }
    jsonw_set_text(w, "encoded", buf_text(&raw));
}

void files_put_entry(struct jsonw *w, const char *shown, const struct stat *st, int folder,
                     const char *name)
{
    char text[BENEATH_PATH_MAX];
    jsonw_object(w);
    jsonw_set_text(w, "name", shown);
    put_raw_name(w, shown);
    jsonw_set_text(w, "type", type_name(st->st_mode));
    jsonw_set_int(w, "size", S_ISREG(st->st_mode) ? st->st_size : 0);
    jsonw_set_time(w, "mtime", clock_real_ms_of(&st->st_mtim));
    (void)snprintf(text, sizeof text, "%04o", (unsigned)(st->st_mode & 07777));
    jsonw_set_text(w, "mode", text);
    if (S_ISREG(st->st_mode)) {
        files_etag(st, text);
        jsonw_set_text(w, "etag", text);
    }
    bool link = S_ISLNK(st->st_mode) && name;
    ssize_t n = link ? spot_link_text(folder, name, text, sizeof text) : -1;
    if (n >= 0) {
        jsonw_name(w, "target");
        jsonw_text_n(w, text, (size_t)n);
    }
    jsonw_end(w);
}

void files_answer_entry(struct http_request *r, int status, const char *path, const struct stat *st)
{
    drop_buf struct buf body = BUF_INIT(ENTRY_MAX);
    struct jsonw w = JSONW(&body);
    char etag[FILES_ETAG_MAX];
    files_put_entry(&w, path, st, -1, NULL);
    files_etag(st, etag);
    const struct http_header headers[] = {{"Content-Type", "application/json"}, {"ETag", etag}};
    http_answer(r, status, headers, S_ISREG(st->st_mode) ? 2 : 1, buf_text(&body), body.len);
}

/* --- a folder's page -------------------------------------------------------------------------- */

struct page {
    struct api_files *f;
    struct http_request *r;
    struct listing *listing;
    struct loop_defer next;
    char path[BENEATH_PATH_MAX];
};

static void free_page(struct page *p)
{
    loop_defer_stop(p->f->loop, &p->next);
    p->listing = listing_close(p->listing);
    xfree(p);
}

static void answer_page(struct page *p)
{
    drop_buf struct buf body = BUF_INIT(PAGE_MAX);
    struct jsonw w = JSONW(&body);
    int folder = listing_folder(p->listing);
    size_t n = listing_count(p->listing);
    struct stat st;
    jsonw_object(&w);
    jsonw_set_text(&w, "path", p->path);
    jsonw_set_array(&w, "entries");
    for (size_t i = 0; i < n; i++) {
        const char *name = listing_name(p->listing, i);
        if (spot_stat_at(folder, name, &st) == 0)
            files_put_entry(&w, name, &st, folder, name);
    }
    jsonw_end(&w);
    if (listing_has_more(p->listing) && n > 0)
        jsonw_set_text(&w, "next", listing_name(p->listing, n - 1));
    jsonw_end(&w);
    http_answer_json(p->r, 200, &body);
}

static void go_on_with_page(void *ctx)
{
    struct page *p = ctx;
    int done = listing_step(p->listing);
    if (done == 0) {
        loop_defer(p->f->loop, &p->next, go_on_with_page, p);
        return;
    }
    if (done < 0)
        files_problem(p->f, p->r, done, p->path);
    else
        answer_page(p);
    free_page(p);
}

static void on_page_gone(void *ctx)
{
    free_page(ctx);
}

static void list_folder(struct api_files *f, struct http_request *r, int *folder, const char *path)
{
    static const struct http_events events = {.gone = on_page_gone};
    struct listing *listing;
    size_t limit = LISTING_PAGE_MAX;
    if (!api_limit(r, LISTING_PAGE_MAX, &limit))
        return;
    int code = listing_open(fd_take(folder), http_query(r, "after"), limit, &listing);
    if (code < 0) {
        files_problem(f, r, code, path);
        return;
    }
    struct page *p = NEW(struct page);
    *p = (struct page){.f = f, .r = r, .listing = listing};
    (void)snprintf(p->path, sizeof p->path, "%s", path);
    http_watch(r, &events, p);
    loop_defer(f->loop, &p->next, go_on_with_page, p);
}

/* --- a file ----------------------------------------------------------------------------------- */

static const char *content_type(const char *path)
{
    static const struct {
        const char *ending, *type;
    } types[] = {
        {"txt", "text/plain; charset=utf-8"},
        {"log", "text/plain; charset=utf-8"},
        {"md", "text/markdown; charset=utf-8"},
        {"py", "text/x-python; charset=utf-8"},
        {"csv", "text/csv; charset=utf-8"},
        {"html", "text/html; charset=utf-8"},
        {"css", "text/css; charset=utf-8"},
        {"js", "text/javascript; charset=utf-8"},
        {"json", "application/json"},
        {"ipynb", "application/x-ipynb+json"},
        {"xml", "application/xml"},
        {"pdf", "application/pdf"},
        {"png", "image/png"},
        {"jpg", "image/jpeg"},
        {"jpeg", "image/jpeg"},
        {"gif", "image/gif"},
        {"webp", "image/webp"},
        {"svg", "image/svg+xml"},
        {"mp4", "video/mp4"},
        {"zip", "application/zip"},
        {"gz", "application/gzip"},
        {"tar", "application/x-tar"},
    };
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *point = strrchr(name, '.');
    for (size_t i = 0; point && i < sizeof types / sizeof *types; i++) {
        if (strcasecmp(point + 1, types[i].ending) == 0)
            return types[i].type;
    }
    return "application/octet-stream";
}

/* Digits at *at; false: none, or far too many. */
static bool take_number(const char **at, uint64_t *ret)
{
    size_t n = strspn(*at, "0123456789");
    if (n == 0 || n > 18)
        return false;
    *ret = 0;
    for (size_t i = 0; i < n; i++)
        *ret = *ret * 10 + (uint64_t)((*at)[i] - '0');
    *at += n;
    return true;
}

enum range { RANGE_ALL, RANGE_PART, RANGE_NONE };

/* RFC 9110 section 14: what is not understood, and more than one range, is no range at all. */
static enum range find_range(const char *header, uint64_t size, uint64_t *ret_first,
                             uint64_t *ret_n)
{
    uint64_t first = 0, last = 0;
    if (!header || strncasecmp(header, "bytes=", 6) != 0)
        return RANGE_ALL;
    const char *at = header + 6;
    if (*at == '-') {
        at++;
        if (!take_number(&at, &last) || *at)
            return RANGE_ALL;
        first = last < size ? size - last : 0;
        *ret_first = first;
        *ret_n = size - first;
        return last > 0 && size > 0 ? RANGE_PART : RANGE_NONE;
    }
    if (!take_number(&at, &first) || *at++ != '-')
        return RANGE_ALL;
    if (*at == '\0')
        last = UINT64_MAX;
    else if (!take_number(&at, &last) || *at || last < first)
        return RANGE_ALL;
    if (first >= size)
        return RANGE_NONE;
    *ret_first = first;
    *ret_n = (last < size ? last + 1 : size) - first;
    return RANGE_PART;
}

static bool wants_range(const struct http_request *r, const struct stat *st)
{
    const char *if_range = http_header(r, "If-Range");
    return strcmp(http_method(r), "GET") == 0 && (!if_range || has_etag(if_range, st, false));
}

void api_files_send(struct http_request *r, int fd, const struct stat *st, const char *path)
{
    char etag[FILES_ETAG_MAX], content_range[RANGE_MAX];
    uint64_t first = 0, size = (uint64_t)st->st_size, n = size;
    const char *none = http_header(r, "If-None-Match");
    enum range range =
        wants_range(r, st) ? find_range(http_header(r, "Range"), size, &first, &n) : RANGE_ALL;
    files_etag(st, etag);
    (void)snprintf(content_range, sizeof content_range, "bytes %llu-%llu/%llu",
                   (unsigned long long)first, (unsigned long long)(first + n - 1),
                   (unsigned long long)size);
    if (range == RANGE_NONE)
        (void)snprintf(content_range, sizeof content_range, "bytes */%llu",
                       (unsigned long long)size);
    const struct http_header headers[] = {
        {"ETag", etag},
        {"Accept-Ranges", "bytes"},
        {"Content-Type", content_type(path)},
        {"X-Content-Type-Options", "nosniff"},
        {"Content-Security-Policy", "sandbox"},
        {"Cache-Control", "no-cache"},
        {"Content-Range", content_range},
    };
    if (none && has_etag(none, st, true))
        http_answer(r, 304, headers, 1, "", 0);
    else if (range == RANGE_NONE)
        http_problem(r, 416, &headers[6], 1, "%.*s: it has %llu bytes", SHOWN_MAX, path,
                     (unsigned long long)size);
    else
        http_answer_file(r, range == RANGE_PART ? 206 : 200, headers, range == RANGE_PART ? 7 : 6,
                         fd_take(&fd), first, n);
    (void)fd_close(fd);
}

static void get_file(void *ctx, struct http_request *r)
{
    struct api_files *f = ((struct api *)ctx)->files;
    char path[BENEATH_PATH_MAX];
    struct stat st;
    bool as_list;
    if (!files_path(r, path) || !files_flag(r, "list", &as_list))
        return;
    drop_fd int fd = spot_open(&f->top, path, O_RDONLY, BENEATH_FOLLOW, files_rules(f, r), &st);
    if (fd < 0)
        files_problem(f, r, fd == -ENOTDIR ? -ENOENT : fd, path);
    else if (S_ISDIR(st.st_mode))
        list_folder(f, r, &fd, path);
    else if (as_list)
        http_problem(r, 409, NULL, 0, "%.*s: this is a file; leave list out to read it", SHOWN_MAX,
                     path);
    else
        api_files_send(r, fd_take(&fd), &st, path);
}

/* --- the table -------------------------------------------------------------------------------- */

#define BODY HTTP_RECEIVE, API_FILES_BODY_MAX, NULL, API_EXECUTE
#define NONE HTTP_NO_BODY, 0, NULL, API_EXECUTE
#define JSON HTTP_COLLECT, POST_MAX, "application/json", API_EXECUTE

static const struct http_route routes[] = {
    {"GET", "/v1/files", NONE, get_file},
    {"GET", "/v1/files/{path*}", NONE, get_file},
    {"PUT", "/v1/files", BODY, files_put},
    {"PUT", "/v1/files/{path*}", BODY, files_put},
    {"DELETE", "/v1/files", NONE, files_delete},
    {"DELETE", "/v1/files/{path*}", NONE, files_delete},
    {"POST", "/v1/files", JSON, files_post},
    {"POST", "/v1/files/{path*}", JSON, files_post},
    {"GET", "/v1/tar", NONE, files_tar_out},
    {"GET", "/v1/tar/{path*}", NONE, files_tar_out},
    {"PUT", "/v1/tar", BODY, files_tar_in},
    {"PUT", "/v1/tar/{path*}", BODY, files_tar_in},
    {"GET", "/v1/watch", NONE, files_watch},
    {"GET", "/v1/watch/{path*}", NONE, files_watch},
};
void api_files_tell(struct api_files *f, struct audit *audit)
{
    f->audit = audit;
}

bool files_audited(const struct api_files *f, struct http_request *r)
{
    struct err e = ERR_NONE;
    if (audit_check(f->audit, &e) == 0)
        return true;
    http_problem(r, 503, NULL, 0, "%s", e.msg);
    return false;
}

void files_tell(const struct api_files *f, const struct http_request *r,
                const struct audit_event *event)
{
    struct audit_event told = *event;
    told.request_id = http_id(r);
    (void)audit_add(f->audit, &told);
}

struct api_files *api_files_open(struct loop *loop, const char *workspace, struct err *e)
{
    struct beneath top;
    if (beneath_open(workspace, &top, e) < 0)
        return NULL;
    struct api_files *f = NEW(struct api_files);
    *f = (struct api_files){.loop = loop, .top = top};
    return f;
}

struct api_files *api_files_close(struct api_files *f)
{
    if (!f)
        return NULL;
    beneath_close(&f->top);
    xfree(f);
    return NULL;
}

static int open_files_group(struct api *api, struct err *e)
{
    api->files = api_files_open(api->loop, api->workspace, e);
    if (!api->files)
        return -EIO;
    api_files_tell(api->files, api->config->audit);
    api_files_judge(api->files, api->judge, api);
    return 0;
}

static void close_files_group(struct api *api)
{
    api->files = api_files_close(api->files);
}

static void drain_files_group(struct api *api)
{
    api_files_drain(api->files);
}

const struct api_group api_files_group = {.routes = routes,
                                          .n = sizeof routes / sizeof *routes,
                                          .open = open_files_group,
                                          .close = close_files_group,
                                          .drain = drain_files_group};
