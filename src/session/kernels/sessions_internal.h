/* SPDX-License-Identifier: Apache-2.0
 *
 * session/kernels/sessions_internal.h - what the files of the sessions share (private to
 * sessions*.c). sessions.c makes and ends them; sessions_fork.c makes them of one that is there. */
#ifndef SESSION_KERNELS_SESSIONS_INTERNAL_H
#define SESSION_KERNELS_SESSIONS_INTERNAL_H

#include "session/kernels/session_sandbox.h"
#include "session/kernels/sessions.h"

struct session_entry {
    struct sessions *owner;
    struct session_entry *next;                                /* in the order of their coming */
    char id[SESSIONS_ID_MAX + 1], parent[SESSIONS_ID_MAX + 1]; /* that it was forked from, or "" */
    char *cwd, *setup;
    struct json *env;
    struct session_config config;
    struct session_sandbox walls;
    struct session *session;
    struct executions *executions;
    struct commands *commands;
    int64_t timeout_ms, idle_ms, used_ms, created_ms;
    struct loop_timer idle;
    bool ending, closed;
    struct sessions_fork *fork; /* that makes it; so long nobody sees it. NULL: none */
    struct loop_defer gone;
};

struct sessions {
    struct sessions_config config;
    struct loop *loop;
    struct session_entry *first;
    size_t count;
    size_t pending; /* bytes of code, see executions.h */
    struct sessions_watcher *watchers;
    struct sessions_fork *forks; /* under way */
    bool stopping;
    loop_fn stopped;
    void *stopped_ctx;
    struct loop_defer notify_stopped;
};

/* --- sessions.c --- */

/* As sessions_create() does, before the session itself is opened: an entry that has a name. */
MUST_CHECK int sessions_new_entry(struct sessions *all, const struct sessions_spec *spec,
                                  struct session_entry **ret, struct err *e);
void sessions_free_entry(struct session_entry *entry);
struct session_entry *sessions_need(const struct sessions *all, const char *id, struct err *e);

/* Behind the opening of its session: its executions and commands. */
void sessions_serve_entry(struct session_entry *entry, const struct json *env);
/* Others see it from now on. parent: NULL, or the session that it was forked from. */
void sessions_announce(struct session_entry *entry, const char *parent);

/* --- sessions_fork.c --- */

void sessions_drop_forks(struct sessions *all); /* before the sessions go */

#endif
