/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "tools/transport/transport.h"
#include "wire/rpcpeek.h"

enum {
    LINE_KEPT = 64 * 1024, /* a block that a larger line needed is given back */
    LOG_LINE_MAX = 4096,   /* a longer line of standard error is logged in pieces */
    WORDS_MAX = 280,       /* of the last words, what the sentence of an error has room for */
    WRITES_PER_TURN = 16,
    WRITE_AT_ONCE = 64 * 1024,
};

struct stdio_transport {
    struct transport transport;
    struct transport_stdio_config config;
    char *program; /* argv[0]: the rest may hold secrets */
    const struct transport_events *events;
    void *ctx;
    struct child *child; /* NULL once it has ended or was given up */
    struct buf line;     /* of standard output, read so far */
    struct buf out;      /* from out_at on: waits for the program to read */
    size_t out_at;
    struct buf err_line;       /* of standard error, read so far */
    struct buf words;          /* what it has said there last */
    struct loop_timer no_ears; /* it reads no more: what it has to say about that is waited for */
    struct loop_defer more;    /* to be written */
    bool inside;               /* an event: closing frees later */
    bool dead;
};

/* --- what it says on standard error --------------------------------------------------------- */

static void keep_words(struct stdio_transport *s, const char *line, size_t n)
{
    if (s->words.len + n + 1 > TRANSPORT_STDERR_KEPT) {
        size_t over = s->words.len + n + 1 - TRANSPORT_STDERR_KEPT;
        buf_cut_front(&s->words, over < s->words.len ? over : s->words.len);
    }
    (void)buf_add(&s->words, line, n);
    (void)buf_addc(&s->words, '\n');
}

static void log_server_line(struct stdio_transport *s, char *line, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (line[i] == '\0')
            line[i] = ' ';
    }
    if (s->config.log)
        s->config.log(s->config.log_ctx, line);
}

static void end_err_line(struct stdio_transport *s)
{
    struct buf *line = &s->err_line;
    if (line->len > 0 && line->data[line->len - 1] == '\r')
        line->data[--line->len] = '\0';
    if (line->len > 0) {
        keep_words(s, line->data, line->len);
        log_server_line(s, line->data, line->len);
    }
    buf_clear(line);
}

static void on_server_errors(void *ctx, const char *bytes, size_t n)
{
    struct stdio_transport *s = ctx;
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t room = LOG_LINE_MAX - s->err_line.len, take = end ? (size_t)(end - bytes) : n;
        bool cut = take > room;
        take = cut ? room : take;
        (void)buf_add(&s->err_line, bytes, take);
        if (cut || end)
            end_err_line(s);
        take += end && !cut;
        bytes += take;
        n -= take;
    }
}

/* Indented lines are the frames of a stack and the quoted source: what remains says more in the
 * few bytes that an error has. */
static void pick_words(struct stdio_transport *s, struct buf *out)
{
    const char *at = buf_text(&s->words), *end = at + s->words.len;
    while (at < end) {
        size_t n = strcspn(at, "\n");
        if (n > 0 && *at != ' ' && *at != '\t' && (n > 1 || (*at != '}' && *at != '^'))) {
            if (out->len > 0)
                (void)buf_adds(out, " / ");
            (void)buf_add(out, at, n);
        }
        at += n + 1;
    }
    for (size_t i = 0; i < out->len; i++) {
        if ((unsigned char)out->data[i] < ' ' || out->data[i] == 0x7F)
            out->data[i] = ' ';
    }
    if (out->len > WORDS_MAX) {
        size_t from = out->len - WORDS_MAX;
        while (from < out->len && ((unsigned char)out->data[from] & 0xC0) == 0x80)
            from++;
        buf_cut_front(out, from);
    }
}

/* --- the end -------------------------------------------------------------------------------- */

static void free_stdio_transport(struct stdio_transport *s)
{
    loop_timer_stop(s->config.loop, &s->no_ears);
    loop_defer_stop(s->config.loop, &s->more);
    buf_done(&s->line);
    buf_done(&s->out);
    buf_done(&s->err_line);
    buf_done(&s->words);
    xfree(s->program);
    xfree(s);
}

/* Around whatever calls events: one of them may close the transport. */
static void enter_server_folder(struct stdio_transport *s)
{
    s->inside = true;
}

static void leave_stdio(struct stdio_transport *s)
{
    s->inside = false;
    if (s->dead)
        free_stdio_transport(s);
}

/* Says that it is over; the child has ended or is given up here. */
static void notify_stdio_closed(struct stdio_transport *s, const struct err *why)
{
    loop_timer_stop(s->config.loop, &s->no_ears);
    loop_defer_stop(s->config.loop, &s->more);
    s->child = child_end_gently(s->child, s->config.close_grace_ms);
    buf_done(&s->out);
    buf_done(&s->line);
    s->events->closed(s->ctx, why);
}

static void explain_end(struct stdio_transport *s, const struct child_exit *how,
                        const struct err *why, struct err *ret)
{
    drop_buf struct buf words = BUF_INIT(4 * TRANSPORT_STDERR_KEPT);
    pick_words(s, &words);
    const char *said = words.len > 0 ? "; its last words: " : "";
    if (how && how->limit)
        (void)err_set(ret, -EPIPE, "the server was killed: %s%s%s", how->limit, said,
                      buf_text(&words));
    else if (how && how->signal)
        (void)err_set(ret, -EPIPE, "the server ended (killed by signal %d)%s%s", how->signal, said,
                      buf_text(&words));
    else if (how)
        (void)err_set(ret, -EPIPE, "the server ended (exit status %d)%s%s", how->code, said,
                      buf_text(&words));
    else if (why->code == -ENOENT && strchr(s->program, '/'))
        (void)err_set(ret, -ENOENT, "%s: no such program, or its interpreter is missing",
                      s->program);
    else if (why->code == -ENOENT)
        (void)err_set(ret, -ENOENT, "%s: no such program in PATH", s->program);
    else
        (void)err_set(ret, why->code, "%s: %s%s%s", s->program, why->msg, said, buf_text(&words));
}

/* --- what it says on standard output -------------------------------------------------------- */

static void on_line(struct stdio_transport *s, char *text, size_t n)
{
    rpc_trim(&text, &n);
    text[n] = '\0';
    if (n == 0)
        return;
    if (rpc_looks_like_message(text, n)) {
        s->events->message(s->ctx, text, n);
        return;
    }
    if (n > LOG_LINE_MAX)
        text[n = LOG_LINE_MAX] = '\0';
    log_server_line(s, text, n);
}

/* The line is complete but for its end. */
static void end_server_line(struct stdio_transport *s)
{
    on_line(s, s->line.data, s->line.len);
    buf_reuse(&s->line, LINE_KEPT);
}

static void stdio_message_too_long(struct stdio_transport *s)
{
    struct err why = ERR_NONE;
    if (s->line.failed == -EMSGSIZE)
        (void)err_set(&why, -EMSGSIZE,
                      "the server sent a message that is longer than the limit of %zu MiB",
                      TRANSPORT_MESSAGE_MAX >> 20);
    else
        (void)err_set(&why, s->line.failed, "no memory for a message of the server");
    notify_stdio_closed(s, &why);
}

static void on_server_output(void *ctx, const char *bytes, size_t n)
{
    struct stdio_transport *s = ctx;
    enter_server_folder(s);
    while (n > 0 && s->child && !s->dead) {
        const char *end = memchr(bytes, '\n', n);
        size_t take = end ? (size_t)(end - bytes) : n;
        if (buf_add(&s->line, bytes, take) < 0) {
            stdio_message_too_long(s);
            break;
        }
        if (end)
            end_server_line(s);
        take += end != NULL;
        bytes += take;
        n -= take;
    }
    leave_stdio(s);
}

/* It goes on. */
static void on_server_limited(void *ctx, const char *text)
{
    struct stdio_transport *s = ctx;
    drop_str char *line = xstrdup(text);
    log_server_line(s, line, strlen(line));
}

static void on_server_process_ended(void *ctx, const struct child_exit *how, const struct err *why)
{
    struct stdio_transport *s = ctx;
    s->child = NULL;
    enter_server_folder(s);
    if (s->line.len > 0)
        end_server_line(s); /* without a line's end; a whole message all the same */
    if (!s->dead) {
        end_err_line(s);
        struct err told = ERR_NONE;
        explain_end(s, how, why, &told);
        notify_stdio_closed(s, &told);
    }
    leave_stdio(s);
}

/* --- sending -------------------------------------------------------------------------------- */

static void on_no_ears(void *ctx)
{
    struct stdio_transport *s = ctx;
    struct err why = ERR_NONE;
    (void)err_set(&why, -EPIPE, "the server closed its standard input");
    enter_server_folder(s);
    notify_stdio_closed(s, &why);
    leave_stdio(s);
}

static void on_server_more(void *ctx);

/* 0: the rest waits for `writable` or its next turn. Usually a program that reads no more is
 * ending, and its end says more. */
static int write_out_stdio(struct stdio_transport *s)
{
    struct buf *out = &s->out;
    for (int i = 0; i < WRITES_PER_TURN && s->out_at < out->len; i++) {
        size_t n = out->len - s->out_at;
        ssize_t r =
            child_write(s->child, out->data + s->out_at, n < WRITE_AT_ONCE ? n : WRITE_AT_ONCE);
        if (r == -EPIPE) {
            buf_done(out);
            s->out_at = 0;
            if (!s->no_ears.armed)
                loop_timer_set(s->config.loop, &s->no_ears, s->config.close_grace_ms, on_no_ears,
                               s);
            return -EPIPE;
        }
        if (r < 0)
            return 0;
        s->out_at += (size_t)r;
    }
    if (s->out_at < out->len) {
        loop_defer(s->config.loop, &s->more, on_server_more, s);
        return 0;
    }
    buf_done(out);
    s->out_at = 0;
    return 0;
}

static void on_server_more(void *ctx)
{
    struct stdio_transport *s = ctx;
    (void)write_out_stdio(s);
}

static int stdio_send(struct transport *t, const struct transport_message *m, struct err *e)
{
    struct stdio_transport *s = (struct stdio_transport *)(void *)t;
    if (!s->child || s->no_ears.armed)
        return err_set(e, -EPIPE, "the server has ended");
    if (m->n > TRANSPORT_MESSAGE_MAX)
        return err_set(e, -EMSGSIZE, "the message is longer than the limit of %zu MiB",
                       TRANSPORT_MESSAGE_MAX >> 20);
    size_t waiting = s->out.len - s->out_at;
    if (waiting + m->n + 1 > TRANSPORT_BACKLOG_MAX)
        return err_set(e, -EAGAIN, "the server does not read its standard input");
    if (s->out_at > waiting) { /* moves less than was written since it moved last */
        buf_cut_front(&s->out, s->out_at);
        s->out_at = 0;
    }
    if (buf_reserve(&s->out, m->n + 1) < 0) {
        s->out.failed = 0;
        return err_set(e, -EAGAIN, "no memory for messages to the server");
    }
    (void)buf_add(&s->out, m->text, m->n);
    (void)buf_addc(&s->out, '\n');
    return waiting > 0              ? 0
           : write_out_stdio(s) < 0 ? err_set(e, -EPIPE, "the server has ended")
                                    : 0;
}

static void stdio_forget(struct transport *t, const char *id)
{
    (void)t, (void)id; /* its answer is like any other */
}

static void stdio_close(struct transport *t)
{
    struct stdio_transport *s = (struct stdio_transport *)(void *)t;
    s->child = child_end_gently(s->child, s->config.close_grace_ms);
    if (s->inside)
        s->dead = true;
    else
        free_stdio_transport(s);
}

int transport_stdio_open(const struct transport_stdio_config *config,
                         const struct transport_events *events, void *ctx, struct transport **ret,
                         struct err *e)
{
    static const struct transport_ops ops = {
        .send = stdio_send, .forget = stdio_forget, .close = stdio_close};
    static const struct child_events child_events = {.output = on_server_output,
                                                     .errors = on_server_errors,
                                                     .writable = on_server_more,
                                                     .limited = on_server_limited,
                                                     .ended = on_server_process_ended};
    struct stdio_transport *s = NEW(struct stdio_transport);
    s->transport.ops = &ops;
    s->config = *config;
    s->program = xstrdup(config->argv[0]);
    s->events = events;
    s->ctx = ctx;
    s->line = BUF_INIT(TRANSPORT_MESSAGE_MAX);
    s->out = BUF_INIT(2 * TRANSPORT_BACKLOG_MAX); /* the part that was written included */
    s->err_line = BUF_INIT(LOG_LINE_MAX);
    s->words = BUF_INIT(2 * TRANSPORT_STDERR_KEPT);
    struct child_spec spec = {.argv = config->argv,
                              .envp = config->envp,
                              .cwd = config->cwd,
                              .piped = true,
                              .sandbox = config->sandbox};
    int r = child_start(config->spawner, &spec, &child_events, s, &s->child, e);
    if (r < 0) {
        free_stdio_transport(s);
        return r;
    }
    *ret = &s->transport;
    return 0;
}
