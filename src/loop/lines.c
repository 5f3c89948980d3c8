/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything that may let lines go on (bytes were read, answers were written, the owner resumes)
 * ends in run_lines(), which does nothing while somebody holds them. What goes wrong sets `broken`
 * and takes the watches away; on_lines_end(), which is deferred, tells the owner. So nothing is
 * freed below a caller's feet. Loop's thread only. */
#include "loop/lines.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KEPT_BLOCK = 256 << 10 }; /* a larger empty buffer is given back */

static bool is_socket(const struct lines *l)
{
    return l->in_fd == l->out_fd;
}

static bool are_lines_held(const struct lines *l)
{
    return l->paused || l->finishing || l->broken || l->out.len - l->sent > l->backlog_max;
}

static void tell_lines_moved(struct lines *l)
{
    if (l->events->moved)
        l->events->moved(l->ctx);
}

/* --- the end --------------------------------------------------------------------------------- */

static void on_lines_end(void *ctx)
{
    struct lines *l = ctx;
    l->events->ended(l->ctx);
}

void lines_break(struct lines *l)
{
    l->broken = true;
    l->in_io = loop_io_del(l->in_io);
    l->out_io = loop_io_del(l->out_io);
    loop_defer_stop(l->loop, &l->again);
    loop_defer(l->loop, &l->end, on_lines_end, l);
}

void lines_close(struct lines *l)
{
    l->in_io = loop_io_del(l->in_io);
    l->out_io = loop_io_del(l->out_io);
    if (l->loop) {
        loop_defer_stop(l->loop, &l->again);
        loop_defer_stop(l->loop, &l->end);
    }
    buf_done(&l->input);
    buf_done(&l->out);
}

/* --- watching -------------------------------------------------------------------------------- */

static void on_lines_again(void *ctx);

static void watch_lines(struct lines *l)
{
    if (l->broken)
        return;
    const bool reads = l->reading && !are_lines_held(l);
    const unsigned in = reads ? LOOP_IN : 0, out = l->out.len > l->sent ? LOOP_OUT : 0;
    if (l->in_io)
        loop_io_set(l->in_io, is_socket(l) ? in | out : in);
    if (l->out_io)
        loop_io_set(l->out_io, out);
    if (!are_lines_held(l) && (l->scanned < l->input.len || (reads && !l->in_io)))
        loop_defer(l->loop, &l->again, on_lines_again, l); /* a file is not watched */
}

/* --- output ---------------------------------------------------------------------------------- */

static void give_back(struct buf *b)
{
    if (b->len == 0 && b->size > KEPT_BLOCK)
        buf_done(b);
}

static int write_lines(struct lines *l)
{
    while (l->sent < l->out.len) {
        const char *from = l->out.data + l->sent;
        const size_t left = l->out.len - l->sent;
        ssize_t n = is_socket(l) ? send(l->out_fd, from, left, MSG_NOSIGNAL | MSG_DONTWAIT)
                                 : write(l->out_fd, from, left);
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n < 0 && errno != EINTR)
            return -errno;
        l->sent += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

void lines_flush(struct lines *l)
{
    if (l->broken)
        return;
    if (write_lines(l) < 0 || l->out.failed) {
        lines_break(l);
        return;
    }
    if (l->sent == l->out.len) {
        buf_clear(&l->out);
        give_back(&l->out);
        l->sent = 0;
        if (l->finishing)
            lines_break(l);
    } else if (l->sent > l->out.len / 2) {
        buf_cut_front(&l->out, l->sent);
        l->sent = 0;
    }
    watch_lines(l);
    tell_lines_moved(l);
}

void lines_finish(struct lines *l)
{
    l->finishing = true;
    lines_flush(l);
}

/* --- input ----------------------------------------------------------------------------------- */

static void run_line(struct lines *l, size_t *at)
{
    char *line = l->input.data + *at, *from = l->input.data + l->scanned;
    const char *end = memchr(from, '\n', l->input.len - l->scanned);
    const size_t stop = end ? (size_t)(end - l->input.data) : l->input.len;
    const size_t n = stop - *at;
    l->scanned = stop + (end != NULL);
    l->over |= n > l->line_max;
    if (!l->over && !end)
        return;
    *at = l->scanned;
    if (!l->over) {
        l->events->line(l->ctx, line, n);
        return;
    }
    l->over = !end;
    l->events->too_long(l->ctx, line, n, end != NULL);
}

static void run_lines(struct lines *l)
{
    size_t at = 0;
    if (l->running)
        return;
    l->running = true;
    while (!are_lines_held(l) && l->scanned < l->input.len)
        run_line(l, &at);
    l->running = false;
    buf_cut_front(&l->input, at);
    l->scanned -= at;
    give_back(&l->input);
    watch_lines(l);
    tell_lines_moved(l);
}

static void end_of_input(struct lines *l)
{
    if (!l->events->input_ended) {
        lines_break(l);
        return;
    }
    if (l->over)
        l->events->too_long(l->ctx, "", 0, true);
    else if (l->input.len > 0)
        l->events->line(l->ctx, l->input.data, l->input.len);
    buf_done(&l->input);
    l->scanned = 0;
    lines_stop_reading(l);
    l->events->input_ended(l->ctx);
}

void lines_set_max(struct lines *l, size_t line_max)
{
    l->line_max = line_max;
    l->input.cap = line_max + LINES_READ_MAX;
}

/* The chunk is one for all streams: few of them are at work at a time. */
static void read_lines(struct lines *l)
{
    static char chunk[LINES_READ_MAX];
    const size_t most = l->line_max < sizeof chunk ? l->line_max + 1 : sizeof chunk;
    if (!l->reading || are_lines_held(l))
        return;
    const ssize_t n = read(l->in_fd, chunk, most);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        end_of_input(l);
    else if (n > 0 && buf_add(&l->input, chunk, (size_t)n) < 0)
        lines_break(l);
}

void lines_stop_reading(struct lines *l)
{
    l->reading = false;
    watch_lines(l);
}

void lines_resume(struct lines *l)
{
    l->paused = false;
    run_lines(l);
}

size_t lines_held(const struct lines *l)
{
    return l->input.len + l->out.len;
}

bool lines_are_run(const struct lines *l)
{
    return !l->finishing && !l->broken && !l->running && l->scanned == l->input.len;
}

void lines_say_once(int fd, struct buf *line)
{
    (void)buf_addc(line, '\n');
    (void)send(fd, buf_text(line), line->len, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)close(fd);
}

/* --- events of the loop ---------------------------------------------------------------------- */

static void on_lines_again(void *ctx)
{
    struct lines *l = ctx;
    if (!l->in_io && l->scanned == l->input.len)
        read_lines(l);
    run_lines(l);
}

static void on_lines_input(void *ctx, unsigned events)
{
    struct lines *l = ctx;
    if (events & LOOP_OUT)
        lines_flush(l);
    if (events & LOOP_IN)
        read_lines(l);
    else if (events & LOOP_HUP && is_socket(l))
        lines_break(l);
    else if (events & LOOP_HUP) /* told for ever: it is read in turns now, which cannot block */
        l->in_io = loop_io_del(l->in_io);
    run_lines(l);
}

static void on_lines_output(void *ctx, unsigned events)
{
    if (events & LOOP_HUP && !(events & LOOP_OUT))
        lines_break(ctx);
    else
        lines_flush(ctx);
}

int lines_open(struct lines *l, struct err *e)
{
    l->input = BUF_INIT(0);
    lines_set_max(l, l->line_max);
    l->reading = true;
    int r = loop_io_add(l->loop, l->in_fd, LOOP_IN, on_lines_input, l, &l->in_io, NULL);
    if (r == -EPERM)
        watch_lines(l); /* reads it in turns */
    else if (r < 0)
        return err_set(e, r, "watch what is read: %s", strerror(-r));
    if (is_socket(l))
        return 0;
    r = loop_io_add(l->loop, l->out_fd, 0, on_lines_output, l, &l->out_io, NULL);
    return r < 0 && r != -EPERM ? err_set(e, r, "watch what is written: %s", strerror(-r)) : 0;
}
