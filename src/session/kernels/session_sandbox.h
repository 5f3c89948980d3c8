/* SPDX-License-Identifier: Apache-2.0
 *
 * session/kernels/session_sandbox.h - the sandbox of one session's kernels: the server's, until
 * somebody gives the session settings of its own (private to session/).
 * None:    where the server has none a session that was made with settings has one all the same,
 *          from its first kernel on; one that was made without stays without.
 * Owns:    those settings, from then on. A session with settings or limits of its own gets no spare
 *          kernels: they were made with the server's.
 * Changing: the running kernel's broker judges by the new settings first; only when it does, later
 *          kernels get them too. With `reset` the kernel is replaced, in turn with the cells; when
 *          the new one does not come up, the settings before are there again.
 * Calls:   loop thread only. A change walks the workspace once, as the start of a kernel does. */
#ifndef SESSION_KERNELS_SESSION_SANDBOX_H
#define SESSION_KERNELS_SESSION_SANDBOX_H

#include "base/buf.h"
#include "base/json/json.h"
#include "session/queue/session.h"

/* why == NULL: it holds. */
typedef void (*session_sandbox_fn)(void *ctx, const struct err *why);

struct session_sandbox { /* embedded in its owner */
    struct session_config *config;
    const struct sandbox_spec *server; /* NULL, or without settings: there is no sandbox */
    struct sandbox_spec offered;       /* the server's, which has no settings, with those below */
    struct pool *spares;               /* the server's; NULL: none */
    struct sandbox_spec tighter;       /* the server's with limits of its own */
    char **places;                     /* of these, for --kernel-disk; NULL: the server's */
    struct sandbox_spec spec;          /* the server's with the settings below */
    char *settings;                    /* NULL: the server's */
    bool changing;                     /* a change is under way */
    char *wanted;                      /* by it, until these are the settings */
    char *before;                      /* while a new kernel starts with them; NULL: the server's */
    bool starts;
    session_sandbox_fn done; /* NULL: nobody waits any more */
    void *ctx;
    loop_fn changed; /* config's are other settings now; its owner's, NULL at first */
    void *changed_ctx;
};

/* Of a config that is filled in; settings of its own, limits as of limits.h, or NULL: both are
 * checked and copied. -EDOM: this machine has no sandbox. */
MUST_CHECK int session_sandbox_open(struct session_sandbox *walls, struct session_config *config,
                                    const char *settings, const struct json *limits, struct err *e);
/* The same for a config that is a copy of `from`'s, which has just been forked. */
MUST_CHECK int session_sandbox_copy(struct session_sandbox *walls, struct session_config *config,
                                    const struct session_sandbox *from, struct err *e);
void session_sandbox_close(struct session_sandbox *walls); /* after the session */

const struct sandbox_limits *
session_sandbox_limits(const struct session_sandbox *walls); /* NULL: none */

/* The settings in force, NULL: none; *ret_own: they are the session's own. */
const char *session_sandbox_settings(const struct session_sandbox *walls, bool *ret_own);

/* Appends a readable explanation of the effective settings. */
MUST_CHECK int session_sandbox_explain(const struct session_sandbox *walls, struct buf *text,
                                       struct err *e);

/* 1: it holds already; 0: done follows, at the latest with the session's end. -EINVAL: the message
 * names the key; -EDOM: one that is the same for all sessions. -EBUSY: it takes a new kernel, or
 * another change is under way. */
MUST_CHECK int session_sandbox_change(struct session_sandbox *walls, struct session *session,
                                      const char *settings, bool reset, session_sandbox_fn done,
                                      void *ctx, struct err *e);
/* done is not called any more; the change goes on. */
void session_sandbox_forget(struct session_sandbox *walls, const void *ctx);

#endif
