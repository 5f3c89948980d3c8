/* SPDX-License-Identifier: Apache-2.0 */
#include "session/events/eventlog.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/random.h"
#include "base/service.h"

const char *const logged_names[LOGGED__COUNT] = {
    [LOGGED_BEGIN] = "begin",       [LOGGED_STDOUT] = "stdout", [LOGGED_STDERR] = "stderr",
    [LOGGED_DISPLAY] = "display",   [LOGGED_UPDATE] = "update", [LOGGED_CLEAR] = "clear",
    [LOGGED_RESULT] = "result",     [LOGGED_ERROR] = "error",   [LOGGED_END] = "end",
    [LOGGED_APPROVAL] = "approval", [LOGGED_KERNEL] = "kernel", [LOGGED_PROGRESS] = "progress",
};

struct record { /* what stands before the data, in memory and in a file */
    uint64_t number, cell;
    int64_t time_ms;
    size_t n;
    enum logged_kind kind;
    bool late;
};

struct kept { /* in memory */
    struct kept *next;
    struct record record;
    char data[];
};

struct segment { /* one of the two files that hold what fell out of memory */
    int fd;
    uint64_t size;
    uint64_t first, last; /* numbers; 0: it is empty */
};

struct cursor { /* where the last read of a file ended: the next goes on there */
    uint64_t number;
    const struct segment *segment;
    uint64_t offset;
};

struct eventlog {
    struct eventlog_config config;
    char *spill_dir;
    bool spilling;
    struct kept *oldest, *newest;
    const struct kept *at; /* what was read last: the next read goes on there */
    size_t bytes;
    uint64_t base, last; /* base: the number before the first */
    struct segment full, filling;
    struct cursor cursor;
    struct buf text; /* data that was read from a file */
    struct eventlog_watcher *watchers;
    struct loop_defer tell;
};

static uint64_t random_life(void)
{
    char hex[15];
    uint64_t bits = 0;
    random_hex(hex, sizeof hex / 2);
    for (const char *c = hex; *c; c++)
        bits = bits << 4 | (uint64_t)(*c <= '9' ? *c - '0' : *c - 'a' + 10);
    return 1 + bits % (EVENTLOG_LIFE - 1);
}

struct eventlog *eventlog_open(const struct eventlog_config *config)
{
    struct eventlog *log = NEW(struct eventlog);
    log->config = *config;
    log->spill_dir = config->spill_dir ? xstrdup(config->spill_dir) : NULL;
    log->spilling = !config->spill_for_readers;
    log->full.fd = log->filling.fd = -1;
    if (config->apart)
        log->base = log->last = random_life() * EVENTLOG_LIFE;
    if (log->config.data_max == 0)
        log->config.data_max = config->memory_max / 2;
    log->text = BUF_INIT(log->config.data_max + 1);
    return log;
}

static void drop_segment(struct segment *segment)
{
    if (segment->fd >= 0)
        (void)close(segment->fd);
    *segment = (struct segment){.fd = -1};
}

struct eventlog *eventlog_close(struct eventlog *log)
{
    if (!log)
        return NULL;
    loop_defer_stop(log->config.loop, &log->tell);
    while (log->oldest) {
        struct kept *kept = log->oldest;
        log->oldest = kept->next;
        xfree(kept);
    }
    drop_segment(&log->full);
    drop_segment(&log->filling);
    buf_done(&log->text);
    xfree(log->spill_dir);
    xfree(log);
    return NULL;
}

/* --- writing --------------------------------------------------------------------------------- */

static bool write_at(int fd, uint64_t offset, const void *bytes, size_t n)
{
    for (const char *p = bytes; n > 0;) {
        ssize_t written = pwrite(fd, p, n, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        p += written;
        offset += (uint64_t)written;
        n -= (size_t)written;
    }
    return true;
}

/* A file without a name; overlayfs has none before Linux 6.1, so one loses its name at once. */
static int open_unnamed(const char *dir)
{
    drop_service struct service service = service_enter();
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return fd;
    char name[17];
    random_hex(name, 8);
    drop_str char *path = xasprintf("%s/events-%s", dir, name);
    fd = open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

/* Two files of half the size: when one is full, the older one is given up. */
static bool need_room(struct eventlog *log, size_t n)
{
    struct segment *s = &log->filling;
    if (s->fd >= 0 && s->size + n <= log->config.spill_max / 2)
        return true;
    if (n > log->config.spill_max / 2)
        return false;
    if (s->fd >= 0) {
        drop_segment(&log->full);
        log->full = *s;
        *s = (struct segment){.fd = -1};
        log->cursor = (struct cursor){0};
    }
    s->fd = open_unnamed(log->spill_dir);
    return s->fd >= 0;
}

/* A gap may only be at the front: what cannot be written takes all that came before it along. */
static void give_up_files(struct eventlog *log)
{
    drop_segment(&log->full);
    drop_segment(&log->filling);
    log->cursor = (struct cursor){0};
}

static void spill(struct eventlog *log, const struct kept *kept)
{
    size_t n = sizeof kept->record + kept->record.n;
    struct segment *s = &log->filling;
    if (!log->spill_dir || !log->spilling)
        return;
    if (!need_room(log, n) || !write_at(s->fd, s->size, &kept->record, sizeof kept->record) ||
        !write_at(s->fd, s->size + sizeof kept->record, kept->data, kept->record.n)) {
        give_up_files(log);
        return;
    }
    s->size += n;
    s->last = kept->record.number;
    s->first = s->first ? s->first : s->last;
}

static size_t cost(const struct kept *kept)
{
    return sizeof *kept + kept->record.n;
}

static void drop_oldest(struct eventlog *log)
{
    struct kept *kept = log->oldest;
    spill(log, kept);
    log->oldest = kept->next;
    if (!log->oldest)
        log->newest = NULL;
    log->bytes -= cost(kept);
    if (log->at == kept)
        log->at = NULL;
    xfree(kept);
}

static void notify_event_watchers(void *ctx)
{
    struct eventlog *log = ctx;
    for (struct eventlog_watcher *w = log->watchers, *next; w; w = next) {
        next = w->next;
        w->fn(w->ctx);
    }
}

static void keep_event(struct eventlog *log, const struct logged *event)
{
    struct kept *kept = xcalloc(1, sizeof *kept + event->n);
    kept->record = (struct record){.number = ++log->last,
                                   .cell = event->cell,
                                   .time_ms = clock_real_ms(),
                                   .n = event->n,
                                   .kind = event->kind,
                                   .late = event->late};
    if (event->n > 0)
        memcpy(kept->data, event->data, event->n);
    *(log->newest ? &log->newest->next : &log->oldest) = kept;
    log->newest = kept;
    log->bytes += cost(kept);
    while (log->bytes > log->config.memory_max && log->oldest != kept)
        drop_oldest(log);
    if (log->watchers)
        loop_defer(log->config.loop, &log->tell, notify_event_watchers, log);
}

static bool is_text_record(enum logged_kind kind)
{
    return kind == LOGGED_STDOUT || kind == LOGGED_STDERR;
}

static void add_pieces(struct eventlog *log, const struct logged *event)
{
    struct logged piece = *event;
    const char *end = event->data + event->n;
    for (; piece.data < end; piece.data += piece.n) {
        size_t left = (size_t)(end - piece.data);
        piece.n = left < log->config.data_max ? left : log->config.data_max;
        while (piece.n > 1 && piece.n < left && ((unsigned char)piece.data[piece.n] & 0xC0) == 0x80)
            piece.n--;
        keep_event(log, &piece);
    }
}

void eventlog_add(struct eventlog *log, const struct logged *event)
{
    if (event->n <= log->config.data_max) {
        keep_event(log, event);
    } else if (is_text_record(event->kind)) {
        add_pieces(log, event);
    } else {
        struct logged cut = *event;
        drop_str char *omitted = xasprintf("{\"omitted\":%zu}", event->n);
        cut.data = omitted;
        cut.n = strlen(omitted);
        keep_event(log, &cut);
    }
}

bool eventlog_add_json(struct eventlog *log, enum logged_kind kind, uint64_t cell, bool late,
                       const struct json *content)
{
    drop_str char *text = content ? json_print(content) : NULL;
    const char *data = text ? text : "{}";
    const struct logged event = {
        .kind = kind, .cell = cell, .late = late, .data = data, .n = strlen(data)};
    eventlog_add(log, &event);
    return event.n <= log->config.data_max;
}

/* --- reading --------------------------------------------------------------------------------- */

uint64_t eventlog_last(const struct eventlog *log)
{
    return log->last > log->base ? log->last : 0;
}

bool eventlog_knows(const struct eventlog *log, uint64_t number)
{
    return number == 0 || (number >= log->base && number <= log->last);
}

static void describe_event(const struct record *record, const char *data, struct logged *ret)
{
    *ret = (struct logged){.number = record->number,
                           .cell = record->cell,
                           .time_ms = record->time_ms,
                           .kind = record->kind,
                           .late = record->late,
                           .data = data,
                           .n = record->n};
}

static bool read_at(int fd, uint64_t offset, void *bytes, size_t n)
{
    for (char *p = bytes; n > 0;) {
        ssize_t got = pread(fd, p, n, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        p += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return true;
}

/* The first record of a file whose number is above `after`; readers mostly ask for one after the
 * other, so the search begins where the last one ended. */
static bool read_segment(struct eventlog *log, const struct segment *s, uint64_t after,
                         struct logged *ret)
{
    struct record record;
    uint64_t offset = 0;
    if (log->cursor.segment == s && log->cursor.number <= after)
        offset = log->cursor.offset;
    for (; offset < s->size; offset += sizeof record + record.n) {
        if (!read_at(s->fd, offset, &record, sizeof record))
            return false;
        if (record.number > after)
            break;
    }
    if (offset >= s->size)
        return false;
    buf_clear(&log->text);
    if (buf_reserve(&log->text, record.n) < 0 ||
        !read_at(s->fd, offset + sizeof record, log->text.data, record.n))
        return false;
    log->cursor = (struct cursor){
        .number = record.number, .segment = s, .offset = offset + sizeof record + record.n};
    describe_event(&record, log->text.data, ret);
    return true;
}

int eventlog_next(struct eventlog *log, uint64_t after, struct logged *ret, uint64_t *ret_missed)
{
    const struct segment *segments[] = {&log->full, &log->filling};
    bool found = false;
    log->spilling = true;
    after = after > log->base ? after : log->base;
    if (after >= log->last)
        return -EAGAIN;
    for (int i = 0; i < 2 && !found; i++)
        found = segments[i]->last > after && read_segment(log, segments[i], after, ret);
    if (!found) {
        const struct kept *kept =
            log->at && log->at->record.number <= after ? log->at : log->oldest;
        while (kept->record.number <= after) /* the newest is above it */
            kept = kept->next;
        describe_event(&kept->record, kept->data, ret);
        log->at = kept;
    }
    *ret_missed = ret->number - after - 1;
    return 0;
}

/* --- watching -------------------------------------------------------------------------------- */

void eventlog_watch(struct eventlog *log, struct eventlog_watcher *w, loop_fn fn, void *ctx)
{
    log->spilling = true;
    *w = (struct eventlog_watcher){.fn = fn, .ctx = ctx, .watching = true};
    list_push(&log->watchers, w);
}

void eventlog_unwatch(struct eventlog *log, struct eventlog_watcher *w)
{
    if (!w->watching)
        return;
    list_remove(&log->watchers, w);
    *w = (struct eventlog_watcher){0};
}
