/* SPDX-License-Identifier: Apache-2.0
 *
 * session/kernels/sessions.h - the sessions of the server by their ids.
 * Owns:    all of them. `default` is there from the start, cannot be ended and never idles out: it
 *          is the one of standard input and output.
 * Each:    has its own kernel, queue, event log, variables and directory; its kernels' tokens name
 *          it (jupyter/tokens.h), so tool policy, grants and approvals are its own.
 * Calls:   loop thread only; nothing blocks. Events come from the loop, never from inside a call.
 * Limits:  `max` sessions, those that are ending among them. */
#ifndef SESSION_KERNELS_SESSIONS_H
#define SESSION_KERNELS_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json/json.h"
#include "session/queue/session.h"

#define SESSIONS_DEFAULT "default"
#define SESSIONS_ID_MAX 64
#define SESSIONS_ENV_MAX 1000
#define SESSIONS_TIMEOUT_MS 120000 /* of a cell, when neither it nor its session says */
#define SESSIONS_MS_MAX ((int64_t)7 * 24 * 3600 * 1000)

struct sessions_config {               /* copied */
    const struct session_config *base; /* of each; id and setup are filled in here; borrowed */
    size_t max;
};

struct sessions_spec {      /* borrowed for the call */
    const char *id;         /* letters, digits, . _ -; NULL: a random one */
    const struct json *env; /* an object of texts, or NULL */
    const char *cwd;     /* a folder of the workspace, absolute or below it; NULL: the workspace */
    int64_t timeout_ms;  /* of a cell that names none; 0: SESSIONS_TIMEOUT_MS */
    int64_t idle_ms;     /* it ends when it was not used so long; 0: never */
    bool lazy;           /* without a kernel until its first cell */
    const char *sandbox; /* settings of its own; NULL: the server's */
    bool sandboxed;      /* where there are neither, the default settings */
    const struct json *limits; /* as of limits.h; NULL: the server's */
    bool own_checkpoints;      /* and not as many as the server's: */
    size_t checkpoints;        /* fewer */
};

struct sessions_view { /* borrowed until the next turn of the loop */
    const char *id, *cwd;
    const char *parent; /* that it was forked from, may be gone; NULL: it is no fork */
    int64_t timeout_ms, idle_ms;
    int64_t created_ms;                  /* since 1970 */
    const char *sandbox;                 /* the settings in force, NULL: there is no sandbox */
    bool own_sandbox;                    /* they are not the server's */
    const struct sandbox_limits *limits; /* NULL: none */
    struct session *session;
    struct executions *executions; /* executions/executions.h; gone behind `ended` */
    struct commands *commands;     /* commands/commands.h; likewise */
};

struct sessions;
MUST_CHECK int sessions_open(const struct sessions_config *config, struct sessions **ret,
                             struct err *e);
/* Ends them on the spot, after sessions_stop(). NULL in, NULL out. */
struct sessions *sessions_close(struct sessions *sessions);

/* -EINVAL: the message names the member; -EDOM: the same, of a value that is right in form but not
 * to be had here; -EEXIST; -EAGAIN: there are too many; -ESHUTDOWN. */
MUST_CHECK int sessions_create(struct sessions *sessions, const struct sessions_spec *spec,
                               struct sessions_view *ret, struct err *e);

/* What all of them are made of; borrowed. */
const struct session_config *sessions_base(const struct sessions *sessions);

/* Those that are ending are not among them. */
bool sessions_find(const struct sessions *sessions, const char *id, struct sessions_view *ret);
/* The settings in force for code of the default one: what is not a session's own goes by them.
 * Borrowed as a view is; NULL: there is no sandbox. */
const char *sessions_settings(const struct sessions *sessions);
bool sessions_next(const struct sessions *sessions, size_t *at, struct sessions_view *ret);
size_t sessions_count(const struct sessions *sessions);

/* Its cells end as stopped. -ENOENT; -EPERM: it is the default one; -ESHUTDOWN. */
MUST_CHECK int sessions_end(struct sessions *sessions, const char *id, struct err *e);

/* All that runs in it stands still, kernel and commands, or goes on. -ENOENT. */
MUST_CHECK int sessions_pause(struct sessions *sessions, const char *id, bool pause, struct err *e);

/* --- forks: sessions that begin with all that another has in memory (docs/fork.md)
 * ----------------------------------------------------- */

#define SESSIONS_FORK_MAX 64      /* at once */
#define SESSIONS_FORK_NAME_MAX 61 /* with "-64" an id */

struct sessions_fork_spec { /* borrowed for the call, but for ctx */
    const char *id;         /* of the parent */
    const char *name;       /* of the fork, or with several what they begin with; NULL: random */
    size_t count;           /* 1 to SESSIONS_FORK_MAX */
    bool force;             /* though they may lack what the parent has */
    bool wait;              /* for the cells of the parent */
    bool keep_random;       /* random states are the parent's, not new ones */
    /* The last of all. All are there, or (why != NULL) none is. */
    void (*done)(void *ctx, const char *const *ids, size_t count, const struct err *why);
    void *ctx;
};

struct sessions_fork;
/* 0: done follows. -ENOENT; -EBUSY: a cell is running, or there is no kernel; else as
 * sessions_create(). */
MUST_CHECK int sessions_fork(struct sessions *sessions, const struct sessions_fork_spec *spec,
                             struct sessions_fork **ret, struct err *e);
void sessions_forget_fork(struct sessions_fork *fork); /* nothing is called; it goes on */

/* --- the sandbox of its kernels (session_sandbox.h)
 * ----------------------------------------------------- */

/* 1: the settings hold; 0: done follows, why == NULL when they do. -ENOENT; -EINVAL and
 * -EDOM: the message names the key; -EBUSY: it takes a new kernel (reset), or another change is
 * under way. */
MUST_CHECK int sessions_change_sandbox(struct sessions *sessions, const char *id,
                                       const char *settings, bool reset,
                                       void (*done)(void *ctx, const struct err *why), void *ctx,
                                       struct err *e);
/* done is not called any more. */
void sessions_forget_change(struct sessions *sessions, const void *ctx);
/* What the settings in force mean. -ENOENT; -EBUSY: there is no sandbox. */
MUST_CHECK int sessions_explain_sandbox(const struct sessions *sessions, const char *id,
                                        struct buf *text, struct err *e);

/* It is in use: its idle time begins anew. */
void sessions_touch(struct sessions *sessions, const char *id);

struct sessions_watcher { /* embedded in its owner */
    struct sessions_watcher *next;
    /* The last of a session: it is freed behind this. */
    void (*ended)(void *ctx, const char *id);
    /* There are too many: true when one was ended that nobody misses. NULL: none ever is. */
    bool (*make_room)(void *ctx);
    /* A fork of `parent` has this id now; nothing of it has run. NULL: nobody wants to know. */
    void (*forked)(void *ctx, const char *parent, const char *id);
    void *ctx;
};
void sessions_watch(struct sessions *sessions, struct sessions_watcher *w);
void sessions_unwatch(struct sessions *sessions, struct sessions_watcher *w);

/* No more cells and sessions; what there is gets grace_ms. They stay until sessions_close(), so
 * that their events can be read. Called again with a shorter time: hurries. */
void sessions_stop(struct sessions *sessions, int64_t grace_ms, loop_fn done, void *ctx);

#endif
