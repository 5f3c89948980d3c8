/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop's descriptors are level-triggered, so one with a first line that is not whole stays
 * readable: it is looked at by the clock then, less and less often. */
#include "front/gateway/sorter.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/list.h"

enum {
    METHOD_MAX = 16,
    LOOK_FIRST_MS = 5, /* after bytes that were not enough; twice as long each time, up to: */
    LOOK_LAST_MS = 160,
};

struct sorter_entry {
    struct sorter *sorter;
    struct sorter_entry *next, *prev;
    int fd;
    struct loop_io *io;
    struct sockaddr_storage from;
    socklen_t from_n;
    int64_t look_ms, late_at;
    struct loop_timer look;
};

struct sorter {
    struct sorter_config config;
    struct sorter_entry *newest;
    size_t count;
};

/* --- the first line ------------------------------------------------------------------------- */

struct first_line {
    const char *at, *end;
};

static bool is_method_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* All three: whether the line has it, or may still get it, which shows when it is at its end. */
static bool skip_method(struct first_line *l)
{
    size_t letters = 0;
    while (l->at < l->end && (*l->at == '\r' || *l->at == '\n')) /* an empty line before it */
        l->at++;
    while (l->at < l->end && letters <= METHOD_MAX && is_method_letter(*l->at))
        l->at++, letters++;
    if (letters > METHOD_MAX)
        return false;
    if (l->at == l->end)
        return true;
    return letters > 0 && *l->at++ == ' ';
}

/* Of "http://host/path", as it is sent to proxies, the path; others are paths. */
static bool skip_authority(struct first_line *l)
{
    static const char scheme[] = "http://";
    size_t n = (size_t)(l->end - l->at);
    size_t seen = n < sizeof scheme - 1 ? n : sizeof scheme - 1;
    if (n == 0 || *l->at == '/' || strncasecmp(l->at, scheme, seen) != 0)
        return true;
    l->at += seen;
    while (seen == sizeof scheme - 1 && l->at < l->end && *l->at != '/') {
        if ((unsigned char)*l->at <= ' ')
            return false;
        l->at++;
    }
    return true;
}

static bool skip_text(struct first_line *l, const char *text, size_t n)
{
    size_t there = (size_t)(l->end - l->at);
    size_t seen = there < n ? there : n;
    if (memcmp(l->at, text, seen) != 0)
        return false;
    l->at += seen;
    return true;
}

static enum sorter_whose whose_path(struct first_line l, const char *base, const char *name)
{
    size_t n = strlen(base);
    while (n > 0 && base[n - 1] == '/')
        n--;
    if (n > 0 && *base != '/' && !skip_text(&l, "/", 1))
        return SORTER_OTHER;
    if (!skip_text(&l, base, n) || !skip_text(&l, name, strlen(name)))
        return SORTER_OTHER;
    if (l.at == l.end)
        return SORTER_UNCLEAR;
    return strchr("/?# \r\n", *l.at) && *l.at ? SORTER_GATEWAY : SORTER_OTHER;
}

enum sorter_whose sorter_whose(const char *bytes, size_t n, const char *base)
{
    bool cut = n >= SORTER_LINE_MAX;
    struct first_line l = {bytes, bytes + (cut ? SORTER_LINE_MAX : n)};
    if (!skip_method(&l) || !skip_authority(&l))
        return SORTER_OTHER;
    enum sorter_whose api = whose_path(l, base, "/api");
    enum sorter_whose specs = whose_path(l, base, "/kernelspecs");
    if (api == SORTER_GATEWAY || specs == SORTER_GATEWAY)
        return SORTER_GATEWAY;
    return !cut && (api == SORTER_UNCLEAR || specs == SORTER_UNCLEAR) ? SORTER_UNCLEAR
                                                                      : SORTER_OTHER;
}

/* --- connections ---------------------------------------------------------------------------- */

static int entry_take(struct sorter_entry *c)
{
    struct sorter *s = c->sorter;
    int fd = c->fd;
    list_remove(&s->newest, c);
    s->count--;
    c->io = loop_io_del(c->io);
    loop_timer_stop(s->config.loop, &c->look);
    return fd;
}

static void entry_close(struct sorter_entry *c)
{
    (void)fd_close(entry_take(c));
    xfree(c);
}

static void entry_give(struct sorter_entry *c, sorter_fn to)
{
    int fd = entry_take(c);
    to(c->sorter->config.ctx, fd, (const struct sockaddr *)(const void *)&c->from, c->from_n);
    xfree(c);
}

static void on_entry_look(void *ctx);

static void entry_wait(struct sorter_entry *c, bool has_begun)
{
    struct loop *loop = c->sorter->config.loop;
    int64_t left = c->late_at - loop_now(loop);
    loop_io_set(c->io, has_begun ? 0 : LOOP_IN);
    if (has_begun && c->look_ms < left) {
        left = c->look_ms;
        c->look_ms = 2 * c->look_ms < LOOK_LAST_MS ? 2 * c->look_ms : LOOK_LAST_MS;
    }
    loop_timer_set(loop, &c->look, left, on_entry_look, c);
}

static void entry_look(struct sorter_entry *c)
{
    struct sorter *s = c->sorter;
    char bytes[SORTER_LINE_MAX];
    ssize_t n = recv(c->fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    bool nothing_yet = n < 0 && (errno == EAGAIN || errno == EINTR);
    if (n <= 0 && !nothing_yet) {
        entry_close(c);
        return;
    }
    enum sorter_whose whose =
        nothing_yet ? SORTER_UNCLEAR : sorter_whose(bytes, (size_t)n, s->config.base);
    if (whose != SORTER_UNCLEAR)
        entry_give(c, whose == SORTER_GATEWAY ? s->config.gateway : s->config.other);
    else if (loop_now(s->config.loop) >= c->late_at)
        entry_close(c);
    else
        entry_wait(c, n > 0);
}

static void on_entry_look(void *ctx)
{
    entry_look(ctx);
}

/* A hang-up is told in every turn, whatever is watched for: who could not be answered is let go. */
static void on_entry_ready(void *ctx, unsigned events)
{
    if (events & LOOP_HUP)
        entry_close(ctx);
    else
        entry_look(ctx);
}

static void close_oldest_entry(struct sorter *s)
{
    struct sorter_entry *oldest = s->newest;
    while (oldest->next)
        oldest = oldest->next;
    entry_close(oldest);
}

/* --- the door's ----------------------------------------------------------------------------- */

struct sorter *sorter_new(const struct sorter_config *config)
{
    struct sorter *s = NEW(struct sorter);
    *s = (struct sorter){.config = *config};
    return s;
}

struct sorter *sorter_free(struct sorter *s)
{
    if (!s)
        return NULL;
    while (s->newest)
        entry_close(s->newest);
    xfree(s);
    return NULL;
}

void sorter_add(struct sorter *s, int fd, const struct sockaddr *from, socklen_t n)
{
    struct sorter_entry *c = NEW(struct sorter_entry);
    *c = (struct sorter_entry){.sorter = s,
                               .fd = fd,
                               .look_ms = LOOK_FIRST_MS,
                               .late_at = loop_now(s->config.loop) + SORTER_MS};
    c->from_n = n < (socklen_t)sizeof c->from ? n : (socklen_t)sizeof c->from;
    memcpy(&c->from, from, c->from_n);
    if (s->count >= SORTER_MAX)
        close_oldest_entry(s);
    list_push(&s->newest, c);
    s->count++;
    if (loop_io_add(s->config.loop, fd, 0, on_entry_ready, c, &c->io, NULL) < 0)
        entry_close(c);
    else
        entry_look(c);
}

size_t sorter_waiting(const struct sorter *s)
{
    return s->count;
}
