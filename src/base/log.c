/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text/utf8.h"
#include "base/text/visible.h"

static enum log_level threshold = LOG_INFO;
static bool as_json;
static const char *request; /* NULL: none is being handled */

enum {
    WRITE_UNASKED_MAX = 4096, /* PIPE_BUF */
    DROP_LINE_ROOM = 200,
};

/* Lines that standard error has not taken. */
static struct {
    pid_t owner;
    size_t used;
    unsigned long long dropped; /* after those */
    char bytes[LOG_WAITING_MAX];
} waiting;

static const char *const names[LOG__COUNT] = {
    [LOG_DEBUG] = "DEBUG", [LOG_INFO] = "INFO",         [LOG_WARNING] = "WARNING",
    [LOG_ERROR] = "ERROR", [LOG_CRITICAL] = "CRITICAL",
};

void log_set_level(enum log_level level)
{
    threshold = level;
}

void log_set_json(bool on)
{
    as_json = on;
}

const char *log_set_request(const char *id)
{
    const char *before = request;
    request = id;
    return before;
}

const char *log_request(void)
{
    return request;
}

int log_level_parse(const char *name, enum log_level *ret)
{
    for (int i = 0; i < LOG__COUNT; i++) {
        if (strcasecmp(name, names[i]) == 0) {
            *ret = (enum log_level)i;
            return 0;
        }
    }
    return -EINVAL;
}

bool log_enabled(enum log_level level)
{
    return level >= threshold;
}

/* What hides or steers would let a peer's text forge log lines, or show another one than there is:
 * it is shown as \xNN or \uNNNN, and so are bytes that are not UTF-8. In JSON these are texts, too:
 * an escape would be undone by who reads it. */
static size_t put_log_escape(char *out, size_t room, uint32_t c)
{
    const char *more = as_json ? "\\" : "";
    int n;
    if (as_json && c < 0xA0)
        n = snprintf(out, room, "\\u%04x", (unsigned)c);
    else if (c < 0x100)
        n = snprintf(out, room, "%s\\x%02x", more, (unsigned)c);
    else if (c < 0x10000)
        n = snprintf(out, room, "%s\\u%04x", more, (unsigned)c);
    else
        n = snprintf(out, room, "%s\\u{%x}", more, (unsigned)c);
    return (size_t)n;
}

static void escape_log_text(char *out, size_t size, const char *text)
{
    size_t n = 0;
    size_t len = strlen(text);
    for (size_t i = 0; i < len && n + 16 < size;) {
        unsigned char c = (unsigned char)text[i];
        uint32_t point = 0;
        size_t width = utf8_char(text + i, len - i, &point);
        if (width == 0 || visible_hides(point)) {
            n += put_log_escape(out + n, size - n, width == 0 ? c : point);
        } else {
            if (as_json && (c == '"' || c == '\\'))
                out[n++] = '\\';
            memcpy(out + n, text + i, width);
            n += width;
        }
        i += width ? width : 1;
    }
    out[n] = '\0';
}

static int format_line(char *ret, size_t size, enum log_level level, const char *room,
                       const char *safe)
{
    char stamp[CLOCK_ISO_MAX];
    (void)clock_iso(clock_real_ms(), stamp);
    const char *id = request ? request : "";
    if (as_json)
        return snprintf(ret, size,
                        "{\"time\":\"%s\",\"level\":\"%s\",\"room\":\"%s\"%s%.*s%s,"
                        "\"text\":\"%s\"}\n",
                        stamp, names[level], room, *id ? ",\"request_id\":\"" : "", LOG_REQUEST_MAX,
                        id, *id ? "\"" : "", safe);
    return snprintf(ret, size, "%s %-7s %s: %s%s%.*s%s\n", stamp, names[level], room, safe,
                    *id ? " (request_id " : "", LOG_REQUEST_MAX, id, *id ? ")" : "");
}

/* --- what standard error does not take yet ---------------------------------------------------- */

/* Bytes that were taken, or -EAGAIN; a log that cannot be written has nowhere to be reported, and
 * counts as written. A pipe says how it is by RWF_NOWAIT from Linux 6.4 on, before by poll(2): one
 * page of it is free then, so a longer line goes in two. */
static ssize_t write_log_now(const char *bytes, size_t n)
{
    struct stat st;
    if (fstat(STDERR_FILENO, &st) == 0 &&
        (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISCHR(st.st_mode))) {
        const struct iovec part = {(void *)(uintptr_t)bytes, n};
        ssize_t r = syscall(SYS_pwritev2, STDERR_FILENO, &part, 1, -1L, -1L, RWF_NOWAIT);
        if (r >= 0 || errno == EAGAIN)
            return r < 0 ? -EAGAIN : r;
        struct pollfd poller = {.fd = STDERR_FILENO, .events = POLLOUT};
        if (poll(&poller, 1, 0) == 0)
            return -EAGAIN;
        n = n < WRITE_UNASKED_MAX ? n : WRITE_UNASKED_MAX;
    }
    ssize_t r = write(STDERR_FILENO, bytes, n);
    return r >= 0 ? r : errno == EAGAIN ? -EAGAIN : (ssize_t)n;
}

/* Lines that are waiting are written by who has logged them, not by a fork of it as well. */
static bool lines_are_ours(void)
{
    if (waiting.used > 0 && waiting.owner != getpid()) {
        waiting.used = 0;
        waiting.dropped = 0;
    }
    return waiting.used > 0;
}

static void wait_in_queue(const char *line, size_t n)
{
    waiting.owner = getpid();
    memcpy(waiting.bytes + waiting.used, line, n);
    waiting.used += n;
}

static void report_dropped(void)
{
    char text[80], line[200];
    (void)snprintf(text, sizeof text, "%llu lines are missing: standard error was not read",
                   waiting.dropped);
    int n = format_line(line, sizeof line, LOG_WARNING, "log", text);
    if (n < 0 || (size_t)n >= sizeof line || waiting.used + (size_t)n > sizeof waiting.bytes)
        return;
    wait_in_queue(line, (size_t)n);
    waiting.dropped = 0;
}

bool log_flush(void)
{
    while (lines_are_ours()) {
        const char *end = memchr(waiting.bytes, '\n', waiting.used);
        size_t n = end ? (size_t)(end - waiting.bytes) + 1 : waiting.used;
        ssize_t r = write_log_now(waiting.bytes, n);
        if (r < 0)
            return false;
        waiting.used -= (size_t)r;
        memmove(waiting.bytes, waiting.bytes + r, waiting.used);
        if (waiting.used == 0 && waiting.dropped > 0)
            report_dropped();
    }
    return true;
}

void log_close(int max_ms)
{
    const int64_t until = clock_ms() + max_ms;
    for (int64_t left; !log_flush() && (left = until - clock_ms()) > 0;) {
        struct pollfd poller = {.fd = STDERR_FILENO, .events = POLLOUT};
        (void)poll(&poller, 1, (int)left);
    }
}

static void put_log_line(const char *line, size_t n)
{
    ssize_t r = log_flush() ? write_log_now(line, n) : 0;
    size_t at = r > 0 ? (size_t)r : 0;
    if (at == n)
        return;
    if (waiting.dropped > 0 && waiting.used + n + DROP_LINE_ROOM <= sizeof waiting.bytes)
        report_dropped();
    if (waiting.dropped > 0 || waiting.used + n - at > sizeof waiting.bytes)
        waiting.dropped++; /* a line that is partly out leaves room: the queue was empty */
    else
        wait_in_queue(line + at, n - at);
}

void log_write(enum log_level level, const char *room, const char *fmt, ...)
{
    if (!log_enabled(level))
        return;
    int saved = errno;
    char text[2000], safe[4200], line[4600];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    escape_log_text(safe, sizeof safe, text);
    int n = format_line(line, sizeof line, level, room, safe);
    if (n > 0)
        put_log_line(line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
    errno = saved;
}
