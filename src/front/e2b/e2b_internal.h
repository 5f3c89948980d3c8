/* SPDX-License-Identifier: Apache-2.0
 *
 * front/e2b/e2b_internal.h - the parts of E2B's wire, each with its routes in files of its own
 * (private to front/e2b and front/envd).
 * e2b.c:             which part a request is for, and whether it is let in.
 * e2b_sandbox.c:     the sandboxes.
 * e2b_control.c:     making, finding and ending them (/sandboxes).
 * e2b_list.c:        what is told of them; e2b_metrics.c: of the container.
 * e2b_pause.c:       those that stand still; e2b_fork.c: those that begin as another is.
 * e2b_interpreter.c: /execute; e2b_contexts.c: /contexts.
 * front/envd:        files and processes.
 * Part:    a table of routes. A route's tag says what the request must bring (enum e2b_access); a
 *          handler's ctx is the struct e2b.
 * Handler: e2b_here() is the sandbox that the request is for: it may be gone since it was let in.
 *          It answers with http_answer_json() and e2b_fail(), or streams with http_stream_begin()
 *          and its companions (front/http/http.h). */
#ifndef FRONT_E2B_E2B_INTERNAL_H
#define FRONT_E2B_E2B_INTERNAL_H

#include "base/buf.h"
#include "base/json/json.h"
#include "base/json/jsonw.h"
#include "front/e2b/e2b.h"

/* What is served of envd, in the numbers of envd: clients use no more than that. */
#define E2B_ENVD_VERSION "0.6.13"

#define E2B_ID_MAX 32
#define E2B_TOKEN_BYTES 16
#define E2B_ANSWER_MAX ((size_t)4 << 20)
#define E2B_PAUSED_MS SESSIONS_MS_MAX
#define E2B_TYPE "application/json"

enum e2b_access {
    E2B_FREE,      /* everybody; the handler looks itself at what it does */
    E2B_NEEDS_KEY, /* IPYBOX_TOKEN as X-API-KEY */
    /* One of the tokens of the sandbox that is addressed, which is there: E2b-Sandbox-Id,
     * {port}-{id}.{domain}, or, where neither names one, the sandbox that the token is of. */
    E2B_NEEDS_TOKEN,
};

struct e2b_envd;        /* front/envd: of one sandbox */
struct e2b_interpreter; /* e2b_interpreter.c: of all */
struct e2b_context;     /* e2b_interpreter.c: of one sandbox */
struct e2b_fork;        /* e2b_fork.c: a request for forks */

struct e2b_sandbox {
    struct e2b_sandbox *prev, *next; /* newest first */
    struct e2b *owner;
    char id[E2B_ID_MAX + 1];                     /* of its session, too */
    uint64_t number;                             /* grows from one to the next */
    char access_token[2 * E2B_TOKEN_BYTES + 1];  /* X-Access-Token */
    char traffic_token[2 * E2B_TOKEN_BYTES + 1]; /* E2B-Traffic-Access-Token */
    char *template_name;
    char *key;             /* Idempotency-Key of the request that made it; NULL: none */
    struct json *metadata; /* an object of texts, or NULL */
    struct json *env;      /* likewise */
    bool offline;          /* made without a network */
    bool pauses;           /* at its timeout, instead of ending */
    bool wakes;            /* by a request to it while it is paused */
    bool paused;
    int64_t timeout_ms; /* that it was made with */
    int64_t started_ms; /* since 1970 */
    int64_t end_ms;     /* likewise; 0: never */
    struct loop_timer end;
    struct e2b_context *contexts; /* beside the default one */
    struct e2b_envd *envd;        /* NULL: nothing was done there */
};

struct e2b {
    struct e2b_config config;
    struct http_realm envd, code, unserved, all; /* by which port is named; none: all */
    struct http_route *joined;                   /* of `all` */
    struct http_guard *guard;
    struct e2b_sandbox *sandboxes;
    uint64_t numbers;
    struct sessions_watcher watcher;
    struct e2b_interpreter *interpreter;
    struct e2b_fork *forks; /* under way */
    bool stopping, closing;
    uint64_t cpu_us;     /* that the container had used, */
    int64_t cpu_ms;      /* when it was looked at last */
    struct envd *daemon; /* front/envd's */
};

struct e2b_part {
    const struct http_route *routes;
    size_t n;
    void (*open)(struct e2b *e);  /* NULL: there is nothing to open, as of the next */
    void (*close)(struct e2b *e); /* no request is open any more, no sandbox is there */
    void (*drain)(struct e2b *e); /* streams that end with no session end now */
    /* It is over, and freed behind this. Its session may have some events to come. */
    void (*ended)(struct e2b *e, struct e2b_sandbox *s);
    /* The last event of a session, which may be one of its own. */
    void (*session_ended)(struct e2b *e, const char *id);
};

extern const struct e2b_part e2b_control_part, e2b_interpreter_part, e2b_envd_part;

/* --- e2b.c ------------------------------------------------------------------------------------ */

/* The id that the request names, by header or Host; NULL: none. Borrowed from it, or room. */
const char *e2b_named_id(const struct http_request *r, char room[static E2B_ID_MAX + 1]);
/* The sandbox that the request is for, whatever tokens it brings; NULL: none that is there. */
struct e2b_sandbox *e2b_addressed(struct e2b *e, const struct http_request *r);
/* The same; NULL: it has answered that there is none. For handlers. */
struct e2b_sandbox *e2b_here(struct e2b *e, struct http_request *r);
/* The request brings one of its tokens, or none is needed. */
bool e2b_may_use(const struct e2b *e, const struct e2b_sandbox *s, const struct http_request *r);

/* {"code": status, "message": …} */
void e2b_fail(struct http_request *r, int status, const char *fmt, ...) PRINTF(3, 4);
/* 502, as E2B says that a sandbox is not there, or no more. */
void e2b_fail_absent(struct http_request *r, const char *id);
/* *e of sessions.h and executions.h. */
void e2b_fail_err(struct http_request *r, const struct err *e);
/* The body as an object; none at all is an empty one. False: it has answered 400. */
bool e2b_body(struct http_request *r, struct json **ret);

/* Tells every part. */
void e2b_part_ended(struct e2b *e, struct e2b_sandbox *s);

/* --- e2b_sandbox.c ---------------------------------------------------------------------------- */

struct e2b_sandbox_spec { /* borrowed for the call */
    const char *id;       /* NULL: a new one */
    const char *template_name, *key;
    const struct json *env, *metadata;
    bool offline;       /* no network: the default settings of a sandbox */
    bool pauses, wakes; /* as of struct e2b_sandbox */
    int64_t timeout_ms; /* from now; 0: it does not end by itself */
};

/* As sessions_create(). */
MUST_CHECK int e2b_sandbox_new(struct e2b *e, const struct e2b_sandbox_spec *spec,
                               struct e2b_sandbox **ret, struct err *err);
struct e2b_sandbox *e2b_sandbox_find(const struct e2b *e, const char *id);    /* NULL: none */
struct e2b_sandbox *e2b_sandbox_by_key(const struct e2b *e, const char *key); /* likewise */
/* Whose token it is; NULL: nobody's. */
struct e2b_sandbox *e2b_sandbox_by_token(const struct e2b *e, const char *token);
/* One that begins as the session of this id, which was forked from the sandbox's, for so long. */
struct e2b_sandbox *e2b_sandbox_branch(const struct e2b_sandbox *parent, const char *id,
                                       int64_t timeout_ms);
int64_t e2b_sandbox_left(const struct e2b_sandbox *s);          /* ms; 0: it is over */
void e2b_sandbox_set_end(struct e2b_sandbox *s, int64_t in_ms); /* from now on; it runs */
/* Ends its session, and what its parts have begun. It is gone before the call returns. */
void e2b_sandbox_kill(struct e2b_sandbox *s);
void e2b_sandboxes_close(struct e2b *e); /* the records alone: the sessions are the server's */

/* --- e2b_fork.c ------------------------------------------------------------------------------- */

void e2b_forks_close(struct e2b *e); /* no request is open any more */

/* --- e2b_metrics.c ---------------------------------------------------------------------------- */

void e2b_metrics_open(struct e2b *e);
void e2b_metrics_of_envd(void *ctx, struct http_request *r); /* GET /metrics of envd */

/* --- e2b_pause.c ------------------------------------------------------------------------------ */

/* It stands still until it is resumed, at most E2B_PAUSED_MS; then it ends. */
void e2b_sandbox_pause(struct e2b_sandbox *s);
void e2b_sandbox_resume(struct e2b_sandbox *s, int64_t in_ms); /* and ends or pauses then */
/* It runs, or is one that a request wakes, and does now. */
bool e2b_sandbox_awake(struct e2b_sandbox *s);

/* --- e2b_sandbox.c ---------------------------------------------------------------------------- */

/* One more session for it, with its environment and its walls. cwd: NULL: the workspace. */
MUST_CHECK int e2b_sandbox_session(const struct e2b_sandbox *s, const char *id, const char *cwd,
                                   struct sessions_view *ret, struct err *err);

#endif
