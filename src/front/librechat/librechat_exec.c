/* SPDX-License-Identifier: Apache-2.0
 *
 * /exec: code in a session of its own, whose folder stays. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/random.h"
#include "front/http/http_context.h"
#include "front/librechat/librechat_internal.h"

enum { SETUP_MAX = 4 << 20, NAME_BYTES = 8, ERROR_CHARS = 1 << 18 };

void librechat_run_free(struct librechat_run *run)
{
    struct err e = ERR_NONE; /* -ENOENT: it has ended by itself */
    list_remove(&run->owner->runs, run);
    librechat_tools_close(run);
    loop_defer_stop(run->owner->config.loop, &run->done);
    execution_unwatch(&run->setup);
    execution_unwatch(&run->code);
    (void)!sessions_end(run->owner->config.sessions, run->name, &e);
    librechat_files_done(&run->before);
    librechat_order_done(&run->order);
    xfree(run);
}

/* Closing the connection is how a client ends its code. */
static void on_librechat_client_gone(void *ctx)
{
    librechat_run_free(ctx);
}

/* --- files of the answer ---------------------------------------------------------------------- */

static const struct librechat_input *input_of(const struct librechat_run *run, const char *name)
{
    for (size_t i = 0; i < run->order.n; i++)
        if (strcmp(run->order.inputs[i].name, name) == 0)
            return &run->order.inputs[i];
    return NULL;
}

/* A copy has the time of what it is a copy of. */
static bool is_unchanged(const struct librechat_input *input, const struct librechat_file *file)
{
    return input->st.st_size == file->st.st_size &&
           input->st.st_mtim.tv_sec == file->st.st_mtim.tv_sec &&
           input->st.st_mtim.tv_nsec == file->st.st_mtim.tv_nsec;
}

static void put_ref(struct jsonw *w, const char *id, const char *name, const char *session,
                    bool inherited)
{
    jsonw_object(w);
    jsonw_set_text(w, "id", id);
    jsonw_set_text(w, "name", name);
    jsonw_set_text(w, "storage_session_id", session);
    if (inherited)
        jsonw_set_bool(w, "inherited", true);
    jsonw_end(w);
}

/* What is new or changed, and what was brought along. */
static void put_file_of_run(struct jsonw *w, const struct librechat_run *run,
                            const struct librechat_file *file)
{
    const struct librechat_input *input = input_of(run, file->name);
    const struct librechat_file *old = librechat_find_name(&run->before, file->name);
    if (input && is_unchanged(input, file))
        put_ref(w, input->id, file->name, input->from, true);
    else if (!old || !librechat_same(old, file))
        put_ref(w, file->id, file->name, run->order.session, false);
}

static void put_deleted(struct jsonw *w, const struct librechat_run *run,
                        const struct librechat_files *now)
{
    jsonw_set_array(w, "deleted_files");
    for (size_t i = 0; i < run->before.n; i++)
        if (!librechat_find_name(now, run->before.items[i].name))
            jsonw_text(w, run->before.items[i].name);
    for (size_t i = 0; i < run->order.n; i++)
        if (!librechat_find_name(now, run->order.inputs[i].name) &&
            !librechat_find_name(&run->before, run->order.inputs[i].name))
            jsonw_text(w, run->order.inputs[i].name);
    jsonw_end(w);
}

/* Without its files, where they cannot be listed: `note` says why. */
static void put_files_of_run(struct jsonw *w, const struct librechat_run *run, struct err *note)
{
    drop_files struct librechat_files now = {0};
    struct beneath folder;
    int r =
        librechat_folder(run->owner, run->order.space, run->order.session, false, &folder, note);
    if (r == 0) {
        r = librechat_list(run->owner, &folder, &now, note);
        beneath_close(&folder);
    }
    jsonw_set_array(w, "files");
    for (size_t i = 0; r == 0 && i < now.n; i++)
        put_file_of_run(w, run, &now.items[i]);
    jsonw_end(w);
    if (r == 0)
        put_deleted(w, run, &now);
}

/* --- the answer ------------------------------------------------------------------------------- */

static const char time_is_over[] = "the code was ended at its timeout\n";

static void put_stderr(struct jsonw *w, const struct librechat_run *run, const struct err *note)
{
    const struct execution_result *x = &run->code.execution->result;
    jsonw_name(w, "stderr");
    jsonw_text_begin(w);
    jsonw_text_part(w, buf_text(&x->err), x->err.len);
    if (x->status == CELL_ERROR && run->order.language == LIBRECHAT_PYTHON)
        jsonw_text_part(w, x->traceback, strlen(x->traceback));
    if (run->timed_out) {
        jsonw_text_part(w, time_is_over, strlen(time_is_over));
    } else if (x->status > CELL_ERROR) {
        jsonw_text_part(w, x->reason, strlen(x->reason));
        jsonw_text_part(w, x->last_words, strlen(x->last_words));
    }
    if (x->streams_truncated)
        jsonw_text_part(w, "\n[the output was cut]", 21);
    if (note->code)
        jsonw_text_part(w, note->msg, strlen(note->msg));
    jsonw_text_end(w);
}

/* Words that clients know. */
static void put_status(struct jsonw *w, const struct librechat_run *run)
{
    enum cell_status status = run->code.execution->result.status;
    jsonw_set_text(w, "status", status == CELL_OK ? "completed" : "error");
    if (run->timed_out || status == CELL_TIMEOUT)
        jsonw_set_text(w, "error", "Time limit exceeded");
    else if (status != CELL_OK)
        jsonw_set_text(w, "error",
                       status == CELL_ERROR ? "Sandbox exited with code 1"
                                            : "Sandbox exited with code unknown");
}

static void answer_run(const struct librechat_run *run)
{
    drop_buf struct buf body = BUF_INIT(LIBRECHAT_ANSWER_MAX);
    const struct execution_result *x = &run->code.execution->result;
    struct err note = ERR_NONE;
    struct jsonw w = JSONW(&body);
    jsonw_object(&w);
    if (run->order.tools)
        put_status(&w, run);
    jsonw_set_text(&w, "session_id", run->order.session);
    jsonw_name(&w, "stdout");
    jsonw_text_n(&w, buf_text(&x->out), x->out.len);
    put_files_of_run(&w, run, &note);
    put_stderr(&w, run, &note);
    if (run->order.hinted) {
        jsonw_set_text(&w, "runtime_session_id", run->order.session);
        jsonw_set_text(&w, "runtime_status", run->order.reused ? "reused" : "new");
    }
    jsonw_end(&w);
    if (body.failed)
        librechat_fail(run->r, 500, "the answer is too long");
    else
        http_answer_json(run->r, 200, &body);
}

void librechat_run_finish(void *ctx)
{
    struct librechat_run *run = ctx;
    const struct execution_result *x = &run->code.execution->result;
    const struct execution *setup = run->setup.execution;
    if (x->status == CELL_REFUSED || x->status == CELL_STOPPED)
        librechat_fail(run->r, 503, "the code did not run: %s", x->reason);
    else if (setup->result.status != CELL_OK)
        librechat_fail(run->r, 500, "the files could not be brought: %s", setup->result.evalue);
    else
        answer_run(run);
    librechat_run_free(run);
}

static void on_code_changed(void *ctx)
{
    struct librechat_run *run = ctx;
    if (run->code.execution->state == EXECUTION_RUNNING && run->order.tools)
        librechat_tools_run(run);
    if (run->code.execution->state == EXECUTION_ENDED && run->r)
        loop_defer(run->owner->config.loop, &run->done, librechat_run_finish, run);
}

static void on_setup_changed(void *ctx)
{
    struct librechat_run *run = ctx;
    const struct execution *setup = run->setup.execution;
    if (setup->state == EXECUTION_ENDED && setup->result.status != CELL_OK && run->code.execution)
        execution_cancel(run->code.execution);
}

void librechat_runs_session_ended(struct librechat *l, const char *id)
{
    for (struct librechat_run *run = l->runs, *next; run; run = next) {
        next = run->next;
        if (strcmp(run->name, id) != 0)
            continue;
        if (run->r && run->code.execution->state == EXECUTION_ENDED) {
            librechat_run_finish(run);
            continue;
        }
        if (run->r)
            librechat_fail(run->r, 503, "the session has ended");
        librechat_run_free(run);
    }
}

/* --- the request ------------------------------------------------------------------------------ */

static int submit_cell(const struct sessions_view *view, struct buf *code, int64_t timeout_ms,
                       const struct request_context *origin, struct execution **ret, struct err *e)
{
    const struct execution_order order = {.cell = {.code = {code->data, code->len},
                                                   .timeout_ms = timeout_ms,
                                                   .max_chars = ERROR_CHARS,
                                                   .unsaved = true,
                                                   .origin = origin},
                                          .digest = ""};
    if (code->failed)
        return err_set(e, -EINVAL, "the code, or its arguments, are too long");
    return executions_submit(view->executions, &order, ret, e);
}

static int submit_cells(struct librechat_run *run, const struct sessions_view *view, struct err *e)
{
    drop_buf struct buf setup = BUF_INIT(SETUP_MAX), code = BUF_INIT(LIBRECHAT_BODY_MAX);
    const int64_t asked = run->order.timeout_ms ? run->order.timeout_ms : view->timeout_ms;
    const int64_t ms = run->order.tools ? SESSIONS_MS_MAX : asked; /* librechat_tools.c's */
    struct request_context origin;
    struct execution *x;
    request_context_of(run->r, &origin);
    librechat_put_setup(&run->order, &setup);
    librechat_put_code(&run->order, &code);
    int r = submit_cell(view, &setup, view->timeout_ms, &origin, &x, e);
    if (r < 0)
        return r;
    execution_watch(x, &run->setup, on_setup_changed, run);
    r = submit_cell(view, &code, ms, &origin, &x, e);
    if (r == 0)
        execution_watch(x, &run->code, on_code_changed, run);
    return r;
}

static int open_folder_of_run(struct librechat_run *run, struct err *e)
{
    struct beneath folder;
    int r = librechat_folder(run->owner, run->order.space, run->order.session, true, &folder, e);
    if (r < 0)
        return r;
    r = librechat_list(run->owner, &folder, &run->before, e);
    beneath_close(&folder);
    if (r == -EOVERFLOW) { /* the code may remove some */
        librechat_files_done(&run->before);
        r = 0;
    }
    return r;
}

static int start_run(struct librechat_run *run, struct err *e)
{
    struct librechat *l = run->owner;
    struct sessions_view view;
    char suffix[2 * NAME_BYTES + 1];
    int r = open_folder_of_run(run, e);
    if (r < 0)
        return r;
    random_hex(suffix, NAME_BYTES);
    (void)snprintf(run->name, sizeof run->name, "librechat-%s", suffix);
    drop_str char *cwd = xasprintf("%s/" LIBRECHAT_FOLDER "/%s%s", l->config.workspace,
                                   run->order.space, run->order.session);
    const struct sessions_spec spec = {.id = run->name, .cwd = cwd};
    r = sessions_create(l->config.sessions, &spec, &view, e);
    if (r < 0)
        return r;
    if (run->order.tools)
        librechat_tools_open(run);
    return submit_cells(run, &view, e);
}

struct librechat_run *librechat_run_start(struct librechat *l, struct http_request *r,
                                          bool with_tools)
{
    static const struct http_events events = {.gone = on_librechat_client_gone};
    struct err e = ERR_NONE;
    if (l->stopping) {
        librechat_fail(r, 503, "the server is stopping");
        return NULL;
    }
    struct librechat_run *run = NEW(struct librechat_run);
    *run = (struct librechat_run){.owner = l, .r = r};
    list_push(&l->runs, run);
    int code = librechat_order_read(l, r, with_tools, &run->order, &e);
    if (code == 0)
        code = start_run(run, &e);
    if (code == 0) {
        http_watch(r, &events, run);
        return run;
    }
    librechat_fail_err(r, &e);
    librechat_run_free(run);
    return NULL;
}

void librechat_post_exec(void *ctx, struct http_request *r)
{
    (void)librechat_run_start(ctx, r, false);
}
