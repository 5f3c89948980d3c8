/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/audit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit_chain.h"
#include "audit/audit_flood.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/json/jsonw.h"
#include "base/service.h"
#include "base/text/visible.h"

enum {
    OUTSIDE_PIECE = 1800,   /* bytes of a record in a line of the log */
    AUDIT_SEAL_BYTES = 160, /* what audit_seal() adds */
};

struct audit {
    struct audit_config config;
    char *path; /* resolved, but for its last part */
    int fd;
    bool is_service; /* it is the service uid's, and so may its folder be */
    dev_t dev;
    ino_t ino;
    uint64_t size; /* of the file as it was written here */
    struct audit_link link;
    struct buf waiting;
    uint64_t dropped; /* records that there was no room for; the next one says so */
    int failed;       /* errno of the last try, 0: all is written */
    bool damaged;     /* it is not the file that was written here */
    uint64_t room;    /* the file has blocks up to here; 0: none were given */
    bool roomless;    /* and that was said */
    struct audit_flood *flood;
    struct audit_numbers numbers;
    struct loop_timer timer; /* of what was left out */
};

static const char *const kinds[AUDIT__COUNT] = {
    [AUDIT_START] = "start",
    [AUDIT_STOP] = "stop",
    [AUDIT_CELL] = "cell",
    [AUDIT_CELL_END] = "cell_end",
    [AUDIT_COMMAND] = "command",
    [AUDIT_COMMAND_END] = "command_end",
    [AUDIT_TOOL_CALL] = "tool_call",
    [AUDIT_APPROVAL] = "approval",
    [AUDIT_LOGIN] = "login",
    [AUDIT_LOGIN_REFUSED] = "login_refused",
    [AUDIT_SERVER_REGISTERED] = "server_registered",
    [AUDIT_SERVER_REMOVED] = "server_removed",
    [AUDIT_PACKAGE_INSTALL] = "package_install",
    [AUDIT_PACKAGE_INSTALLED] = "package_installed",
    [AUDIT_FILE_WRITTEN] = "file_written",
    [AUDIT_FILE_DELETED] = "file_deleted",
    [AUDIT_FILE_MOVED] = "file_moved",
    [AUDIT_FOLDER_MADE] = "folder_made",
    [AUDIT_ARCHIVE_UNPACKED] = "archive_unpacked",
    [AUDIT_SESSION_CREATED] = "session_created",
    [AUDIT_SESSION_ENDED] = "session_ended",
    [AUDIT_SESSION_PAUSED] = "session_paused",
    [AUDIT_SESSION_RESUMED] = "session_resumed",
    [AUDIT_SANDBOX_CHANGED] = "sandbox_changed",
    [AUDIT_LEFT_OUT] = "left_out",
};

const char *const audit_state_names[AUDIT_STATES] = {[AUDIT_OFF] = "off",
                                                     [AUDIT_WRITTEN] = "written",
                                                     [AUDIT_OUTSIDE] = "outside",
                                                     [AUDIT_REFUSES] = "refuses"};

static void say_audit_state(const struct audit *a, enum log_level level, const char *text)
{
    drop_str char *line = xasprintf("the audit log %s: %s", a->path, text);
    a->config.log(level, line);
}

static void say_hash(const struct audit *a)
{
    drop_str char *text =
        xasprintf("record %llu has the hash %s", (unsigned long long)a->link.seq, a->link.hash);
    say_audit_state(a, LOG_INFO, text);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Code in cells can bring that about, so it stops nobody. */
static bool is_room_missing(const struct audit *a)
{
    return a->failed == ENOSPC || a->failed == EDQUOT;
}

static void note_failure(struct audit *a, int why)
{
    bool is_new = a->failed != why;
    a->failed = why;
    if (!is_new)
        return;
    drop_str char *text =
        xasprintf("it cannot be written: %s. %s", strerror(why),
                  is_room_missing(a) ? "Its records follow here, until it can be"
                                     : "No cell and no tool call is begun until it can be");
    say_audit_state(a, LOG_ERROR, text);
}

/* Blocks behind its end, which nobody else gets then. */
static void keep_room(struct audit *a)
{
    if (a->roomless || a->size + AUDIT_ROOM / 2 <= a->room)
        return;
    if (fallocate(a->fd, FALLOC_FL_KEEP_SIZE, (off_t)a->size, (off_t)AUDIT_ROOM) == 0) {
        a->room = a->size + AUDIT_ROOM;
        return;
    }
    bool full = errno == ENOSPC || errno == EDQUOT; /* later there may be room again */
    a->roomless = !full;
    if (a->roomless)
        say_audit_state(a, LOG_INFO,
                        "its file system keeps no room for it: when that is full, its records "
                        "are in this log");
}

/* A record in pieces that fit in a line of the log. */
static void notify_outside(struct audit *a, const struct buf *line)
{
    size_t n = line->len > 0 && line->data[line->len - 1] == '\n' ? line->len - 1 : line->len;
    for (size_t at = 0; at < n; at += OUTSIDE_PIECE) {
        size_t piece = n - at < OUTSIDE_PIECE ? n - at : OUTSIDE_PIECE;
        drop_str char *text =
            xasprintf("record%s: %.*s", at > 0 ? ", continued" : "", (int)piece, line->data + at);
        say_audit_state(a, LOG_ERROR, text);
    }
    a->numbers.outside++;
}

static void flush_audit(struct audit *a)
{
    while (a->waiting.len > 0) {
        ssize_t n = write(a->fd, a->waiting.data, a->waiting.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            note_failure(a, n < 0 ? errno : EIO);
            return;
        }
        a->size += (uint64_t)n;
        buf_cut_front(&a->waiting, (size_t)n);
    }
    if (a->failed)
        say_audit_state(a, LOG_WARNING, "it can be written again");
    a->failed = 0;
    keep_room(a);
}

static void put_audit_text(struct jsonw *w, const char *name, const char *text, size_t max)
{
    if (!text)
        return;
    size_t n = strlen(text);
    bool cut = n > max;
    jsonw_name(w, name);
    jsonw_text_begin(w);
    jsonw_text_part(w, text, cut ? max : n);
    if (cut)
        jsonw_text_part(w, "...", 3);
    jsonw_text_end(w);
}

static void put_digest(struct jsonw *w, const char *bytes, size_t n)
{
    char hash[HMAC_HEX + 1];
    sha256_hex(bytes, n, hash);
    jsonw_set_int(w, "bytes", (int64_t)n);
    jsonw_set_text(w, "sha256", hash);
}

static const char *some_audit_text(const char *text)
{
    return text && *text ? text : NULL;
}

/* The object, without its brace. */
static void put_audit_event(const struct audit *a, struct jsonw *w, const struct audit_event *event)
{
    const char *request = event->request_id ? event->request_id : log_request();
    const struct {
        const char *name, *text;
    } texts[] = {{"request_id", some_audit_text(request)},
                 {"trace_id", some_audit_text(event->trace_id)},
                 {"session", event->session},
                 {"kernel", event->kernel},
                 {"package", event->package},
                 {"server", event->server},
                 {"tool", event->tool},
                 {"door", event->door},
                 {"address", event->address},
                 {"role", event->role},
                 {"by", event->by},
                 {"decided_in", event->decided_in},
                 {"outcome", event->outcome},
                 {"parent", event->parent}};
    jsonw_object(w);
    jsonw_set_int(w, "seq", (int64_t)a->link.seq + 1);
    jsonw_set_time(w, "time", clock_real_ms());
    jsonw_set_text(w, "kind", kinds[event->kind]);
    if (a->dropped > 0)
        jsonw_set_int(w, "dropped", (int64_t)a->dropped);
    if (event->kind == AUDIT_LEFT_OUT) {
        jsonw_set_text(w, "of", kinds[event->of]);
        jsonw_set_int(w, "count", (int64_t)event->count);
    }
    if (event->cell > 0)
        jsonw_set_int(w, "cell", (int64_t)event->cell);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        put_audit_text(w, texts[i].name, texts[i].text, AUDIT_TEXT_MAX);
    put_audit_text(w, "path", event->path, AUDIT_PATH_MAX);
    put_audit_text(w, "to", event->to, AUDIT_PATH_MAX);
    if (event->timed)
        jsonw_set_int(w, "ms", event->ms);
    if (event->files > 0)
        jsonw_set_int(w, "files", (int64_t)event->files);
    if (event->sized)
        jsonw_set_int(w, "bytes", (int64_t)event->size);
    if (event->code)
        put_digest(w, event->code, event->code_len);
}

/* There is no place for it in the file: in the log it has one, if only room is missing. */
static int drop_record(struct audit *a, const struct buf *line)
{
    a->dropped++;
    if (!is_room_missing(a))
        return -EIO;
    notify_outside(a, line);
    return a->damaged ? -EIO : 0;
}

/* Takes the line over into what waits, and tries to write it. */
static int append_record(struct audit *a, struct buf *line)
{
    struct audit_link next = a->link;
    size_t open = line->len;
    audit_seal(line, &next);
    if (line->failed || a->waiting.len + line->len > AUDIT_WAITING_MAX) {
        line->len = line->len > open ? open : line->len; /* it is in no chain */
        return drop_record(a, line);
    }
    if (buf_add(&a->waiting, line->data, line->len) < 0) {
        a->waiting.failed = 0; /* no memory now: maybe later */
        return drop_record(a, line);
    }
    a->link = next;
    a->dropped = 0;
    flush_audit(a);
    if (a->link.seq % AUDIT_TELL == 0)
        say_hash(a);
    if (is_room_missing(a))
        notify_outside(a, line);
    return (a->failed && !is_room_missing(a)) || a->damaged ? -EIO : 0;
}

/* What hides or turns a text is escaped: it reads the same for who parses it. */
static void put_audit_line(const struct audit *a, struct buf *line, const struct audit_event *event)
{
    drop_buf struct buf text = BUF_INIT(AUDIT_LINE_MAX);
    struct jsonw w = JSONW(&text);
    put_audit_event(a, &w, event);
    visible_put_json(line, buf_text(&text), text.len);
    line->failed = text.failed ? text.failed : line->failed;
}

static int64_t now_ms(const struct audit *a)
{
    return a->config.loop ? loop_now(a->config.loop) : clock_ms();
}

static void notify_left_out(struct audit *a, const char *session)
{
    struct audit_event event;
    while (audit_flood_take(a->flood, session, now_ms(a), &event)) {
        drop_buf struct buf line = BUF_INIT(AUDIT_LINE_MAX);
        put_audit_line(a, &line, &event);
        (void)append_record(a, &line);
    }
}

static void on_audit_timer(void *ctx)
{
    notify_left_out(ctx, NULL);
}

int audit_add(struct audit *a, const struct audit_event *event)
{
    if (!a)
        return 0;
    drop_buf struct buf line = BUF_INIT(AUDIT_LINE_MAX);
    put_audit_line(a, &line, event);
    if (!audit_flood_pass(a->flood, event, line.len + AUDIT_SEAL_BYTES, now_ms(a))) {
        a->numbers.left_out++;
        if (a->config.loop && !a->timer.armed)
            loop_timer_set(a->config.loop, &a->timer, AUDIT_FLOOD_TELL_MS, on_audit_timer, a);
        return (a->failed && !is_room_missing(a)) || a->damaged ? -EIO : 0;
    }
    if (event->kind == AUDIT_SESSION_ENDED && event->session) {
        notify_left_out(a, event->session);
        buf_clear(&line); /* it has another number by now */
        put_audit_line(a, &line, event);
    }
    return append_record(a, &line);
}

enum audit_state audit_state(const struct audit *a, struct audit_numbers *ret)
{
    *ret = a ? a->numbers : (struct audit_numbers){0};
    if (!a)
        return AUDIT_OFF;
    if (a->damaged)
        return AUDIT_REFUSES;
    return is_room_missing(a) ? AUDIT_OUTSIDE : a->failed ? AUDIT_REFUSES : AUDIT_WRITTEN;
}

/* What a URL may hide stands before its host, or behind its path. */
char *audit_package(const char *package)
{
    const char *scheme = strstr(package, "://");
    if (!scheme)
        return xstrdup(package);
    const char *host = scheme + 3;
    size_t place = strcspn(host, "?#"), n = strcspn(host, "/?#");
    const char *at = memrchr(host, '@', n);
    const char *rest = at ? at + 1 : host;
    return xasprintf("%.*s%s%.*s%s", (int)(host - package), package, at ? "***@" : "",
                     (int)(host + place - rest), rest, host[place] ? "?***" : "");
}

static int look_at_log(const struct audit *a, struct stat *ret)
{
    if (!a->is_service)
        return lstat(a->path, ret);
    drop_service struct service service = service_enter();
    return lstat(a->path, ret);
}

/* Somebody else has been there. What ends is still written: that the chain is broken stays. */
static void look_at_file(struct audit *a)
{
    struct stat st;
    drop_str char *text = NULL;
    if (look_at_log(a, &st) < 0)
        text = xstrdup("it is gone");
    else if (st.st_dev != a->dev || st.st_ino != a->ino)
        text = xstrdup("it is another file");
    else if ((uint64_t)st.st_size != a->size)
        text = xasprintf("it has %lld bytes, %llu were written", (long long)st.st_size,
                         (unsigned long long)a->size);
    if (!text || a->damaged)
        return;
    a->damaged = true;
    say_audit_state(a, LOG_ERROR, text);
}

int audit_check(struct audit *a, struct err *e)
{
    if (!a)
        return 0;
    look_at_file(a);
    if (a->damaged)
        return err_set(e, -EIO,
                       "the audit log was changed from outside, so ipybox starts no cell, "
                       "call, install or file change: find the cause and restart");
    flush_audit(a);
    if (a->failed && !is_room_missing(a))
        return err_set(e, -EIO, "the audit log cannot be written: %s", strerror(a->failed));
    return 0;
}

/* --- opening and closing ---------------------------------------------------------------------- */

/* The folder's real path and the name in it. Code owns the workspace. */
static int find_path(struct audit *a, struct err *e)
{
    const char *path = a->config.path, *workspace = a->config.workspace;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    drop_str char *folder = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
    char real[PATH_MAX];
    if (!realpath(folder, real))
        return err_set(e, -errno, "%s: %s", folder, strerror(errno));
    size_t n = strlen(workspace);
    bool inside = strcmp(workspace, "/") == 0 ||
                  (strncmp(real, workspace, n) == 0 && (real[n] == '/' || real[n] == '\0'));
    if (inside)
        return err_set(e, -EPERM, "it is in the workspace, where code writes");
    a->path = xasprintf("%s/%s", strcmp(real, "/") == 0 ? "" : real, name);
    return 0;
}

static int open_path(const char *path)
{
    return open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

static int open_as_service(const char *path)
{
    drop_service struct service service = service_enter();
    return open_path(path);
}

/* The service uid's, where that may write; else one that code in kernels may write, too. */
static int open_as_who_may(struct audit *a)
{
    if (!service_there())
        return open_path(a->path);
    int fd = open_as_service(a->path);
    a->is_service = fd >= 0;
    if (fd >= 0 || (errno != EACCES && errno != EPERM))
        return fd;
    fd = open_path(a->path);
    if (fd >= 0)
        say_audit_state(a, LOG_WARNING,
                        "it has the uid of code in kernels; in a folder of the server's own, "
                        "such as /var/log/ipybox, it has not");
    return fd;
}

static int open_audit_file(struct audit *a, struct err *e)
{
    struct stat st;
    a->fd = open_as_who_may(a);
    if (a->fd < 0 || fstat(a->fd, &st) < 0)
        return err_set(e, -errno, "%s", errno == ELOOP ? "it is a link" : strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
        return err_set(e, -EPERM, "it is no file, or one with several names");
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return err_set(e, -EPERM, "others than its owner may write to it");
    if (flock(a->fd, LOCK_EX | LOCK_NB) < 0)
        return err_set(e, -EBUSY, "another server writes to it");
    a->dev = st.st_dev;
    a->ino = st.st_ino;
    a->size = (uint64_t)st.st_size;
    return 0;
}

static int read_tail(const struct audit *a, struct buf *tail, struct err *e)
{
    size_t n = a->size < tail->cap ? (size_t)a->size : tail->cap;
    if (buf_reserve(tail, n) < 0)
        return err_set(e, -ENOMEM, "no memory");
    while (tail->len < n) {
        ssize_t got =
            pread(a->fd, tail->data + tail->len, n - tail->len, (off_t)(a->size - n + tail->len));
        if (got <= 0)
            return err_set(e, got < 0 ? -errno : -EIO, "read: %s",
                           got < 0 ? strerror(errno) : "it became shorter");
        tail->len += (size_t)got;
    }
    return 0;
}

/* Goes on behind the last record; what a crash has left behind that is named. */
static int start_audit_record(struct audit *a, struct err *e)
{
    drop_buf struct buf tail = BUF_INIT(AUDIT_TORN_MAX + AUDIT_LINE_MAX),
                        line = BUF_INIT(AUDIT_LINE_MAX);
    const char *torn = NULL;
    size_t torn_n = 0;
    int r = read_tail(a, &tail, e);
    if (r == 0)
        r = audit_find_end(buf_text(&tail), tail.len, tail.len == a->size, &a->link, &torn, &torn_n,
                           e);
    if (r < 0)
        return r;
    if (tail.len > 0 && tail.data[tail.len - 1] != '\n')
        (void)buf_addc(&a->waiting, '\n');
    struct jsonw w = JSONW(&line);
    put_audit_event(a, &w, &(struct audit_event){.kind = AUDIT_START});
    jsonw_set_text(&w, "version", a->config.version);
    if (torn_n > 0) {
        jsonw_set_object(&w, "torn");
        put_digest(&w, torn, torn_n);
        jsonw_end(&w);
        say_audit_state(a, LOG_WARNING, "its last line is torn; the start names it");
    }
    if (append_record(a, &line) < 0 || a->failed)
        return err_set(e, -EIO, "it cannot be written: %s", strerror(a->failed));
    say_hash(a);
    return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Whole lines alone: what is before the first of them, when the file was not read from its
 * beginning, and what is behind the last. */
static void keep_last_lines(struct buf *text, bool from_start, size_t most)
{
    const char *newline = memrchr(text->data, '\n', text->len);
    const size_t end = newline ? (size_t)(newline - text->data) + 1 : 0;
    size_t at = end;
    text->len = end;
    while (most-- > 0 && at > 0) {
        const char *before = at > 1 ? memrchr(text->data, '\n', at - 1) : NULL;
        if (!before && !from_start)
            break;
        at = before ? (size_t)(before - text->data) + 1 : 0;
    }
    buf_cut_front(text, at);
}

int audit_last(const struct audit *a, size_t most, struct buf *ret, struct err *e)
{
    if (!a)
        return err_set(e, -ENOENT, "this server keeps no audit log (--audit-log)");
    size_t n = a->size < AUDIT_LAST_MAX ? (size_t)a->size : AUDIT_LAST_MAX, had = 0;
    int r = buf_reserve(ret, n + 1);
    while (r == 0 && had < n) {
        ssize_t got = pread(a->fd, ret->data + had, n - had, (off_t)(a->size - n + had));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            r = -errno;
        if (got <= 0)
            break;
        had += (size_t)got;
    }
    if (r < 0)
        return err_set(e, -EDOM, "the audit log cannot be read: %s", strerror(-r));
    ret->len = had;
    if (had > 0)
        keep_last_lines(ret, n == a->size, most);
    return 0;
}

static struct audit *free_audit(struct audit *a)
{
    if (a->config.loop)
        loop_timer_stop(a->config.loop, &a->timer);
    a->flood = audit_flood_free(a->flood);
    (void)fd_close(a->fd);
    buf_done(&a->waiting);
    xfree(a->path);
    xfree(a);
    return NULL;
}

int audit_open(const struct audit_config *config, struct audit **ret, struct err *e)
{
    struct audit *a = NEW(struct audit);
    a->config = *config;
    a->fd = -1;
    a->waiting = BUF_INIT(AUDIT_WAITING_MAX + 1);
    a->flood = audit_flood_new();
    int r = find_path(a, e);
    if (r == 0)
        r = open_audit_file(a, e);
    if (r == 0)
        r = start_audit_record(a, e);
    if (r < 0) {
        (void)free_audit(a);
        return err_wrap(e, "the audit log %s", config->path);
    }
    *ret = a;
    return 0;
}

struct audit *audit_close(struct audit *a)
{
    if (!a)
        return NULL;
    notify_left_out(a, NULL);
    (void)audit_add(a, &(struct audit_event){.kind = AUDIT_STOP});
    if (a->room > 0 && !a->damaged)
        (void)!ftruncate(a->fd, (off_t)a->size); /* gives the blocks behind its end back */
    (void)fdatasync(a->fd);
    if (a->waiting.len > 0)
        say_audit_state(a, LOG_ERROR, "its last records could not be written");
    else
        say_hash(a);
    return free_audit(a);
}
