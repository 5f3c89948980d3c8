/* SPDX-License-Identifier: Apache-2.0
 *
 * process.v1.ProcessService of sandboxd: commands of the default session, beside its cells. A
 * client that cancels, or is gone, ends what it started: nobody could read its result. */
#include <string.h>

#include "base/alloc.h"
#include "base/secret.h"
#include "front/agentsandbox/agentsandbox_internal.h"
#include "front/grpc/protobuf.h"
#include "front/http/http_auth.h"

#define SERVICE "/process.v1.ProcessService/"

/* Both fit a message of 4 MiB, the longest that gRPC's clients take unless told otherwise. */
enum { STDOUT_MAX = 3 << 20, STDERR_MAX = 960 << 10, CHUNK_MAX = 32 << 10, SECOND_MS = 1000 };

struct asb_call {
    struct agentsandbox *owner;
    struct h2_stream *call;
    struct command_reader reader;
    struct asb_kept kept; /* of Execute */
    bool streams;         /* Start */
    int64_t timeout_ms;
};

bool asb_admit_call(void *ctx, struct h2_stream *call)
{
    static const char why[] = "bring IPYBOX_TOKEN or IPYBOX_EXECUTE_TOKEN as x-ipybox-token";
    const struct agentsandbox *a = ctx;
    char token[HTTP_TOKEN_MAX + 1];
    bool brought = grpc_token(call, token, sizeof token);
    const char *role = asb_role_of(a, brought ? token : NULL);
    if (asb_is_open(a))
        return true;
    if (role) {
        http_guard_admit_from(a->guard, h2_peer(call), role);
        return true;
    }
    bool late = http_guard_holds_up(a->guard, h2_peer(call));
    grpc_refuse(call, late ? HTTP_GUARD_DELAY_MS : 0, GRPC_UNAUTHENTICATED, why);
    return false;
}

/* --- a command that is waited for ------------------------------------------------------------- */

static void free_asb_call(struct asb_call *c)
{
    command_unfollow(&c->reader);
    asb_kept_done(&c->kept);
    xfree(c);
}

static void on_asb_call_gone(void *ctx)
{
    struct asb_call *c = ctx;
    if (c->reader.command)
        (void)!command_kill(c->reader.command, true);
    free_asb_call(c);
}

static void on_asb_call_writable(void *ctx)
{
    struct asb_call *c = ctx;
    command_continue(&c->reader);
}

enum { EVENT_INIT = 1, EVENT_STDOUT = 2, EVENT_STDERR = 3, EVENT_EXIT = 4, EVENT_MORE = 16 };

/* A StartResponse with this event; returns as h2_write(). */
static int send_asb_event(struct asb_call *c, uint32_t event, const char *bytes, size_t n)
{
    drop_buf struct buf message = BUF_INIT(n + EVENT_MORE);
    protobuf_put_bytes(&message, event, bytes, n);
    return message.failed ? -ENOBUFS : grpc_send(c->call, &message);
}

/* Of an event with one number: InitEvent, ExitEvent. */
static int send_asb_number(struct asb_call *c, uint32_t event, int32_t number)
{
    drop_buf struct buf inner = BUF_INIT(EVENT_MORE);
    protobuf_put_number(&inner, 1, (uint64_t)(int64_t)number);
    return send_asb_event(c, event, buf_text(&inner), inner.len);
}

static void on_asb_call_started(void *ctx, pid_t pid)
{
    struct asb_call *c = ctx;
    if (c->streams)
        (void)!send_asb_number(c, EVENT_INIT, (int32_t)pid);
}

static bool on_asb_call_output(void *ctx, enum command_stream stream, const char *bytes, size_t n)
{
    struct asb_call *c = ctx;
    uint32_t event = stream == COMMAND_STDERR ? EVENT_STDERR : EVENT_STDOUT;
    int r = 0;
    if (!c->streams) {
        asb_keep(&c->kept, stream, bytes, n);
        return true;
    }
    for (size_t at = 0; at < n && r >= 0; at += CHUNK_MAX)
        r = send_asb_event(c, event, bytes + at, n - at < CHUNK_MAX ? n - at : CHUNK_MAX);
    if (r < 0) {
        grpc_fail(c->call, GRPC_RESOURCE_EXHAUSTED, "too much output waits for its readers");
        on_asb_call_gone(c);
    }
    return r == 0;
}

static void answer_executed(struct asb_call *c, const struct command_end *end)
{
    drop_buf struct buf message = BUF_INIT(STDOUT_MAX + STDERR_MAX + (size_t)2 * ASB_NOTE_MAX);
    drop_buf struct buf err = BUF_INIT(STDERR_MAX + (size_t)ASB_NOTE_MAX);
    (void)buf_add(&err, buf_text(&c->kept.err), c->kept.err.len);
    asb_put_note(&err, &c->kept, end, (double)c->timeout_ms / SECOND_MS);
    protobuf_put_number(&message, 1, (uint64_t)(int64_t)asb_exit_code(end));
    protobuf_put_bytes(&message, 2, buf_text(&c->kept.out), c->kept.out.len);
    protobuf_put_bytes(&message, 3, buf_text(&err), err.len);
    grpc_answer(c->call, &message);
}

static void on_asb_call_ended(void *ctx, const struct command_end *end)
{
    struct asb_call *c = ctx;
    struct err e = ERR_NONE;
    if (end->why) {
        (void)err_set(&e, end->error < 0 ? end->error : -EIO, "%s", end->why);
        grpc_fail_as(c->call, &e);
    } else if (end->timed_out) {
        grpc_fail(c->call, GRPC_DEADLINE_EXCEEDED, "the command ran out of its time, %g seconds",
                  (double)c->timeout_ms / SECOND_MS);
    } else if (!c->streams) {
        answer_executed(c, end);
    } else {
        (void)!send_asb_number(c, EVENT_EXIT, asb_exit_code(end));
        grpc_end(c->call);
    }
    free_asb_call(c);
}

static void start_asb_call(struct agentsandbox *a, struct h2_stream *call, const char *message,
                           size_t n, bool streams)
{
    static const struct command_events events = {on_asb_call_started, on_asb_call_output,
                                                 on_asb_call_ended};
    static const struct h2_events watch = {.writable = on_asb_call_writable,
                                           .gone = on_asb_call_gone};
    drop_asb_config struct asb_config config = {0};
    struct sessions_view view;
    struct err e = ERR_NONE;
    int r = a->stopping || !sessions_find(a->config.sessions, SESSIONS_DEFAULT, &view)
                ? err_set(&e, -ESHUTDOWN, "the server is stopping")
                : asb_config_read(a, message, n, &config, &e);
    if (r < 0) {
        grpc_fail_as(call, &e);
        return;
    }
    struct asb_call *c = NEW(struct asb_call);
    *c = (struct asb_call){.owner = a,
                           .call = call,
                           .kept = ASB_KEPT(a, STDOUT_MAX, STDERR_MAX),
                           .streams = streams,
                           .timeout_ms = grpc_timeout_ms(call)};
    const struct command_spec spec = {.program = config.program,
                                      .args = config.args,
                                      .envs = config.envs,
                                      .cwd = config.cwd,
                                      .input = streams,
                                      .terminal = streams && config.terminal,
                                      .columns = config.columns,
                                      .rows = config.rows,
                                      .timeout_ms = c->timeout_ms};
    sessions_touch(a->config.sessions, SESSIONS_DEFAULT);
    r = command_start(view.commands, &spec, &events, c, &c->reader, &e);
    if (r == 0) {
        h2_watch(call, &watch, c);
        return;
    }
    grpc_fail_as(call, &e);
    free_asb_call(c);
}

static void on_execute(void *ctx, struct h2_stream *call, const char *message, size_t n)
{
    start_asb_call(ctx, call, message, n, false);
}

static void on_asb_start(void *ctx, struct h2_stream *call, const char *message, size_t n)
{
    start_asb_call(ctx, call, message, n, true);
}

/* --- the other calls: process_id = 1, and what to do with it ---------------------------------- */

struct asb_order {
    int32_t id;
    uint64_t number[4];          /* by their fields */
    struct protobuf_field bytes; /* the last of them */
};

static int read_order(const char *message, size_t n, struct asb_order *ret, struct err *e)
{
    struct protobuf_reader r = {message, n};
    struct protobuf_field f;
    int found;
    while ((found = protobuf_next(&r, &f)) > 0) {
        if (f.type == PROTOBUF_NUMBER && f.number <= 3)
            ret->number[f.number] = f.value;
        else if (f.type == PROTOBUF_BYTES && f.number <= 3)
            ret->bytes = f;
    }
    ret->id = (int32_t)ret->number[1];
    return found < 0 ? err_set(e, -EINVAL, "the message is broken") : 0;
}

static int describe_order(int code, int32_t id, struct err *e)
{
    switch (code) {
    case 0:
        return 0;
    case -ESRCH:
        return err_set(e, -ENOENT, "process %d has ended", id);
    case -EPIPE:
        return err_set(e, code, "process %d has no input any more", id);
    case -ENOTTY:
        return err_set(e, code, "process %d: this is for a terminal, or it has one", id);
    case -EAGAIN:
        return err_set(e, code, "process %d does not read its input", id);
    default:
        return err_set(e, code, "process %d: %s", id, strerror(-code));
    }
}

static void
order_command(struct agentsandbox *a, struct h2_stream *call, const char *message, size_t n,
              int (*run)(struct command *command, const struct asb_order *order, struct err *e))
{
    static const struct buf nothing = {0};
    struct asb_order order = {0};
    struct sessions_view view;
    struct err e = ERR_NONE;
    int r = read_order(message, n, &order, &e);
    struct command *command =
        r == 0 && order.id > 0 && sessions_find(a->config.sessions, SESSIONS_DEFAULT, &view)
            ? commands_find(view.commands, order.id)
            : NULL;
    if (r == 0 && !command)
        r = err_set(&e, -ENOENT, "process %d not found", order.id);
    if (r == 0)
        r = run(command, &order, &e);
    if (r != 0 && e.code == 0)
        (void)describe_order(r, order.id, &e);
    if (r < 0)
        grpc_fail_as(call, &e);
    else
        grpc_answer(call, &nothing);
}

static int run_write(struct command *command, const struct asb_order *order, struct err *e)
{
    (void)e;
    if (order->bytes.number == 3)
        return command_close_input(command);
    return order->bytes.number == 2 ? command_type(command, order->bytes.data, order->bytes.n) : 0;
}

static void on_write_stdin(void *ctx, struct h2_stream *call, const char *message, size_t n)
{
    order_command(ctx, call, message, n, run_write);
}

static int run_signal_of(struct command *command, const struct asb_order *order, struct err *e)
{
    enum { INTERRUPT = 2, KILL = 9, TERMINATE = 15 };
    switch (order->number[2]) {
    case INTERRUPT:
        return command_interrupt(command);
    case KILL:
    case TERMINATE:
        return command_kill(command, order->number[2] == KILL);
    default:
        return err_set(e, -EINVAL, "signal: 2, 9 or 15 is needed");
    }
}

static void on_send_signal(void *ctx, struct h2_stream *call, const char *message, size_t n)
{
    order_command(ctx, call, message, n, run_signal_of);
}

static int run_resize(struct command *command, const struct asb_order *order, struct err *e)
{
    uint64_t columns = order->number[2], rows = order->number[3];
    if (columns < 1 || columns > ASB_CELLS_MAX || rows < 1 || rows > ASB_CELLS_MAX)
        return err_set(e, -EINVAL, "cols and rows of 1 to %d are needed", ASB_CELLS_MAX);
    return command_resize(command, (unsigned short)columns, (unsigned short)rows);
}

static void on_resize(void *ctx, struct h2_stream *call, const char *message, size_t n)
{
    order_command(ctx, call, message, n, run_resize);
}

const struct grpc_method asb_process_methods[] = {
    {SERVICE "Execute", on_execute},        {SERVICE "Start", on_asb_start},
    {SERVICE "WriteStdin", on_write_stdin}, {SERVICE "SendSignal", on_send_signal},
    {SERVICE "ResizeTTY", on_resize},       {NULL, NULL},
};
