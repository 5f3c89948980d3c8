/* SPDX-License-Identifier: Apache-2.0
 *
 * front/e2b/e2b_interpreter.h - the parts of the code interpreter (private to e2b_interpreter.c,
 * e2b_contexts.c and e2b_ndjson.c).
 * Context: a session of a sandbox. The default one is the sandbox's own, and has its name. Others
 *          are made by POST /contexts, or by the first code in another language; they end with the
 *          sandbox. In a fork of the sandbox one keeps its id, over another session.
 * Limits:  E2B_CONTEXTS_MAX of a sandbox, and as many sessions as the server has. */
#ifndef FRONT_E2B_E2B_INTERPRETER_H
#define FRONT_E2B_E2B_INTERPRETER_H

#include "front/e2b/e2b_internal.h"
#include "session/events/eventlog.h"
#include "session/executions/executions.h"

#define E2B_CONTEXTS_MAX 50

enum e2b_language { E2B_PYTHON, E2B_BASH };

struct e2b_context {
    struct e2b_context *next;
    enum e2b_language language;
    bool is_default; /* of its language */
    char id[SESSIONS_ID_MAX + 1], session[SESSIONS_ID_MAX + 1];
};

struct e2b_interpreter {
    struct e2b_run *runs;       /* e2b_interpreter.c */
    struct e2b_restart *resets; /* e2b_contexts.c */
};

/* --- e2b_contexts.c --------------------------------------------------------------------------- */

/* Where code of a request is to run. */
struct e2b_place {
    enum e2b_language language;
    struct sessions_view view;
};

/* NULL for context and language: the default. -ENOENT; -EDOM: a language that is not served; and as
 * sessions_create(). */
MUST_CHECK int e2b_place_of(struct e2b_sandbox *s, const char *context, const char *language,
                            struct e2b_place *ret, struct err *err);
void e2b_contexts_get(void *ctx, struct http_request *r);
void e2b_contexts_post(void *ctx, struct http_request *r);
void e2b_context_restart(void *ctx, struct http_request *r);
void e2b_context_delete(void *ctx, struct http_request *r);
void e2b_contexts_end(struct e2b *e, struct e2b_sandbox *s);
void e2b_contexts_session_ended(struct e2b *e, const char *id);
void e2b_restarts_close(struct e2b *e);
/* One that the parent has and its fork has not, both by their ids; NULL: there is none. */
const struct e2b_context *e2b_context_lacking(const struct e2b_sandbox *fork,
                                              const struct e2b_sandbox *parent);
/* It has the parent's context, over this session. False: the parent has it no more. */
bool e2b_context_branch(struct e2b_sandbox *fork, const struct e2b_sandbox *parent, const char *id,
                        const char *session);

/* --- e2b_ndjson.c: lines of the answer to /execute -------------------------------------------- */

/* Nothing is added for an event that has no line. */
void e2b_put_event(struct buf *out, const struct logged *event);
void e2b_put_error(struct buf *out, const char *name, const char *value, const char *traceback);
/* Some events are not kept any more: a line of standard error. */
void e2b_put_gap(struct buf *out, uint64_t missed, int64_t time_ms);
/* How it has ended, as far as no event has told it, and the last line. */
void e2b_put_end(struct buf *out, const struct execution *x);

#endif
