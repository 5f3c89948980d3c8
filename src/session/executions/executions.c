/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of an end: the result is complete, watchers are told, then old results are dropped. A
 * watcher that is told may answer its client, leave, or cancel another execution; so the list is
 * walked with a mark that execution_unwatch() moves on. */
#include "session/executions/executions.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/random.h"
#include "session/events/eventlog.h"
#include "session/executions/result.h"

struct expired_key { /* of an execution that was dropped */
    struct expired_key *next;
    char *key;
    char id[2 * EXECUTION_ID_BYTES + 1];
    char digest[HMAC_HEX + 1];
};

struct executions {
    struct executions_config config;
    struct execution *first, *last;
    size_t ended, bytes;                          /* how many have ended, and their results */
    struct expired_key *expired, *newest_expired; /* oldest first */
    size_t expired_count;
    struct execution_watcher *told_next; /* while watchers are told */
};

/* --- keys ------------------------------------------------------------------------------------- */

static struct execution *find_by_key(const struct executions *all, const char *key)
{
    struct execution *x = all->first;
    while (x && (!x->key || strcmp(x->key, key) != 0))
        x = x->next;
    return x;
}

static void free_oldest_key(struct executions *all)
{
    struct expired_key *oldest = all->expired;
    all->expired = oldest->next;
    if (--all->expired_count == 0)
        all->newest_expired = NULL;
    xfree(oldest->key);
    xfree(oldest);
}

/* A request that is retried after its result has gone must not run again. */
static void remember_key(const struct execution *x)
{
    struct executions *all = x->owner;
    struct expired_key *expired = NEW(struct expired_key);
    expired->key = xstrdup(x->key);
    memcpy(expired->id, x->id, sizeof expired->id);
    memcpy(expired->digest, x->digest, sizeof expired->digest);
    *(all->newest_expired ? &all->newest_expired->next : &all->expired) = expired;
    all->newest_expired = expired;
    if (++all->expired_count > EXECUTIONS_KEYS_MAX)
        free_oldest_key(all);
}

enum executions_known executions_look_up(const struct executions *all, const char *key,
                                         const char *digest, struct execution **ret,
                                         char ret_id[static 2 * EXECUTION_ID_BYTES + 1])
{
    struct execution *x = find_by_key(all, key);
    if (x) {
        *ret = x;
        return strcmp(x->digest, digest) == 0 ? EXECUTIONS_SAME : EXECUTIONS_OTHER;
    }
    const struct expired_key *expired = all->expired;
    while (expired && strcmp(expired->key, key) != 0)
        expired = expired->next;
    if (!expired)
        return EXECUTIONS_NEW;
    memcpy(ret_id, expired->id, sizeof expired->id);
    return strcmp(expired->digest, digest) == 0 ? EXECUTIONS_EXPIRED : EXECUTIONS_OTHER;
}

/* --- the store -------------------------------------------------------------------------------- */

struct execution *executions_first(const struct executions *all)
{
    return all->first;
}

struct execution *executions_find(const struct executions *all, const char *id)
{
    struct execution *x = all->first;
    while (x && strcmp(x->id, id) != 0)
        x = x->next;
    return x;
}

static void end_pending(struct execution *x)
{
    *x->owner->config.pending -= x->code_bytes;
    x->code_bytes = 0;
}

static void free_execution(struct execution *x)
{
    struct executions *all = x->owner;
    *(x->prev ? &x->prev->next : &all->first) = x->next;
    *(x->next ? &x->next->prev : &all->last) = x->prev;
    if (x->cell)
        cell_forget(x->cell);
    end_pending(x);
    while (x->watchers)
        execution_unwatch(x->watchers);
    result_done(&x->result);
    xfree(x->key);
    xfree(x);
}

/* Oldest first; the newest stays. */
static void drop_old(struct executions *all)
{
    for (struct execution *x = all->first, *next; x && x != all->last; x = next) {
        next = x->next;
        if (all->ended <= EXECUTIONS_KEPT && all->bytes <= EXECUTIONS_BYTES_MAX)
            return;
        if (x->state != EXECUTION_ENDED || x->watchers)
            continue;
        all->ended--;
        all->bytes -= result_bytes(&x->result);
        if (x->key)
            remember_key(x);
        free_execution(x);
    }
}

struct executions *executions_open(const struct executions_config *config)
{
    struct executions *all = NEW(struct executions);
    all->config = *config;
    return all;
}

struct executions *executions_close(struct executions *all)
{
    if (!all)
        return NULL;
    while (all->first)
        free_execution(all->first);
    while (all->expired)
        free_oldest_key(all);
    xfree(all);
    return NULL;
}

/* --- watchers --------------------------------------------------------------------------------- */

void execution_watch(struct execution *x, struct execution_watcher *w, void (*changed)(void *ctx),
                     void *ctx)
{
    *w = (struct execution_watcher){.execution = x, .changed = changed, .ctx = ctx};
    list_push(&x->watchers, w);
}

void execution_unwatch(struct execution_watcher *w)
{
    if (!w->execution)
        return;
    struct executions *all = w->execution->owner;
    if (all->told_next == w)
        all->told_next = w->next;
    list_remove(&w->execution->watchers, w);
    *w = (struct execution_watcher){0};
}

/* A watcher may cancel another execution, whose watchers are told in between. */
static void notify_execution_watchers(struct execution *x)
{
    struct executions *all = x->owner;
    struct execution_watcher *outer = all->told_next, *w = x->watchers;
    for (; w; w = all->told_next) {
        all->told_next = w->next;
        w->changed(w->ctx);
    }
    all->told_next = outer;
}

/* --- the cell's events ------------------------------------------------------------------------ */

static void on_begun(void *ctx, uint64_t number)
{
    struct execution *x = ctx;
    const struct eventlog *log = session_events(x->owner->config.session);
    x->number = number;
    x->first_event = log ? eventlog_last(log) : 0;
    x->begun_ms = loop_now(x->owner->config.loop);
    x->state = EXECUTION_RUNNING;
    notify_execution_watchers(x);
}

static void on_execution_message(void *ctx, const struct jupyter_msg *m)
{
    struct execution *x = ctx;
    result_collect(&x->result, m);
}

static void on_execution_finished(void *ctx, const struct cell_result *cell)
{
    struct execution *x = ctx;
    struct executions *all = x->owner;
    const struct eventlog *log = session_events(all->config.session);
    const bool ran = x->number > 0;
    x->cell = NULL;
    x->state = EXECUTION_ENDED;
    x->last_event = log && ran ? eventlog_last(log) : 0;
    end_pending(x);
    result_finish(&x->result, cell, ran ? loop_now(all->config.loop) - x->begun_ms : -1);
    all->ended++;
    all->bytes += result_bytes(&x->result);
    all->config.used(all->config.ctx);
    notify_execution_watchers(x);
    drop_old(all);
}

/* --- ordering --------------------------------------------------------------------------------- */

static struct execution *add_execution(struct executions *all, const struct execution_order *order)
{
    struct execution *x = NEW(struct execution);
    *x = (struct execution){.owner = all,
                            .prev = all->last,
                            .key = xstrdup(order->key),
                            .created_ms = clock_real_ms(),
                            .cancel_when_left = order->cancel_when_left};
    result_init(&x->result);
    random_hex(x->id, EXECUTION_ID_BYTES);
    (void)snprintf(x->digest, sizeof x->digest, "%s", order->digest);
    *(all->last ? &all->last->next : &all->first) = x;
    all->last = x;
    return x;
}

int executions_submit(struct executions *all, const struct execution_order *order,
                      struct execution **ret, struct err *e)
{
    static const struct cell_events events = {
        .begun = on_begun, .message = on_execution_message, .finished = on_execution_finished};
    const size_t n = order->cell.code.len;
    if (*all->config.pending + n > EXECUTIONS_PENDING_MAX)
        return err_set(e, -EAGAIN, "%zu MiB of code are waiting already, which is the limit",
                       EXECUTIONS_PENDING_MAX >> 20);
    struct execution *x = add_execution(all, order);
    int r = session_execute(all->config.session, &order->cell, &events, x, &x->cell, e);
    if (r < 0) {
        free_execution(x);
        return r;
    }
    *all->config.pending += x->code_bytes = n;
    *ret = x;
    return 0;
}

void execution_cancel(struct execution *x)
{
    if (x->cell)
        cell_cancel(x->cell);
}

void execution_left(struct execution *x)
{
    if (x->cancel_when_left)
        execution_cancel(x);
}
