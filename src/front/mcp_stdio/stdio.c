/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp_stdio/stdio.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/jsonscan.h"
#include "base/log.h"
#include "loop/lines.h"

enum { OUTPUT_MAX = 1 << 30 };

struct stdio {
    struct loop *loop;
    struct mcp *mcp;
    const struct stdio_events *events;
    void *ctx;
    struct lines lines;
    int out_flags;
    struct loop_defer end;
    bool dropping; /* the rest of a line that is too long */
    struct jsonscan scan;
    bool heard, stopped, ended;
};

/* --- the end -------------------------------------------------------------------------------- */

static void notify_stdin_end(void *ctx)
{
    struct stdio *s = ctx;
    s->events->ended(s->ctx);
}

static void check_end(void *ctx)
{
    struct stdio *s = ctx;
    if (s->ended || !s->stopped || !mcp_is_idle(s->mcp) || s->lines.out.len > 0)
        return;
    s->ended = true;
    loop_defer(s->loop, &s->end, notify_stdin_end, s);
}

void stdio_stop(struct stdio *s)
{
    lines_stop_reading(&s->lines);
    s->stopped = true;
    mcp_input_ended(s->mcp);
    check_end(s);
}

static void on_reader_gone(void *ctx)
{
    struct stdio *s = ctx;
    if (s->ended)
        return;
    s->ended = s->stopped = true;
    s->events->ended(s->ctx);
}

static void send_message(void *ctx, const struct mcp_out *message)
{
    struct stdio *s = ctx;
    struct buf *out = &s->lines.out;
    if (s->ended)
        return;
    (void)buf_add(out, message->text, message->n);
    (void)buf_addc(out, '\n');
    if (out->failed)
        log_error("stdio", "%zu bytes of answers are waiting to be read; giving up", out->len);
    lines_flush(&s->lines);
}

/* --- input ---------------------------------------------------------------------------------- */

static void on_stdin_line(void *ctx, char *line, size_t n)
{
    struct stdio *s = ctx;
    s->heard = true;
    if (n > 0 && line[n - 1] == '\r')
        n--;
    if (n > 0)
        mcp_message(s->mcp, line, n);
}

static void on_stdin_too_long(void *ctx, const char *piece, size_t n, bool last)
{
    struct stdio *s = ctx;
    if (!s->dropping)
        s->scan = (struct jsonscan){0};
    s->heard = true;
    s->dropping = !last;
    jsonscan_feed(&s->scan, piece, n);
    if (last)
        mcp_too_long(s->mcp, jsonscan_id(&s->scan), STDIO_LINE_MAX);
}

static bool has_other_end(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

static void on_stdin_end(void *ctx)
{
    struct stdio *s = ctx;
    s->events->input_ended(s->ctx, s->heard                        ? STDIO_HEARD
                                   : has_other_end(s->lines.in_fd) ? STDIO_SILENT
                                                                   : STDIO_NOBODY);
}

/* --- opening -------------------------------------------------------------------------------- */

static int take_descriptors(struct stdio *s, struct err *e)
{
    int out = s->lines.out_fd = fcntl(1, F_DUPFD_CLOEXEC, 3);
    if (out < 0 || dup2(2, 1) < 0)
        return err_set(e, -errno, "move standard output: %s", strerror(errno));
    s->out_flags = fcntl(out, F_GETFL);
    if (s->out_flags < 0 || fcntl(out, F_SETFL, s->out_flags | O_NONBLOCK) < 0)
        return err_set(e, -errno, "standard output: %s", strerror(errno));
    return lines_open(&s->lines, e);
}

int stdio_open(const struct mcp_config *config, const struct stdio_events *events, void *ctx,
               struct stdio **ret, struct err *e)
{
    static const struct mcp_events mcp_events = {.send = send_message, .idle = check_end};
    static const struct lines_events lines_events = {.line = on_stdin_line,
                                                     .too_long = on_stdin_too_long,
                                                     .input_ended = on_stdin_end,
                                                     .moved = check_end,
                                                     .ended = on_reader_gone};
    struct stdio *s = NEW(struct stdio);
    *s = (struct stdio){.loop = config->loop, .events = events, .ctx = ctx};
    s->lines = (struct lines){.loop = config->loop,
                              .events = &lines_events,
                              .ctx = s,
                              .in_fd = 0,
                              .out_fd = -1,
                              .line_max = STDIO_LINE_MAX,
                              .backlog_max = STDIO_BACKLOG_MAX,
                              .out = BUF_INIT(OUTPUT_MAX)};
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
    lines_close(&s->lines);
    loop_defer_stop(s->loop, &s->end);
    if (s->lines.out_fd >= 0) /* the flag belongs to the file, which others may share */
        (void)fcntl(s->lines.out_fd, F_SETFL, s->out_flags);
    (void)fd_close(s->lines.out_fd);
    xfree(s);
    return NULL;
}
