/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/text/utf8.h"
#include "base/text/visible.h"

static enum log_level threshold = LOG_INFO;
static bool as_json;
static const char *request; /* NULL: none is being handled */

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

    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct tm tm;
    gmtime_r(&now.tv_sec, &tm);
    char stamp[32];
    (void)strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &tm);
    long ms = now.tv_nsec / 1000000;
    const char *id = request ? request : "";
    int n;
    if (as_json)
        n = snprintf(line, sizeof line,
                     "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\",\"room\":\"%s\"%s%.*s%s,"
                     "\"text\":\"%s\"}\n",
                     stamp, ms, names[level], room, *id ? ",\"request_id\":\"" : "",
                     LOG_REQUEST_MAX, id, *id ? "\"" : "", safe);
    else
        n = snprintf(line, sizeof line, "%s.%03ldZ %-7s %s: %s%s%.*s%s\n", stamp, ms, names[level],
                     room, safe, *id ? " (request_id " : "", LOG_REQUEST_MAX, id, *id ? ")" : "");
    if (n > 0) /* one write per line; a log that cannot be written has nowhere to be reported */
        (void)!write(2, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
    errno = saved;
}
