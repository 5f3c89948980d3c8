/* SPDX-License-Identifier: Apache-2.0
 *
 * Who owns the kernel of a checkpoint: the checkpoint, until the kernel has ended, is retired, or
 * becomes the session's. Its events come here until then. */
#include "session/queue/session_checkpoints.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/text/utf8.h"
#include "session/queue/record.h"
#include "session/queue/session_internal.h"

enum { WHY_MAX = 600, NAMED_MAX = 400 };

const char *const session_not_undone[] = {
    "files that these cells have written, changed or removed",
    "what they have sent over the network, and what that has changed elsewhere",
    "shell commands and programs that they have run, but for their processes, which have ended",
    "tool calls that they have made, and approvals and grants that were given", NULL};

struct rewind {
    struct session *session;
    uint64_t cell;
    struct cell *turn;
    void (*done)(void *ctx, const struct err *why);
    void *ctx;
};

struct checkpoint {
    struct checkpoint *prev, *next; /* the next is older */
    struct session *session;
    struct kernel *kernel; /* NULL: there is none, and `why` says so */
    uint64_t cell, memory;
    bool forked, asleep, measured; /* the last: or not asked */
    struct rewind *waits;          /* for it to be asleep; NULL: nobody does */
    char why[WHY_MAX];
};

/* --- looking ---------------------------------------------------------------------------------- */

bool session_checkpoint_at(const struct session *s, size_t at, struct session_checkpoint *ret)
{
    const struct checkpoint *point = s->checkpoints;
    while (point && at-- > 0)
        point = point->next;
    if (!point)
        return false;
    *ret = (struct session_checkpoint){
        .cell = point->cell, .missing = point->kernel ? NULL : point->why, .memory = point->memory};
    return true;
}

uint64_t session_next_cell(const struct session *s)
{
    return session_cell(s) ? session_cell(s) : s->cells + 1;
}

static struct checkpoint *find_checkpoint(const struct session *s, uint64_t cell)
{
    struct checkpoint *point = s->checkpoints;
    while (point && point->cell != cell)
        point = point->next;
    return point;
}

/* --- tool calls ------------------------------------------------------------------------------- */

void session_note_call(struct session *s, const char *server, const char *tool)
{
    if (s->config->checkpoints == 0)
        return;
    if (!s->calls)
        s->calls = xcalloc(SESSION_CALLS_MAX, sizeof *s->calls);
    struct session_call *call = &s->calls[s->called++ % SESSION_CALLS_MAX];
    call->cell = session_cell(s) ? session_cell(s) : s->cells;
    (void)snprintf(call->name, sizeof call->name, "%s.%s", server, tool);
    call->name[utf8_valid_prefix(call->name, strlen(call->name))] = '\0';
}

const struct session_call *session_call_at(const struct session *s, size_t at)
{
    const uint64_t first = session_calls_dropped(s);
    return first + at < s->called ? &s->calls[(first + at) % SESSION_CALLS_MAX] : NULL;
}

uint64_t session_calls_dropped(const struct session *s)
{
    return s->called > SESSION_CALLS_MAX ? s->called - SESSION_CALLS_MAX : 0;
}

/* --- what they cost --------------------------------------------------------------------------- */

static void settle_measures(struct session *s)
{
    for (const struct checkpoint *point = s->checkpoints; point; point = point->next)
        if (!point->measured)
            return;
    struct session_measure *waiting = s->measures;
    s->measures = NULL;
    while (waiting) {
        struct session_measure *measure = waiting;
        waiting = measure->next;
        measure->done(measure->ctx);
    }
}

bool session_measure(struct session *s, struct session_measure *measure, loop_fn done, void *ctx)
{
    bool any = false;
    for (struct checkpoint *point = s->checkpoints; point; point = point->next) {
        if (!point->kernel || !point->asleep)
            continue;
        point->measured = false;
        any = true;
        kernel_measure(point->kernel);
    }
    if (!any)
        return false;
    *measure = (struct session_measure){.done = done, .ctx = ctx};
    list_push(&s->measures, measure);
    return true;
}

void session_forget_measure(struct session *s, struct session_measure *measure)
{
    list_remove(&s->measures, measure);
}

static void on_checkpoint_measured(void *ctx, uint64_t bytes)
{
    struct checkpoint *point = ctx;
    point->memory = bytes;
    point->measured = true;
    settle_measures(point->session);
}

/* The cell for which it was made may begin. */
static void end_checkpointing(struct session *s)
{
    if (s->state != CHECKPOINTING)
        return;
    loop_timer_stop(s->loop, &s->timer);
    session_rest(s);
    session_look_for_work(s);
}

/* --- their ends ------------------------------------------------------------------------------- */

static void ignore_released(void *ctx)
{
    (void)ctx;
}

/* Its kernel has ended, or is to end. */
static void empty_checkpoint(struct checkpoint *point, const char *why)
{
    static const struct kernel_leave leave = {.released = ignore_released,
                                              .gone = session_kernel_gone};
    struct session *s = point->session;
    struct kernel *kernel = point->kernel;
    point->kernel = NULL;
    point->memory = 0;
    point->measured = true;
    (void)snprintf(point->why, sizeof point->why, "%s", why);
    if (!kernel)
        return;
    s->retiring++;
    (void)kernel_retire(kernel, &leave, s);
}

static void free_checkpoint(struct checkpoint *point)
{
    list_remove(&point->session->checkpoints, point);
    xfree(point);
}

static void drop_checkpoint(struct checkpoint *point)
{
    empty_checkpoint(point, "");
    free_checkpoint(point);
}

void session_drop_checkpoints(struct session *s)
{
    while (s->checkpoints)
        drop_checkpoint(s->checkpoints);
    s->rewound = 0;
    settle_measures(s);
    end_checkpointing(s);
}

void session_free_checkpoints(struct session *s)
{
    while (s->checkpoints) {
        s->checkpoints->kernel = kernel_kill(s->checkpoints->kernel);
        free_checkpoint(s->checkpoints);
    }
    settle_measures(s);
    xfree(s->calls);
}

/* The newest that are kept, and as many that are missing. */
static void trim_checkpoints(struct session *s)
{
    size_t kept = 0, missing = 0;
    for (struct checkpoint *point = s->checkpoints, *next; point; point = next) {
        next = point->next;
        size_t *count = point->kernel ? &kept : &missing;
        if (++*count > s->config->checkpoints)
            drop_checkpoint(point);
    }
    settle_measures(s);
}

/* --- making one ------------------------------------------------------------------------------- */

static void on_checkpoint_forked(void *ctx)
{
    struct checkpoint *point = ctx;
    point->forked = true;
    end_checkpointing(point->session);
}

static void go_back_to(struct checkpoint *point);

static void on_checkpoint_ready(void *ctx)
{
    struct checkpoint *point = ctx;
    point->asleep = true;
    kernel_sleep(point->kernel, true);
    if (point->waits)
        go_back_to(point);
}

static int check_kept(const struct session *s, uint64_t cell, struct err *e);
static void fail_rewind(struct rewind *rewind, const struct err *why);

static void on_checkpoint_ended(void *ctx, const struct err *why, const char *last_words)
{
    struct checkpoint *point = ctx;
    struct session *s = point->session;
    struct rewind *waits = point->waits;
    const bool forked = point->forked;
    (void)last_words;
    point->kernel = NULL;
    point->waits = NULL;
    empty_checkpoint(point, why->msg);
    struct err e = ERR_NONE;
    if (waits && check_kept(waits->session, waits->cell, &e) < 0)
        fail_rewind(waits, &e);
    trim_checkpoints(s);
    if (!forked)
        end_checkpointing(s);
}

static void ignore_message(void *ctx, const struct jupyter_msg *m, bool current)
{
    (void)ctx, (void)m, (void)current;
}

static void ignore_done(void *ctx, const struct json *reply)
{
    (void)ctx, (void)reply;
}

static void ignore_heartbeat(void *ctx, bool alive)
{
    (void)ctx, (void)alive;
}

static const struct kernel_events checkpoint_events = {
    .ready = on_checkpoint_ready,
    .forked = on_checkpoint_forked,
    .message = ignore_message,
    .done = ignore_done,
    .heartbeat = ignore_heartbeat,
    .measured = on_checkpoint_measured,
    .ended = on_checkpoint_ended,
};

static void on_fork_late(void *ctx)
{
    struct session *s = ctx;
    if (s->state != CHECKPOINTING)
        return;
    empty_checkpoint(s->checkpoints, "the kernel was not forked within 5 s");
    trim_checkpoints(s);
    end_checkpointing(s);
}

bool session_begin_checkpoint(struct session *s)
{
    static const struct kernel_branch how = {.same_session = true, .keep_random = true};
    const struct checkpoint *newest = s->checkpoints;
    struct err e = ERR_NONE;
    if (s->config->checkpoints == 0 || (newest && newest->cell == s->cells + 1))
        return false;
    struct checkpoint *point = NEW(struct checkpoint);
    *point = (struct checkpoint){.session = s, .cell = s->cells + 1, .measured = true};
    list_push(&s->checkpoints, point);
    int r = kernel_fork(s->kernel, &how, &s->config->kernel, &checkpoint_events, point,
                        &point->kernel, &e);
    if (r < 0)
        (void)snprintf(point->why, sizeof point->why, "%s", e.msg);
    trim_checkpoints(s);
    if (r < 0)
        return false;
    if (s->config->id)
        kernel_set_owner(point->kernel, s->config->id);
    s->state = CHECKPOINTING;
    loop_timer_set(s->loop, &s->timer, SESSION_FORK_MS, on_fork_late, s);
    return true;
}

/* --- going back ------------------------------------------------------------------------------- */

/* "kept: before the cells 4, 6" */
static void name_kept(const struct session *s, struct buf *text)
{
    const char *between = "kept are the states before the cells ";
    const struct checkpoint *point = s->checkpoints;
    while (point && point->next)
        point = point->next;
    for (; point; point = point->prev) {
        if (!point->kernel)
            continue;
        (void)buf_addf(text, "%s%llu", between, (unsigned long long)point->cell);
        between = ", ";
    }
    if (text->len == 0)
        (void)buf_adds(text, "none is kept");
}

static int check_kept(const struct session *s, uint64_t cell, struct err *e)
{
    const struct checkpoint *point = find_checkpoint(s, cell);
    drop_buf struct buf kept = BUF_INIT(NAMED_MAX);
    if ((point && point->kernel) || (s->kernel && s->rewound == cell && s->rewound_at == s->cells))
        return 0;
    name_kept(s, &kept);
    return err_set(e, -ESTALE, "the state before cell %llu is not kept%s%s; %s",
                   (unsigned long long)cell, point ? ": " : "", point ? point->why : "",
                   buf_text(&kept));
}

static void end_rewind(struct rewind *rewind, const struct err *why)
{
    for (struct checkpoint *point = rewind->session->checkpoints; point; point = point->next)
        if (point->waits == rewind)
            point->waits = NULL;
    if (rewind->done)
        rewind->done(rewind->ctx, why);
    xfree(rewind);
}

/* Its turn is over: the kernel has ended, or (why == NULL) is another. */
static void on_rewind_over(void *ctx, const struct err *why)
{
    struct err told = ERR_NONE;
    if (why)
        (void)err_set(&told, -EBUSY, "the session was not rewound: %s", why->msg);
    end_rewind(ctx, why ? &told : NULL);
}

static void fail_rewind(struct rewind *rewind, const struct err *why)
{
    session_end_turn(rewind->turn);
    end_rewind(rewind, why);
}

static void drop_undone(struct session *s, uint64_t cell)
{
    while (s->checkpoints && s->checkpoints->cell >= cell)
        drop_checkpoint(s->checkpoints);
    settle_measures(s);
}

static void record_rewind(struct session *s, uint64_t cell)
{
    char text[80];
    (void)snprintf(text, sizeof text, "rewind to the state before cell %llu",
                   (unsigned long long)cell);
    record_kernel(s->events, "replaced", text);
    history_kernel(s->history, text);
    metrics_restart(s->config->metrics, RESTART_REWIND);
    s->notice[0] = '\0';
    background_drop(&s->late);
}

/* The turn stays the first of the queue until the kernel can run a cell (finish_reset()). */
static void go_back_to(struct checkpoint *point)
{
    struct session *s = point->session;
    struct kernel *kernel = point->kernel;
    const uint64_t cell = point->cell;
    point->kernel = NULL;
    point->waits = NULL;
    drop_undone(s, cell);
    record_rewind(s, cell);
    session_retire_kernel(s);
    s->kernel = kernel;
    kernel_rebind(kernel, &session_kernel_events, s, false);
    session_own_kernel(s);
    s->used = true;
    s->rewound = cell;
    s->rewound_at = s->cells;
    kernel_sleep(kernel, false);
    session_await_leaving(s);
}

static void on_rewind_turn(void *ctx)
{
    struct rewind *rewind = ctx;
    struct session *s = rewind->session;
    struct err e = ERR_NONE;
    struct checkpoint *point = find_checkpoint(s, rewind->cell);
    if (check_kept(s, rewind->cell, &e) < 0) {
        fail_rewind(rewind, &e);
    } else if (!point || !point->kernel) { /* it stands there already */
        session_end_turn(rewind->turn);
        end_rewind(rewind, NULL);
    } else if (point->asleep) {
        go_back_to(point);
    } else {
        point->waits = rewind;
    }
}

int session_rewind(struct session *s, uint64_t cell, bool wait,
                   void (*done)(void *ctx, const struct err *why), void *ctx, struct rewind **ret,
                   struct err *e)
{
    if (s->config->checkpoints == 0)
        return err_set(e, -EDOM, "no states of this session are kept (--checkpoints)");
    int r = check_kept(s, cell, e);
    if (r == 0 && !wait && s->queued > 0)
        r = err_set(e, -EBUSY,
                    "the session is busy: rewind it when it is idle, or with \"wait\": "
                    "true");
    if (r < 0)
        return r;
    struct rewind *rewind = NEW(struct rewind);
    *rewind = (struct rewind){.session = s, .cell = cell, .done = done, .ctx = ctx};
    r = session_ask_turn(s, on_rewind_turn, on_rewind_over, rewind, &rewind->turn, e);
    if (r < 0) {
        xfree(rewind);
        return r;
    }
    *ret = rewind;
    return 0;
}

void session_forget_rewind(struct rewind *rewind)
{
    rewind->done = NULL;
}
