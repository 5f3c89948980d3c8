/* SPDX-License-Identifier: Apache-2.0
 *
 * front/api/api_bodies.h - what the JSON bodies of the HTTP API say (private to front/): pure
 * functions, which a fuzzer drives.
 * Borrowed: what comes out points into the tree.
 * Failing:  -EINVAL, and e names the member. */
#ifndef FRONT_API_API_BODIES_H
#define FRONT_API_API_BODIES_H

#include "approval/approvals.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "session/kernels/sessions.h"

/* An object whose members are all among `known` (NULL ends it). bytes: changed in the course; an
 * empty body is an empty object, *ret == NULL. */
MUST_CHECK int body_parse(struct buf *bytes, const char *const *known, struct json **ret,
                          struct err *e);

/* A member that may be absent or null: *ret stays as it is. */
MUST_CHECK int body_bool(const struct json *body, const char *name, bool *ret, struct err *e);

struct body_execution {
    const char *code;
    const char *on_disconnect; /* "cancel", "detach" or NULL */
    int64_t timeout_ms, max_chars;
    bool wait, save_displays;
};
extern const char *const body_execution_known[];
MUST_CHECK int body_execution(const struct json *body, int64_t timeout_ms,
                              struct body_execution *ret, struct err *e);

/* *ret_cursor: in characters; without one the end of the code. */
extern const char *const body_question_known[];
MUST_CHECK int body_question(const struct json *body, const char **ret_code, size_t *ret_cursor,
                             struct err *e);

extern const char *const body_session_known[];
MUST_CHECK int body_session(const struct json *body, struct sessions_spec *ret,
                            struct approvals_rule *ret_rule, struct err *e);

/* Fills in what the body says; the rest is the caller's. */
extern const char *const body_fork_known[];
MUST_CHECK int body_fork(const struct json *body, struct sessions_fork_spec *ret, struct err *e);

struct body_rewind {
    uint64_t cell;
    bool wait;
};
extern const char *const body_rewind_known[];
MUST_CHECK int body_rewind(const struct json *body, struct body_rewind *ret, struct err *e);

/* *ret_settings: an object. */
extern const char *const body_sandbox_known[];
MUST_CHECK int body_sandbox(const struct json *body, const struct json **ret_settings,
                            bool *ret_reset, struct err *e);

struct body_decision {
    struct approval_decision decision;
    const char *action; /* "accept", "decline" or "cancel": the answer to a question; else NULL */
    const struct json *content; /* an object, or NULL */
};
extern const char *const body_decision_known[];
MUST_CHECK int body_decision(const struct json *body, struct body_decision *ret, struct err *e);

extern const char *const body_package_known[];
MUST_CHECK int body_package(const struct json *body, const char **ret_package, struct err *e);

extern const char *const body_server_known[];
/* *ret_generate: whether the package is made, too. */
MUST_CHECK int body_server(const struct json *body, const char **ret_name,
                           const struct json **ret_params, bool *ret_generate, struct err *e);

#endif
