/* SPDX-License-Identifier: Apache-2.0
 *
 * /execute: a command line runs in the session, beside its cells, and is answered when it has
 * ended. A client that goes away ends it: nobody could read its result. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json/json.h"
#include "front/agentsandbox/agentsandbox_internal.h"
#include "session/commands/commands.h"

enum { ANSWER_TIMES = 6, ANSWER_MORE = 4 << 10, SECOND = 1000, TIMED_OUT = 124 };

struct asb_run {
    struct agentsandbox *owner;
    struct http_request *r;
    struct command_reader reader;
    struct asb_kept kept;
    double seconds; /* 0: no limit */
};

static void free_asb_run(struct asb_run *run)
{
    command_unfollow(&run->reader);
    asb_kept_done(&run->kept);
    xfree(run);
}

static void on_asb_run_gone(void *ctx)
{
    struct asb_run *run = ctx;
    if (run->reader.command)
        (void)!command_kill(run->reader.command, true);
    free_asb_run(run);
}

static void on_asb_started(void *ctx, pid_t pid)
{
    (void)ctx, (void)pid;
}

static bool on_asb_output(void *ctx, enum command_stream stream, const char *bytes, size_t n)
{
    struct asb_run *run = ctx;
    asb_keep(&run->kept, stream, bytes, n);
    return true;
}

static void on_asb_ended(void *ctx, const struct command_end *end)
{
    struct asb_run *run = ctx;
    const struct buf *out = &run->kept.out, *err = &run->kept.err;
    drop_buf struct buf body = BUF_INIT(ANSWER_TIMES * (out->len + err->len) + ANSWER_MORE);
    drop_buf struct buf note = BUF_INIT(ASB_NOTE_MAX);
    struct jsonw w = JSONW(&body);
    int code = end->why ? 1 : end->timed_out ? TIMED_OUT : asb_exit_code(end);
    asb_put_note(&note, &run->kept, end, run->seconds);
    jsonw_object(&w);
    jsonw_name(&w, "stdout");
    jsonw_text_n(&w, buf_text(out), out->len);
    jsonw_name(&w, "stderr");
    jsonw_text_begin(&w);
    jsonw_text_part(&w, buf_text(err), err->len);
    jsonw_text_part(&w, buf_text(&note), note.len);
    jsonw_text_end(&w);
    jsonw_set_int(&w, "exit_code", code);
    if (end->timed_out)
        jsonw_set_bool(&w, "timed_out", true);
    jsonw_end(&w);
    if (body.failed)
        http_problem(run->r, 500, NULL, 0, "the answer is too long");
    else
        http_answer_json(run->r, 200, &body);
    free_asb_run(run);
}

static const struct command_events asb_run_events = {on_asb_started, on_asb_output, on_asb_ended};

/* --- the request ------------------------------------------------------------------------------ */

/* The command line as arguments of a shell; owned. */
static struct json *shell_words(const char *command)
{
    drop_buf struct buf text = BUF_INIT(ANSWER_TIMES * strlen(command) + ANSWER_MORE);
    struct jsonw w = JSONW(&text);
    jsonw_array(&w);
    jsonw_text(&w, "-c");
    jsonw_text(&w, command);
    jsonw_end(&w);
    return text.failed ? NULL : json_parse_copy(buf_text(&text), text.len, JSON_REQUEST, NULL);
}

static int read_run_seconds(const struct json *value, double *ret, struct err *e)
{
    *ret = 0;
    if (!value || json_is_null(value))
        return 0;
    *ret = json_number(value);
    if (json_is_number(value) && *ret >= 1.0 / SECOND && *ret * SECOND <= (double)SESSIONS_MS_MAX)
        return 0;
    return err_set(e, -EINVAL, "timeout_seconds: a number from 0.001 to %lld is needed",
                   (long long)SESSIONS_MS_MAX / SECOND);
}

int asb_execute_read(const struct json *body, const char **ret_command, double *ret_seconds,
                     struct err *e)
{
    if (!body || !json_is_object(body))
        return err_set(e, -EINVAL, "the body: a JSON object is needed");
    *ret_command = json_text(json_get(body, "command"));
    if (!*ret_command)
        return err_set(e, -EINVAL, "command: a text is needed");
    return read_run_seconds(json_get(body, "timeout_seconds"), ret_seconds, e);
}

static int start_asb_run(struct agentsandbox *a, struct http_request *r, const char *command,
                         double seconds, struct err *e)
{
    static const struct http_events events = {.gone = on_asb_run_gone};
    struct sessions_view view;
    drop_json struct json *words = shell_words(command);
    if (a->stopping || !sessions_find(a->config.sessions, SESSIONS_DEFAULT, &view))
        return err_set(e, -ESHUTDOWN, "the server is stopping");
    if (!words)
        return err_set(e, -EINVAL, "command: it is too long, or no text");
    struct asb_run *run = NEW(struct asb_run);
    *run = (struct asb_run){.owner = a,
                            .r = r,
                            .kept = ASB_KEPT(a, AGENTSANDBOX_OUTPUT_MAX, AGENTSANDBOX_OUTPUT_MAX),
                            .seconds = seconds};
    const struct command_spec spec = {
        .program = "/bin/sh", .args = words, .timeout_ms = (int64_t)(seconds * SECOND)};
    sessions_touch(a->config.sessions, SESSIONS_DEFAULT);
    int code = command_start(view.commands, &spec, &asb_run_events, run, &run->reader, e);
    if (code < 0)
        free_asb_run(run);
    else
        http_watch(r, &events, run);
    return code;
}

void asb_execute(void *ctx, struct http_request *r)
{
    struct buf *text = http_body(r);
    struct err e = ERR_NONE;
    const char *command = NULL;
    double seconds;
    drop_json struct json *body =
        text->len > 0 ? json_parse(text->data, text->len, JSON_REQUEST, NULL) : NULL;
    int code = asb_execute_read(body, &command, &seconds, &e);
    if (code == 0)
        code = start_asb_run(ctx, r, command, seconds, &e);
    if (code < 0)
        asb_fail(r, &e);
}
