/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens to a session is an event of dispatch(): the kernel's news, a timer, work in the
 * queue. The table steps[][] says what an event means in a state; an empty place means nothing.
 * Who completes a cell: the step that takes it off the queue. It is step_done() (the kernel has
 * answered), step_replace() (the cell ignored its interrupt), step_lost_running() (the kernel died)
 * or refuse_cell() (it never ran). Each calls `finished` once, and the cell is freed behind it.
 * Re-entry: what `finished` submits is queued, and the loop runs it later
 * (session_look_for_work()), so no
 * cell begins inside the end of another one. All of it runs on the loop's thread. */
#include "session/queue/session_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "output/collect.h"
#include "session/queue/record.h"
#include "session/queue/share.h"

enum { TRACEBACK_MAX = 4 << 20 };

static void dispatch(struct session *s, enum event event);
static void check_closed(struct session *s);

static void want_work(void *ctx)
{
    dispatch(ctx, WORK);
}

void session_look_for_work(struct session *s)
{
    loop_defer(s->loop, &s->work, want_work, s);
}

/* --- results -------------------------------------------------------------------------------- */

static void free_cell(struct cell *cell)
{
    output_done(&cell->output);
    xfree(cell->code);
    xfree(cell);
}

struct cell *session_take_first(struct session *s)
{
    struct cell *cell = s->queue;
    s->queue = cell->next;
    s->queued--;
    s->running = false;
    loop_timer_stop(s->loop, &s->timer);
    return cell;
}

/* The answer says what was deleted for its files: its reader may have the names of old ones. */
static void delete_old_files(struct session *s, const struct output *o)
{
    char text[200];
    if (!retention_is_due(&s->config->retention, o))
        return;
    struct retention_result gone = retention_apply(&s->config->retention, o);
    if (gone.files == 0)
        return;
    (void)snprintf(text, sizeof text,
                   "%zu of the oldest files in images/ and outputs/ (%llu bytes) were deleted, as "
                   "--keep-files, --keep-files-size or --keep-files-age says",
                   gone.files, (unsigned long long)gone.bytes);
    s->config->log(LOG_INFO, text);
    size_t n = strlen(s->notice);
    (void)snprintf(s->notice + n, sizeof s->notice - n, "%s%s.", n > 0 ? " " : "", text);
}

static void notify_finished(struct session *s, struct cell *cell, struct cell_result *result)
{
    bool ran = result->status != CELL_REFUSED && result->status != CELL_CANCELLED;
    result->number = cell->number;
    share_room(s, cell, result, ran && !cell->abandoned);
    delete_old_files(s, &cell->output);
    result->output = &cell->output;
    record_result(result);
    if (cell->number > 0) {
        record_end(s->events, result);
        record_history_end(s->history, result);
        record_audit_end(s->config, cell->number, cell->origin.request_id, result->status,
                         loop_now(s->loop) - cell->begun_ms);
    }
    metrics_cell(s->config->metrics, (int)result->status,
                 cell->number > 0 ? loop_now(s->loop) - cell->begun_ms : -1);
    result->notice = ran ? s->notice : "";
    cell->events->finished(cell->ctx, result);
    if (cell->abandoned) {
        background_text(&s->late, buf_text(&cell->output.text));
    } else if (ran) {
        s->notice[0] = '\0';
        background_told(&s->late);
    }
    free_cell(cell);
}

static void finish_reset(struct session *s)
{
    struct cell *cell = session_take_first(s);
    cell->reset_done(cell->ctx, NULL);
    free_cell(cell);
}

/* Something that was queued and will not run. */
static void refuse_cell(struct session *s, struct cell *cell, enum cell_status status,
                        const char *reason)
{
    if (!cell->reset_done) {
        notify_finished(s, cell, &(struct cell_result){.status = status, .reason = reason});
        return;
    }
    struct err why = ERR_NONE;
    (void)err_set(&why, -ECANCELED, "%s", reason);
    cell->reset_done(cell->ctx, &why);
    free_cell(cell);
}

static void refuse_all_cells(struct session *s, const struct err *why)
{
    while (s->queue)
        refuse_cell(s, session_take_first(s), CELL_REFUSED, why->msg);
}

/* --- kernel's events ------------------------------------------------------------------------ */

static void on_session_kernel_ready(void *ctx)
{
    dispatch(ctx, READY);
}

static void on_session_message(void *ctx, const struct jupyter_msg *m, bool current)
{
    struct session *s = ctx;
    bool in_cell = current && (s->state == RUNNING || s->state == INTERRUPTED);
    struct cell *cell = in_cell ? s->queue : NULL;
    const char *printed = m->type == JUPYTER_STREAM ? json_get_text(m->content, "text") : NULL;
    if (printed && s->config->metrics)
        s->config->metrics->output_bytes += strlen(printed);
    const bool carried = record_message(s->events, cell ? cell->number : s->cells, !cell, m);
    history_message(s->history, HISTORY_SESSION, m);
    if (!cell) {
        background_message(&s->late, m);
        return;
    }
    if (m->type == JUPYTER_EXECUTE_INPUT && s->state == INTERRUPTED)
        kernel_interrupt(s->kernel); /* the first may have come before the code began */
    if (cell->events->message)
        cell->events->message(cell->ctx, m);
    cell->output.unsaved = cell->unsaved && carried;
    if (m->type == JUPYTER_ERROR)
        failure_set(&s->failure, m->content);
    else
        collect(&cell->output, m, cell->events->text, cell->ctx);
}

static void on_session_external(void *ctx, const struct jupyter_msg *m)
{
    struct session *s = ctx;
    if (s->config->gateway) /* else code in the kernel has made it up */
        external_message(&s->external, &s->place, m);
}

static void on_session_cell_done(void *ctx, const struct json *reply)
{
    struct session *s = ctx;
    s->reply = reply;
    dispatch(s, DONE);
    s->reply = NULL;
}

static void on_session_heartbeat(void *ctx, bool alive)
{
    struct session *s = ctx;
    if (s->paused)
        return;
    s->config->log(LOG_WARNING, alive ? "the kernel answers its heartbeat again"
                                      : "the kernel does not answer its heartbeat; resuming it");
    if (!alive)
        kernel_resume(s->kernel); /* it may have been stopped by a signal */
}

/* Of the running cell as a rule; else the next one's answer says it. */
static void on_session_limited(void *ctx, const char *text)
{
    struct session *s = ctx;
    (void)snprintf(s->notice, sizeof s->notice, "A budget of this kernel is used up: %s.", text);
    s->config->log(LOG_WARNING, text);
}

static void on_session_refused(void *ctx, const char *text)
{
    struct session *s = ctx;
    refusals_add(&s->refusals, text);
}

const struct refusals *session_refusals(const struct session *s)
{
    return &s->refusals;
}

static void on_session_kernel_ended(void *ctx, const struct err *why, const char *last_words)
{
    struct session *s = ctx;
    s->kernel = NULL;
    external_lost(&s->external, &s->place);
    loop_defer_stop(s->loop, &s->spare_ready);
    s->why = why;
    s->last_words = last_words;
    dispatch(s, LOST);
    s->why = NULL;
}

const struct kernel_events session_kernel_events = {
    .ready = on_session_kernel_ready,
    .forked = session_kernel_forked,
    .message = on_session_message,
    .external = on_session_external,
    .done = on_session_cell_done,
    .heartbeat = on_session_heartbeat,
    .limited = on_session_limited,
    .refused = on_session_refused,
    .ended = on_session_kernel_ended,
};

static void on_released(void *ctx)
{
    struct session *s = ctx;
    s->leaving = NULL;
    dispatch(s, RELEASED);
}

void session_kernel_gone(void *ctx)
{
    struct session *s = ctx;
    s->retiring--;
    check_closed(s);
}

void session_retire_kernel(struct session *s)
{
    static const struct kernel_leave leave = {.released = on_released, .gone = session_kernel_gone};
    if (!s->kernel)
        return;
    struct kernel *kernel = s->kernel;
    s->kernel = NULL;
    loop_defer_stop(s->loop, &s->spare_ready);
    s->retiring++;
    s->leaving = kernel;
    (void)kernel_retire(kernel, &leave, s);
}

/* --- steps: what an event means in a state -------------------------------------------------- */

void session_own_kernel(struct session *s)
{
    external_lost(&s->external, &s->place); /* of the kernel before */
    s->state = STARTING;
    s->used = false;
    s->rewound = 0;
    if (s->config->metrics)
        s->config->metrics->kernels++;
    if (s->config->id)
        kernel_set_owner(s->kernel, s->config->id);
}

static void start_kernel(struct session *s)
{
    struct err e = ERR_NONE;
    bool ready = false;
    if (s->config->pool)
        s->kernel = pool_take(s->config->pool, &session_kernel_events, s, &ready);
    if (!s->kernel &&
        kernel_start(&s->config->kernel, &session_kernel_events, s, &s->kernel, &e) < 0) {
        s->state = DOWN;
        s->config->log(LOG_ERROR, e.msg);
        refuse_all_cells(s, &e);
        return;
    }
    session_own_kernel(s);
    if (ready)
        loop_defer(s->loop, &s->spare_ready, on_session_kernel_ready, s);
}

static void step_start(struct session *s)
{
    if (s->queue && !s->closing && !s->paused)
        start_kernel(s);
}

static void start_reset(struct session *s)
{
    if (s->queue->before_reset)
        s->queue->before_reset(s->queue->ctx);
    record_kernel(s->events, "replaced", "reset");
    history_kernel(s->history, "the session was reset");
    metrics_restart(s->config->metrics, RESTART_RESET);
    s->running = true;
    s->notice[0] = '\0';
    background_drop(&s->late);
    session_drop_checkpoints(s);
    session_retire_kernel(s);
    start_kernel(s);
}

void session_cell_late(void *ctx)
{
    dispatch(ctx, TIMEOUT);
}

static void start_cell(struct session *s)
{
    struct cell *cell = s->queue;
    struct slice code = {cell->code, cell->code_len};
    struct err e = ERR_NONE;
    failure_clear(&s->failure);
    if (record_audit_begin(s->config, s->cells + 1, &cell->origin, code, &e) < 0 ||
        kernel_execute(s->kernel, code, cell->tell_variables ? KERNEL_CELL_TELLING : KERNEL_CELL,
                       &e) < 0) {
        struct cell_result result = {.status = CELL_REFUSED, .reason = e.msg};
        notify_finished(s, session_take_first(s), &result);
        session_look_for_work(s);
        return;
    }
    cell->number = ++s->cells;
    cell->begun_ms = loop_now(s->loop);
    record_begin(s->events, cell->number, &cell->origin, code);
    history_begin(s->history, HISTORY_SESSION, code);
    if (cell->events->begun)
        cell->events->begun(cell->ctx, cell->number);
    s->running = s->used = true;
    s->state = RUNNING;
    s->held_ms = cell->timeout_ms;
    if (!s->held)
        loop_timer_set(s->loop, &s->timer, cell->timeout_ms, session_cell_late, s);
}

static void on_kernel_idle(void *ctx)
{
    dispatch(ctx, IDLED);
}

void session_rest(struct session *s)
{
    s->state = IDLE;
    if (s->config->kernel_idle_ms > 0)
        loop_timer_set(s->loop, &s->idle, s->config->kernel_idle_ms, on_kernel_idle, s);
}

static void step_work(struct session *s)
{
    if (!s->queue || s->paused)
        return;
    if (s->queue->turn)
        session_begin_turn(s);
    else if (s->queue->reset_done)
        start_reset(s);
    else if (!session_begin_checkpoint(s))
        start_cell(s);
}

/* True: it runs, and its end is told as DONE. */
static bool start_setup(struct session *s)
{
    if (!s->config->setup || s->branch)
        return false;
    drop_str char *code = xstrdup(s->config->setup);
    return kernel_execute(s->kernel, (struct slice){code, strlen(code)}, KERNEL_ASIDE, NULL) == 0;
}

static void step_begin(struct session *s)
{
    session_rest(s);
    if (s->paused)
        kernel_freeze(s->kernel);
    record_kernel(s->events, "ready", s->branch ? "forked" : "");
    s->branch = false;
    if (s->running) /* a reset waits for this kernel */
        finish_reset(s);
    session_look_for_work(s);
    session_tell_watcher(s);
    session_tell_born(s, NULL);
}

/* What the kernel before held (files, ports, processes) is free when the next one runs a cell. */
void session_await_leaving(struct session *s)
{
    if (!s->leaving) {
        step_begin(s);
        return;
    }
    s->state = WAITING;
    kernel_look(s->leaving);
}

static void step_ready(struct session *s)
{
    s->state = SETTING_UP;
    if (!start_setup(s))
        session_await_leaving(s);
}

static void step_set_up(struct session *s)
{
    const char *status = json_get_text(s->reply, "status");
    const char *why = json_get_text(s->reply, "evalue");
    if (!status || strcmp(status, "ok") != 0)
        (void)snprintf(s->notice, sizeof s->notice,
                       "The session's directory and variables could not be set in this kernel: %s",
                       why ? why : "the kernel did not say why");
    session_await_leaving(s);
}

static void step_start_failed(struct session *s)
{
    s->state = DOWN;
    struct err e = ERR_NONE, sentence = ERR_NONE;
    bool incomplete = strstr(s->last_words, "No module named") != NULL;
    (void)err_set(&sentence, s->why->code, "no kernel could be started: %s%s%s", s->why->msg,
                  incomplete ? "; this Python lacks what a kernel needs: install ipybox into its "
                               "environment, or name another one (--python)"
                             : "",
                  *s->last_words ? "; it wrote: " : "");
    (void)err_set_words(&e, sentence.code, sentence.msg, s->last_words);
    if (!s->branch) /* who asked for that hears it */
        s->config->log(LOG_ERROR, e.msg);
    refuse_all_cells(s, &e);
    check_closed(s);
    session_tell_born(s, s->why);
}

static void note_new_kernel(struct session *s, const char *why)
{
    (void)snprintf(s->notice, sizeof s->notice,
                   "This cell ran in a new kernel: %s. Variables and imports made before are gone.",
                   why);
    history_kernel(s->history, why);
}

/* exit() answers, and the process ends a moment later: the next cell must not run into that. */
static void replace_after_exit(struct session *s)
{
    note_new_kernel(s, "the cell before it called exit()");
    session_retire_kernel(s);
    if (!s->closing)
        start_kernel(s);
}

static void step_done(struct session *s)
{
    bool interrupted = s->state == INTERRUPTED;
    session_rest(s);
    bool exits = collect_payload(&s->queue->output, s->reply);
    const char *status = json_get_text(s->reply, "status");
    bool ok = status && strcmp(status, "ok") == 0;
    if (!ok && !s->failure.ename)
        failure_set(&s->failure, s->reply);
    struct cell_result result = {
        .status = interrupted ? s->stopped_as
                  : ok        ? CELL_OK
                              : CELL_ERROR,
        .ename = s->failure.ename,
        .evalue = s->failure.evalue,
        .traceback = buf_text(&s->failure.traceback),
        .reason = interrupted ? "the cell was interrupted; the kernel keeps its state" : "",
        .variables = json_get(s->reply, "variables"),
    };
    notify_finished(s, session_take_first(s), &result);
    if (exits)
        replace_after_exit(s);
    session_look_for_work(s);
}

/* Its next cell starts another. Who has run nothing in it misses nothing. */
static void step_idled(struct session *s)
{
    if (s->queue || s->paused || external_running(&s->external)) {
        session_rest(s);
        return;
    }
    s->state = DOWN;
    record_kernel(s->events, "ended", "idle");
    metrics_restart(s->config->metrics, RESTART_IDLE);
    if (s->used)
        note_new_kernel(s, "the one before was idle for longer than --kernel-idle-timeout");
    session_drop_checkpoints(s);
    session_retire_kernel(s);
    session_tell_watcher(s);
}

static void on_grace_over(void *ctx)
{
    dispatch(ctx, GRACE_OVER);
}

static void interrupt_as(struct session *s, enum cell_status status)
{
    s->stopped_as = status;
    s->state = INTERRUPTED;
    kernel_interrupt(s->kernel);
    loop_timer_set(s->loop, &s->timer, s->config->interrupt_grace_ms, on_grace_over, s);
}

static void step_timeout(struct session *s)
{
    interrupt_as(s, CELL_TIMEOUT);
}

static void step_cancel(struct session *s)
{
    interrupt_as(s, CELL_CANCELLED);
}

/* A cell that another client has interrupted, and whose kernel is gone with it. */
static enum cell_status lost_as(const struct session *s)
{
    return s->stopped_as == CELL_ERROR ? CELL_LOST : s->stopped_as;
}

/* Who runs the next cell may be another, who has not seen the answer of this one. */
static void note_ignored(struct session *s)
{
    note_new_kernel(s, s->stopped_as == CELL_CANCELLED
                           ? "the cell before it was cancelled and ignored the interrupt"
                       : s->stopped_as == CELL_TIMEOUT
                           ? "the cell before it ran into its time limit and ignored the interrupt"
                           : "the cell before it ignored its interrupt");
}

static void step_replace(struct session *s)
{
    session_retire_kernel(s);
    s->state = DOWN;
    record_kernel(s->events, "replaced", "a cell ignored its interrupt");
    metrics_restart(s->config->metrics, RESTART_UNRESPONSIVE);
    struct cell_result result = {
        .status = lost_as(s),
        .reason = "the cell ignored the interrupt, so its kernel was ended and a new one is "
                  "started: all variables and imports are gone",
        .kernel_replaced = true,
    };
    notify_finished(s, session_take_first(s), &result);
    note_ignored(s);
    if (!s->closing)
        start_kernel(s);
    session_look_for_work(s);
}

static void step_lost_idle(struct session *s)
{
    s->state = DOWN;
    s->config->log(LOG_WARNING, s->why->msg);
    record_kernel(s->events, "lost", s->why->msg);
    metrics_restart(s->config->metrics, RESTART_LOST);
    note_new_kernel(s, s->why->msg);
    if (!s->closing && s->used)
        start_kernel(s);
    session_look_for_work(s);
    check_closed(s);
}

static void step_lost_lent(struct session *s)
{
    session_lose_turn(s);
    step_lost_idle(s);
}

static void step_lost_running(struct session *s)
{
    struct err why = *s->why;
    struct cell_result result = {
        .status = s->state == INTERRUPTED ? lost_as(s) : CELL_LOST,
        .reason = why.msg,
        .last_words = s->last_words,
        .kernel_replaced = true,
    };
    notify_finished(s, session_take_first(s), &result);
    step_lost_idle(s);
}

static void (*const steps[STATE__COUNT][EVENT__COUNT])(struct session *s) = {
    [DOWN] = {[WORK] = step_start},
    [STARTING] = {[READY] = step_ready, [LOST] = step_start_failed},
    [SETTING_UP] = {[DONE] = step_set_up, [LOST] = step_start_failed},
    [WAITING] = {[RELEASED] = step_begin, [LOST] = step_start_failed},
    [IDLE] = {[WORK] = step_work, [LOST] = step_lost_idle, [IDLED] = step_idled},
    [LENT] = {[LOST] = step_lost_lent},
    [CHECKPOINTING] = {[LOST] = step_lost_idle},
    [RUNNING] = {[DONE] = step_done,
                 [TIMEOUT] = step_timeout,
                 [CANCEL] = step_cancel,
                 [LOST] = step_lost_running},
    [INTERRUPTED] = {[DONE] = step_done, [GRACE_OVER] = step_replace, [LOST] = step_lost_running},
};

/* An empty place: the event means nothing in this state (a second cancel, a late timer). */
static void dispatch(struct session *s, enum event event)
{
    if (steps[s->state][event])
        steps[s->state][event](s);
    if (event != WORK)
        check_closed(s);
}

/* --- calls from above ----------------------------------------------------------------------- */

struct session *session_new(const struct session_config *config)
{
    struct session *s = NEW(struct session);
    *s = (struct session){.config = config, .loop = config->kernel.loop};
    background_init(&s->late, config->workspace);
    s->events = record_open(config);
    s->history = record_open_history(config);
    s->place = (struct external_place){s->loop,    config->audit, config->metrics,
                                       s->history, config->id,    NULL};
    failure_init(&s->failure, TRACEBACK_MAX);
    return s;
}

int session_open(const struct session_config *config, struct session **ret, struct err *e)
{
    struct session *s = session_new(config);
    (void)e;
    if (!config->lazy)
        start_kernel(s);
    *ret = s;
    return 0;
}

int session_enqueue(struct session *s, struct cell *cell, struct cell **ret, struct err *e)
{
    int r = 0;
    if (s->closing)
        r = err_set(e, -ESHUTDOWN, "the server is stopping");
    else if (s->queued >= SESSION_QUEUE_MAX)
        r = err_set(e, -EAGAIN, "%d cells are waiting already", SESSION_QUEUE_MAX);
    if (r < 0) {
        free_cell(cell);
        return r;
    }
    chain_append(&s->queue, cell);
    *ret = cell;
    s->queued++;
    session_look_for_work(s);
    return 0;
}

int session_execute(struct session *s, const struct cell_request *request,
                    const struct cell_events *events, void *ctx, struct cell **ret, struct err *e)
{
    struct cell *cell = NEW(struct cell);
    cell->session = s;
    cell->code = xstrndup(request->code.data, request->code.len);
    cell->code_len = request->code.len;
    cell->timeout_ms = request->timeout_ms;
    cell->unsaved = request->unsaved;
    cell->tell_variables = request->tell_variables;
    if (request->origin)
        cell->origin = *request->origin;
    cell->events = events;
    cell->ctx = ctx;
    output_init(&cell->output, s->config->workspace, request->max_chars,
                s->config->output_file_limit);
    return session_enqueue(s, cell, ret, e);
}

int session_reset(struct session *s, void (*done)(void *ctx, const struct err *why), void *ctx,
                  struct cell **ret, struct err *e)
{
    struct cell *cell = NEW(struct cell);
    cell->session = s;
    cell->reset_done = done;
    cell->ctx = ctx;
    output_init(&cell->output, s->config->workspace, 0, 0);
    return session_enqueue(s, cell, ret, e);
}

void cell_cancel(struct cell *cell)
{
    struct session *s = cell->session;
    if (s->queue == cell && s->running) {
        dispatch(s, CANCEL);
        return;
    }
    chain_remove(&s->queue, cell);
    s->queued--;
    refuse_cell(s, cell, CELL_CANCELLED, "cancelled before it ran");
    check_closed(s);
}

int session_confine(struct session *s, const char *settings,
                    void (*done)(void *ctx, const struct err *why), void *ctx, struct err *e)
{
    session_drop_checkpoints(s); /* or the settings before would come back with one */
    return is_session_starting(s->state) || !s->kernel
               ? 1
               : kernel_confine(s->kernel, settings, done, ctx, e);
}

void session_renew(struct session *s)
{
    if (!is_session_starting(s->state))
        return;
    s->kernel = kernel_kill(s->kernel);
    loop_defer_stop(s->loop, &s->spare_ready);
    start_kernel(s);
}

/* --- other clients of the kernel -------------------------------------------------------------- */

void session_interrupt(struct session *s, bool insist)
{
    if (insist && s->state == RUNNING)
        interrupt_as(s, CELL_ERROR);
    else if (s->kernel && !is_session_starting(s->state))
        kernel_interrupt(s->kernel);
}

/* --- closing -------------------------------------------------------------------------------- */

static void check_closed(struct session *s)
{
    if (!s->closing || s->queue || !s->closed)
        return;
    s->state = DOWN;
    session_drop_checkpoints(s);
    session_retire_kernel(s);
    if (s->retiring > 0 || !s->closed)
        return;
    loop_timer_stop(s->loop, &s->close_timer);
    loop_fn closed = s->closed;
    s->closed = NULL;
    closed(s->closed_ctx);
}

static void on_close_deadline(void *ctx)
{
    struct session *s = ctx;
    struct err why = ERR_NONE;
    (void)err_set(&why, -ESHUTDOWN, "the server is stopping");
    if (s->running && !s->queue->reset_done) {
        struct cell_result result = {.status = CELL_STOPPED, .reason = why.msg};
        notify_finished(s, session_take_first(s), &result);
    }
    s->kernel = kernel_kill(s->kernel);
    loop_defer_stop(s->loop, &s->spare_ready);
    s->state = DOWN;
    refuse_all_cells(s, &why);
    check_closed(s);
}

void session_close(struct session *s, int64_t grace_ms, loop_fn done, void *ctx)
{
    session_pause(s, false);
    s->closing = true;
    s->closed = done;
    s->closed_ctx = ctx;
    loop_timer_set(s->loop, &s->close_timer, grace_ms, on_close_deadline, s);
    check_closed(s);
}

struct session *session_free(struct session *s)
{
    if (!s)
        return NULL;
    struct err why = ERR_NONE;
    (void)err_set(&why, -ESHUTDOWN, "the server has stopped");
    refuse_all_cells(s, &why);
    external_lost(&s->external, &s->place);
    (void)kernel_kill(s->kernel);
    session_free_checkpoints(s);
    refusals_free(&s->refusals);
    loop_timer_stop(s->loop, &s->timer);
    loop_timer_stop(s->loop, &s->idle);
    loop_timer_stop(s->loop, &s->close_timer);
    loop_defer_stop(s->loop, &s->work);
    loop_defer_stop(s->loop, &s->spare_ready);
    failure_done(&s->failure);
    background_done(&s->late);
    s->events = eventlog_close(s->events);
    s->history = history_close(s->history);
    xfree(s);
    return NULL;
}
