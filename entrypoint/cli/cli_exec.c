/* SPDX-License-Identifier: Apache-2.0
 *
 * ipybox exec: a cell as if it were a program. The stream of its events is read until its end; the
 * document of the execution tells the rest. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/jsonw.h"
#include "entrypoint/cli/cli.h"
#include "entrypoint/cli/cli_client.h"
#include "entrypoint/cli/cli_held.h"
#include "front/mcp/ask_text.h"
#include "wire/sse.h"

#define NAME "exec"

enum { CODE_MAX = 15 << 20, BODY_MAX = 16 << 20, BLOCK = 64 << 10, NOTE_MAX = 4096 };

struct exec {
    const struct options *options;
    struct cli_answer stream;
    struct sse sse;
    struct cli_held out;
    char id[80];
    int signals; /* tells of Ctrl-C */
    int interrupts;
    bool ended;
    int status;
};

/* --- events ----------------------------------------------------------------------------------- */

static void on_execution(struct exec *x, const struct json *data)
{
    const char *id = json_get_text(data, "id");
    (void)snprintf(x->id, sizeof x->id, "%s", id ? id : "");
}

static void on_stdout(struct exec *x, const struct json *data)
{
    const char *text = json_get_text(data, "text");
    if (text)
        cli_held_text(&x->out, text);
}

static void on_exec_stderr(struct exec *x, const struct json *data)
{
    const char *text = json_get_text(data, "text");
    (void)x;
    if (text)
        cli_write_text(STDERR_FILENO, text);
}

/* The text form of a display, a line of its own; NULL: it has none. xfree() it. */
static char *text_of(const struct json *data, const char **ret_id)
{
    const char *text = json_get_text(json_get(data, "data"), "text/plain");
    *ret_id = json_get_text(json_get(data, "transient"), "display_id");
    return text ? xasprintf("%s\n", text) : NULL;
}

static void on_bundle(struct exec *x, const struct json *data)
{
    const char *id;
    drop_str char *text = text_of(data, &id);
    if (text)
        cli_held_display(&x->out, id, text);
}

static void on_update(struct exec *x, const struct json *data)
{
    const char *id;
    drop_str char *text = text_of(data, &id);
    if (text)
        cli_held_update(&x->out, id, text);
}

static void on_clear(struct exec *x, const struct json *data)
{
    cli_held_clear(&x->out, json_true(json_get(data, "wait")));
}

static void on_exec_approval(struct exec *x, const struct json *data)
{
    const char *state = json_get_text(data, "state");
    const char *server = json_get_text(data, "server"), *tool = json_get_text(data, "tool");
    drop_buf struct buf text = BUF_INIT(NOTE_MAX);
    (void)x;
    if (!state || strcmp(state, "asked") != 0)
        return;
    ask_put_visible(&text, server ? server : "", 0);
    (void)buf_addc(&text, '.');
    ask_put_visible(&text, tool ? tool : "", 0);
    cli_complain(NAME, "waits for an approval of %s", buf_text(&text));
}

static void on_gap(struct exec *x, const struct json *data)
{
    (void)x;
    cli_complain(NAME, "%.0f events are lost: they came faster than they could be shown",
                 json_number(json_get(data, "missed")));
}

static void on_end(struct exec *x, const struct json *data)
{
    static const struct {
        const char *name;
        int status;
    } statuses[] = {
        {"ok", 0}, {"error", CLI_FAILED}, {"timeout", CLI_TIMEOUT}, {"cancelled", CLI_INTERRUPTED}};
    const char *name = json_get_text(data, "status");
    x->ended = true;
    x->status = CLI_NO_RESULT;
    for (size_t i = 0; name && i < sizeof statuses / sizeof *statuses; i++) {
        if (strcmp(statuses[i].name, name) == 0)
            x->status = statuses[i].status;
    }
}

static void on_exec_closed(struct exec *x, const struct json *data)
{
    const char *reason = json_get_text(data, "reason");
    x->ended = true;
    x->status = CLI_NO_RESULT;
    cli_complain(NAME, "%s", reason ? reason : "the server ended the stream");
}

static const struct {
    const char *type;
    void (*on)(struct exec *x, const struct json *data);
} events[] = {
    {"execution", on_execution},
    {"stdout", on_stdout},
    {"stderr", on_exec_stderr},
    {"display", on_bundle},
    {"result", on_bundle},
    {"update", on_update},
    {"clear", on_clear},
    {"approval", on_exec_approval},
    {"gap", on_gap},
    {"end", on_end},
    {"closed", on_exec_closed},
};

static void on_exec_event(struct exec *x, struct sse_event *event)
{
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (strcmp(events[i].type, event->type) != 0)
            continue;
        drop_json struct json *data = json_parse(event->data, event->n, JSON_REPAIR, NULL);
        events[i].on(x, data);
        return;
    }
}

/* --- the stream ------------------------------------------------------------------------------- */

/* The first Ctrl-C interrupts the cell, whose end then comes as an event; the second ends us, and
 * so the connection, which cancels the cell. */
static int on_interrupt(struct exec *x, struct err *e)
{
    struct signalfd_siginfo info;
    if (read(x->signals, &info, sizeof info) != (ssize_t)sizeof info)
        return 0;
    if (x->interrupts++ > 0 || !*x->id)
        return err_set(e, -EINTR, "interrupted");
    drop_str char *before = cli_path("/v1/sessions/", x->options->session, "/executions/");
    drop_str char *path = cli_path(before, x->id, "/interrupt");
    drop_buf struct buf ignored = BUF_INIT(CLI_ANSWER_MAX);
    const struct cli_request request = {.method = "POST", .path = path};
    (void)!cli_fetch(&request, &ignored, NULL); /* it may have ended meanwhile */
    return 0;
}

static int take_exec_result(struct exec *x, const char *bytes, size_t n, struct err *e)
{
    struct sse_event event;
    int r;
    while ((r = sse_next(&x->sse, &bytes, &n, &event)) > 0)
        on_exec_event(x, &event);
    return r < 0 ? err_set(e, r, "an event is too long") : 0;
}

static int follow_execution(struct exec *x, struct err *e)
{
    static char block[BLOCK];
    while (!x->ended) {
        struct pollfd fds[] = {{x->stream.fd, POLLIN, 0}, {x->signals, POLLIN, 0}};
        bool ready = x->stream.ahead.len > 0;
        if (poll(fds, 2, ready ? 0 : -1) < 0 && errno != EINTR)
            return err_set(e, -errno, "poll: %s", strerror(errno));
        int r = fds[1].revents ? on_interrupt(x, e) : 0;
        if (r < 0)
            return r;
        if (!ready && !fds[0].revents)
            continue;
        int n = cli_read(&x->stream, block, sizeof block, e);
        if (n < 0)
            return n;
        if (n == 0)
            return err_set(e, -EPIPE, "the server ended the connection");
        r = take_exec_result(x, block, (size_t)n, e);
        if (r < 0)
            return r;
    }
    return 0;
}

/* --- what the document tells ------------------------------------------------------------------ */

/* sys.exit() of the cell, as Python itself takes it: a number, nothing, or a text to be shown. */
static bool is_exit(const struct json *error, int *status)
{
    const char *name = json_get_text(error, "ename"), *value = json_get_text(error, "evalue");
    char *end = NULL;
    if (!name || !value || strcmp(name, "SystemExit") != 0)
        return false;
    const long number = strtol(value, &end, 10);
    if (*end == '\0' || strcmp(value, "None") == 0)
        *status = (int)(number & 0xff);
    else
        cli_complain(NAME, "%s", value);
    return true;
}

static void notify_rest(struct exec *x)
{
    static const char *const notes[] = {"reason", "last_words", "notice"};
    drop_str char *before = cli_path("/v1/sessions/", x->options->session, "/executions/");
    drop_str char *path = cli_path(before, x->id, "");
    drop_json struct json *doc = NULL;
    const struct cli_request request = {.method = "GET", .path = path};
    if (cli_fetch_json(&request, &doc, NULL) < 0)
        return; /* it has been dropped, or the server is gone */
    const struct json *error = json_get(doc, "error");
    const char *traceback = json_get_text(error, "traceback");
    const bool exits = is_exit(error, &x->status);
    if (traceback && !exits) {
        cli_write_text(STDERR_FILENO, traceback);
        cli_write(STDERR_FILENO, "\n", 1);
    }
    const struct json *files = json_get(doc, "files");
    for (const struct json *file = json_first(files); file; file = json_next(file)) {
        const char *name = json_get_text(file, "path");
        cli_complain(NAME, "saved %s", name ? name : "");
    }
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        const char *text = json_get_text(doc, notes[i]);
        if (text && *text)
            cli_complain(NAME, "%s", text);
    }
}

/* --- the request ------------------------------------------------------------------------------ */

static int start_execution(struct exec *x, struct err *e)
{
    const struct options *o = x->options;
    drop_buf struct buf code = BUF_INIT(CODE_MAX), body = BUF_INIT(BODY_MAX);
    drop_str char *path = cli_path("/v1/sessions/", o->session, "/executions");
    struct jsonw w = JSONW(&body);
    int r = strcmp(o->words[0], "-") == 0 ? cli_input(&code, e) : buf_adds(&code, o->words[0]);
    if (r < 0)
        return r;
    jsonw_object(&w);
    jsonw_name(&w, "code");
    jsonw_text_n(&w, buf_text(&code), code.len);
    if (o->cell_timeout > 0)
        jsonw_set_int(&w, "timeout_ms", (int64_t)o->cell_timeout * 1000);
    jsonw_end(&w);
    const struct cli_request request = {
        .method = "POST", .path = path, .body = &body, .events = true};
    return cli_ask(&request, &x->stream, e);
}

static int catch_interrupts(struct exec *x, struct err *e)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    if (sigprocmask(SIG_BLOCK, &set, NULL) == 0)
        x->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return x->signals < 0 ? err_set(e, -errno, "signalfd: %s", strerror(errno)) : 0;
}

int cli_exec(const struct options *options)
{
    struct exec x = {
        .options = options, .stream = CLI_ANSWER, .sse = SSE_INIT(CLI_EVENT_MAX), .signals = -1};
    struct err e = ERR_NONE;
    if (options->n_words == 0) {
        cli_complain(NAME, "CODE, or - for standard input, is needed");
        return OPTIONS_USAGE_STATUS;
    }
    int r = start_execution(&x, &e);
    bool refused = r == -EINVAL || r == -ENOENT;
    if (r == 0)
        r = catch_interrupts(&x, &e);
    if (r == 0)
        r = follow_execution(&x, &e);
    cli_held_end(&x.out);
    if (r == 0)
        notify_rest(&x);
    else
        cli_complain(NAME, "%s", e.msg);
    cli_answer_done(&x.stream);
    sse_done(&x.sse);
    (void)fd_close(x.signals);
    if (r == -EINTR)
        return CLI_INTERRUPTED;
    return r == 0 ? x.status : refused ? OPTIONS_USAGE_STATUS : CLI_NO_RESULT;
}
