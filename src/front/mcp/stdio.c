/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp/stdio.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/jsonscan.h"
#include "base/log.h"

enum { READ_CHUNK = 64 * 1024, OUTPUT_MAX = 1 << 30 };

struct stdio {
    struct loop *loop;
    struct mcp *mcp;
    const struct stdio_events *events;
    void *ctx;
    int in, out, out_flags;
    struct loop_io *in_io, *out_io;
    struct loop_defer more; /* input that epoll does not watch: a regular file */
    struct loop_defer end;
    struct buf line;
    bool dropping; /* the rest of a line that is too long */
    struct jsonscan scan;
    struct buf output;
    size_t written; /* bytes of output's front that are out */
    bool heard, stopped, ended;
};

/* --- the end -------------------------------------------------------------------------------- */

static void notify_stdin_end(void *ctx)
{
    struct stdio *s = ctx;
    s->events->ended(s->ctx);
}

static void check_end(struct stdio *s)
{
    if (s->ended || !s->stopped || !mcp_is_idle(s->mcp) || s->output.len > s->written)
        return;
    s->ended = true;
    loop_defer(s->loop, &s->end, notify_stdin_end, s);
}

void stdio_stop(struct stdio *s)
{
    s->in_io = loop_io_del(s->in_io);
    loop_defer_stop(s->loop, &s->more);
    s->stopped = true;
    mcp_input_ended(s->mcp);
    check_end(s);
}

static void reader_is_gone(struct stdio *s)
{
    buf_clear(&s->output);
    s->written = 0;
    s->out_io = loop_io_del(s->out_io);
    s->ended = s->stopped = true;
    s->in_io = loop_io_del(s->in_io);
    loop_defer(s->loop, &s->end, notify_stdin_end, s);
}

/* --- output --------------------------------------------------------------------------------- */

static void watch_stdio(struct stdio *s)
{
    size_t waiting = s->output.len - s->written;
    if (s->in_io)
        loop_io_set(s->in_io, waiting < STDIO_BACKLOG_MAX ? LOOP_IN : 0);
    if (s->out_io)
        loop_io_set(s->out_io, waiting > 0 ? LOOP_OUT : 0);
}

static void write_stdout(struct stdio *s)
{
    while (s->written < s->output.len) {
        ssize_t n = write(s->out, s->output.data + s->written, s->output.len - s->written);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            reader_is_gone(s);
            return;
        }
        s->written += (size_t)n;
    }
    if (s->written == s->output.len) {
        s->written = 0;
        buf_done(&s->output);
    } else if (s->written > STDIO_BACKLOG_MAX && s->written > s->output.len / 2) {
        buf_cut_front(&s->output, s->written);
        s->written = 0;
    }
    watch_stdio(s);
    check_end(s);
}

static void on_stdout_writable(void *ctx, unsigned events)
{
    struct stdio *s = ctx;
    if (events & LOOP_HUP && !(events & LOOP_OUT))
        reader_is_gone(s);
    else
        write_stdout(s);
}

static void send_message(void *ctx, const struct mcp_out *message)
{
    struct stdio *s = ctx;
    if (s->ended)
        return;
    (void)buf_add(&s->output, message->text, message->n);
    (void)buf_addc(&s->output, '\n');
    if (s->output.failed) {
        log_error("stdio", "%zu bytes of answers are waiting to be read; giving up", s->output.len);
        reader_is_gone(s);
        return;
    }
    write_stdout(s);
}

static void on_stdio_idle(void *ctx)
{
    check_end(ctx);
}

/* --- input ---------------------------------------------------------------------------------- */

static void end_of_line(struct stdio *s)
{
    s->heard = true;
    if (s->dropping) {
        mcp_too_long(s->mcp, jsonscan_id(&s->scan), STDIO_LINE_MAX);
        s->dropping = false;
        return;
    }
    size_t n = s->line.len;
    if (n > 0 && s->line.data[n - 1] == '\r')
        n--;
    if (n > 0)
        mcp_message(s->mcp, s->line.data, n);
    if (s->line.size > READ_CHUNK * 4)
        buf_done(&s->line); /* one long line is no reason to keep its memory */
    else
        buf_clear(&s->line);
}

static void start_dropping(struct stdio *s)
{
    s->dropping = true;
    s->scan = (struct jsonscan){0};
    jsonscan_feed(&s->scan, buf_text(&s->line), s->line.len);
    buf_done(&s->line);
}

static void feed(struct stdio *s, const char *bytes, size_t n)
{
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t part = end ? (size_t)(end - bytes) : n;
        if (!s->dropping && s->line.len + part > STDIO_LINE_MAX)
            start_dropping(s);
        if (s->dropping)
            jsonscan_feed(&s->scan, bytes, part);
        else
            (void)buf_add(&s->line, bytes, part);
        if (!end)
            return;
        end_of_line(s);
        bytes = end + 1;
        n -= part + 1;
    }
}

static void end_of_input(struct stdio *s)
{
    if (s->line.len > 0 || s->dropping)
        end_of_line(s); /* the last line may lack its break */
    bool heard = s->heard;
    s->in_io = loop_io_del(s->in_io);
    s->events->input_ended(s->ctx, heard);
}

/* One chunk: true when another may follow. */
static bool read_stdin(struct stdio *s)
{
    static char chunk[READ_CHUNK];
    ssize_t n = read(s->in, chunk, sizeof chunk);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (n <= 0) {
        end_of_input(s);
        return false;
    }
    feed(s, chunk, (size_t)n);
    return !s->stopped;
}

static void on_stdin_readable(void *ctx, unsigned events)
{
    (void)events;
    (void)read_stdin(ctx);
}

static void on_stdin_more(void *ctx)
{
    struct stdio *s = ctx;
    if (read_stdin(s))
        loop_defer(s->loop, &s->more, on_stdin_more, s);
}

/* --- opening -------------------------------------------------------------------------------- */

static int take_descriptors(struct stdio *s, struct err *e)
{
    s->in = 0;
    s->out = fcntl(1, F_DUPFD_CLOEXEC, 3);
    if (s->out < 0 || dup2(2, 1) < 0)
        return err_set(e, -errno, "move standard output: %s", strerror(errno));
    s->out_flags = fcntl(s->out, F_GETFL);
    if (s->out_flags < 0 || fcntl(s->out, F_SETFL, s->out_flags | O_NONBLOCK) < 0)
        return err_set(e, -errno, "standard output: %s", strerror(errno));
    int r = loop_io_add(s->loop, s->in, LOOP_IN, on_stdin_readable, s, &s->in_io, NULL);
    if (r == -EPERM) /* a file: always readable */
        loop_defer(s->loop, &s->more, on_stdin_more, s);
    else if (r < 0)
        return err_set(e, r, "standard input: %s", strerror(-r));
    r = loop_io_add(s->loop, s->out, 0, on_stdout_writable, s, &s->out_io, NULL);
    return r < 0 && r != -EPERM ? err_set(e, r, "standard output: %s", strerror(-r)) : 0;
}

int stdio_open(const struct mcp_config *config, const struct stdio_events *events, void *ctx,
               struct stdio **ret, struct err *e)
{
    static const struct mcp_events mcp_events = {.send = send_message, .idle = on_stdio_idle};
    struct stdio *s = NEW(struct stdio);
    *s = (struct stdio){.loop = config->loop, .events = events, .ctx = ctx, .out = -1};
    s->line = BUF_INIT(STDIO_LINE_MAX);
    s->output = BUF_INIT(OUTPUT_MAX);
    s->mcp = mcp_new(config, &mcp_events, s);
    int r = take_descriptors(s, e);
    if (r < 0) {
        (void)stdio_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

struct stdio *stdio_free(struct stdio *s)
{
    if (!s)
        return NULL;
    s->ended = s->stopped = true;
    s->mcp = mcp_free(s->mcp);
    s->in_io = loop_io_del(s->in_io);
    s->out_io = loop_io_del(s->out_io);
    loop_defer_stop(s->loop, &s->more);
    loop_defer_stop(s->loop, &s->end);
    if (s->out >= 0) /* the flag belongs to the file, which others may share */
        (void)fcntl(s->out, F_SETFL, s->out_flags);
    (void)fd_close(s->out);
    buf_done(&s->line);
    buf_done(&s->output);
    xfree(s);
    return NULL;
}
