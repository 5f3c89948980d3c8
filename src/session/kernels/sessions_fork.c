/* SPDX-License-Identifier: Apache-2.0
 *
 * The parent's kernel is lent from the moment at which its turn has come until the last of the
 * forks has left it; then its cells go on, and the forks come up on their own. When one of them
 * does not, none is made: fail_fork() says so once, and frees them in the next turn of the loop, as
 * it may be called by one of them. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/list.h"
#include "session/kernels/sessions_internal.h"

struct sessions_fork {
    struct sessions_fork *prev, *next;
    struct sessions *all;
    struct session_entry *parent; /* NULL: it has been let go */
    struct cell *turn;            /* NULL: it is over */
    struct session_entry *entries[SESSIONS_FORK_MAX];
    char parent_id[SESSIONS_ID_MAX + 1], name[SESSIONS_ID_MAX + 1];
    size_t count, made, forked, ready;
    bool force, keep_random, failed;
    struct sessions_fork_spec told;
    struct err why;
    struct loop_defer end;
};

static void free_fork(struct sessions_fork *fork)
{
    list_remove(&fork->all->forks, fork);
    loop_defer_stop(fork->all->loop, &fork->end);
    for (size_t i = 0; i < fork->made; i++)
        sessions_free_entry(fork->entries[i]);
    xfree(fork);
}

static void give_kernel_back(struct sessions_fork *fork)
{
    struct cell *turn = fork->turn;
    fork->turn = NULL;
    if (turn)
        session_end_turn(turn);
}

static void on_fork_failed(void *ctx)
{
    struct sessions_fork *fork = ctx;
    give_kernel_back(fork);
    if (fork->told.done)
        fork->told.done(fork->told.ctx, NULL, 0, &fork->why);
    free_fork(fork);
}

static void fail_fork(struct sessions_fork *fork, const struct err *why)
{
    if (fork->failed)
        return;
    fork->failed = true;
    fork->why = *why;
    loop_defer(fork->all->loop, &fork->end, on_fork_failed, fork);
}

/* --- its sessions ----------------------------------------------------------------------------- */

static void finish_fork(void *ctx)
{
    struct sessions_fork *fork = ctx;
    const char *ids[SESSIONS_FORK_MAX];
    for (size_t i = 0; i < fork->made; i++) {
        struct session_entry *entry = fork->entries[i];
        entry->fork = NULL;
        ids[i] = entry->id;
        sessions_announce(entry, fork->parent_id);
    }
    const size_t n = fork->made;
    fork->made = 0; /* they are their own now */
    if (fork->told.done)
        fork->told.done(fork->told.ctx, ids, n, NULL);
    free_fork(fork);
}

static void on_branch_forked(void *ctx)
{
    struct session_entry *entry = ctx;
    struct sessions_fork *fork = entry->fork;
    if (!fork || fork->failed || ++fork->forked < fork->count)
        return;
    session_renew_token(fork->parent->session);
    give_kernel_back(fork);
}

static void on_branch_ready(void *ctx, const struct err *why)
{
    struct session_entry *entry = ctx;
    struct sessions_fork *fork = entry->fork;
    if (!fork || fork->failed)
        return;
    if (why)
        fail_fork(fork, why);
    else if (++fork->ready == fork->count)
        loop_defer(fork->all->loop, &fork->end, finish_fork, fork);
}

static void copy_entry(struct session_entry *entry, const struct session_entry *parent)
{
    entry->cwd = xstrdup(parent->cwd);
    entry->setup = parent->setup ? xstrdup(parent->setup) : NULL;
    entry->config = *entry->owner->config.base;
    entry->config.id = entry->id;
    entry->config.setup = entry->setup;
    entry->config.checkpoints = parent->config.checkpoints;
    (void)snprintf(entry->parent, sizeof entry->parent, "%s", parent->id);
}

static int open_branch(struct sessions_fork *fork, struct session_entry *entry, bool last,
                       struct err *e)
{
    static const struct session_born born = {.forked = on_branch_forked, .ready = on_branch_ready};
    const struct kernel_branch how = {
        .force = fork->force, .keep_random = fork->keep_random, .renew = last};
    struct session_entry *parent = fork->parent;
    copy_entry(entry, parent);
    int r = session_sandbox_copy(&entry->walls, &entry->config, &parent->walls, e);
    if (r == 0)
        r = session_open_branch(&entry->config, parent->session, &how, &born, entry,
                                &entry->session, e);
    if (r == 0)
        sessions_serve_entry(entry, parent->env);
    return r;
}

static void tell_of_fork(const struct sessions_fork *fork, const char *id)
{
    for (const struct sessions_watcher *w = fork->all->watchers; w; w = w->next)
        if (w->forked)
            w->forked(w->ctx, fork->parent_id, id);
}

static int make_branch(struct sessions_fork *fork, size_t number, struct err *e)
{
    char name[SESSIONS_ID_MAX + 32];
    struct session_entry *entry = NULL;
    (void)snprintf(name, sizeof name, fork->count > 1 ? "%s-%zu" : "%s", fork->name, number);
    const struct sessions_spec spec = {.id = *fork->name ? name : NULL,
                                       .timeout_ms = fork->parent->timeout_ms,
                                       .idle_ms = fork->parent->idle_ms};
    int r = sessions_new_entry(fork->all, &spec, &entry, e);
    if (r < 0)
        return r;
    entry->fork = fork;
    fork->entries[fork->made++] = entry;
    tell_of_fork(fork, entry->id);
    return open_branch(fork, entry, number == fork->count, e);
}

/* --- the parent's turn ------------------------------------------------------------------------ */

static void on_fork_turn(void *ctx)
{
    struct sessions_fork *fork = ctx;
    struct err e = ERR_NONE;
    int r = 0;
    for (size_t i = 1; r == 0 && i <= fork->count; i++)
        r = make_branch(fork, i, &e);
    if (r < 0)
        fail_fork(fork, &e);
}

static void on_fork_turn_over(void *ctx, const struct err *why)
{
    struct sessions_fork *fork = ctx;
    struct err told = ERR_NONE;
    fork->turn = NULL;
    (void)err_set(&told, -EBUSY, "the session %s was not forked: %s", fork->parent_id, why->msg);
    fail_fork(fork, &told);
}

static int check_parent(const struct session_entry *parent, bool wait, struct err *e)
{
    bool ready = false;
    if (!session_kernel(parent->session, &ready))
        return err_set(e, -EBUSY, "the session %s has no kernel: there is nothing to fork",
                       parent->id);
    if (!wait && (session_waiting(parent->session) > 0 || !ready))
        return err_set(e, -EBUSY,
                       "the session %s is busy: fork it when it is idle, or with \"wait\": true",
                       parent->id);
    return 0;
}

static int check_fork_room(const struct sessions *all, size_t count, struct err *e)
{
    if (all->count + count <= all->config.max)
        return 0;
    return err_set(e, -EAGAIN,
                   "there are %zu sessions, and with %zu more there were over %zu, which is the "
                   "limit (--max-sessions): end some first",
                   all->count, count, all->config.max);
}

int sessions_fork(struct sessions *all, const struct sessions_fork_spec *spec,
                  struct sessions_fork **ret, struct err *e)
{
    struct session_entry *parent = sessions_need(all, spec->id, e);
    int r = parent ? check_parent(parent, spec->wait, e) : -ENOENT;
    if (r == 0)
        r = check_fork_room(all, spec->count, e);
    if (r < 0)
        return r;
    struct sessions_fork *fork = NEW(struct sessions_fork);
    *fork = (struct sessions_fork){.all = all,
                                   .parent = parent,
                                   .count = spec->count,
                                   .force = spec->force,
                                   .keep_random = spec->keep_random,
                                   .told = *spec};
    (void)snprintf(fork->parent_id, sizeof fork->parent_id, "%s", parent->id);
    (void)snprintf(fork->name, sizeof fork->name, "%s", spec->name ? spec->name : "");
    r = session_ask_turn(parent->session, on_fork_turn, on_fork_turn_over, fork, &fork->turn, e);
    if (r < 0) {
        xfree(fork);
        return r;
    }
    list_push(&all->forks, fork);
    *ret = fork;
    return 0;
}

void sessions_forget_fork(struct sessions_fork *fork)
{
    fork->told.done = NULL;
}

void sessions_drop_forks(struct sessions *all)
{
    static const struct err stopping = {.code = -ESHUTDOWN, .msg = "the server is stopping"};
    for (struct sessions_fork *fork = all->forks, *next; fork; fork = next) {
        next = fork->next;
        give_kernel_back(fork);
        if (fork->told.done)
            fork->told.done(fork->told.ctx, NULL, 0, &stopping);
        free_fork(fork);
    }
}
