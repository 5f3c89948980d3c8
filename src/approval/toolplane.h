/* SPDX-License-Identifier: Apache-2.0
 *
 * approval/toolplane.h - tools for code: registration, generated packages, and calls that are
 * approved before they are made.
 * Trust:   a caller is known by what it holds (`toolplane_who`): a kernel names a registered server
 *          and a tool, never a command; the operator's application may bring parameters of its own
 *          for a name that is still free. Nobody replaces the parameters of a server but the MCP
 *          client and the operator, by registration.
 * Memory:  what was registered is kept (remembered.h); a call for such a server registers it again,
 *          and the package stays as it is. What an application brings is not kept.
 * Starts:  a call of a server that is being registered waits for it; one of a server whose
 *          registration has failed gets the reason.
 * Order:   policy and approval first, then the server is started when it is not running.
 * Calls:   loop thread only; nothing blocks. Events come from the loop, never inside a call. */
#ifndef APPROVAL_TOOLPLANE_H
#define APPROVAL_TOOLPLANE_H

#include "approval/approvals.h"
#include "base/json/jsonw.h"
#include "session/queue/request_context.h"
#include "tools/catalog/catalog.h"
#include "tools/client/remembered.h"
#include "tools/tools.h"

#define TOOLPLANE_OWN "ipybox"    /* the server's name in approvals of shell commands */
#define TOOLPLANE_FAILURES_MAX 64 /* starts that failed and are remembered */
#define TOOLPLANE_TEXT_MAX ((size_t)64 << 20)

struct toolplane_config { /* copied; what it points to is borrowed */
    struct loop *loop;
    struct tools *tools;
    struct approvals *approvals;
    const char *packages_dir;            /* absolute: where generated packages go */
    struct metrics *metrics;             /* NULL: nobody counts */
    struct audit *audit;                 /* NULL: there is none; without its yes no call is begun */
    const struct remembered *remembered; /* NULL: registrations end with the server */
    /* Why one is not remembered. May be NULL. */
    void (*log)(enum log_level level, const char *text);
    /* What the cell that runs in this session came with, NULL: none runs. Code is not asked: calls
     * of a kernel belong to it. May be NULL. */
    const struct request_context *(*origin)(void *ctx, const char *session);
    /* A call is made, whatever comes of it. May be NULL. */
    void (*made)(void *ctx, const char *session, const char *server, const char *tool);
    void *ctx;
};

struct toolplane;
struct toolplane *toolplane_open(const struct toolplane_config *config);
struct toolplane *toolplane_close(struct toolplane *plane); /* NULL in, NULL out */

/* --- registration ---------------------------------------------------------------------------- */

struct toolplane_job;
/* Registers, remembers that, and writes the package. done: the n names to import, or (modules ==
 * NULL) why not. */
MUST_CHECK int
toolplane_register(struct toolplane *plane, const char *name, const struct json *params,
                   void (*done)(void *ctx, char *const *modules, size_t n, const struct err *why),
                   void *ctx, struct toolplane_job **ret, struct err *e);
/* Inside `done`: which modules of a package that was there were rewritten, and what of the users'
 * was kept. NULL: nothing changed. Borrowed. */
const char *toolplane_report(const struct toolplane *plane);
void toolplane_job_cancel(struct toolplane_job *job); /* done is not called */

/* What is said while the server's package is installed; right after toolplane_register(). */
void toolplane_job_listen(struct toolplane_job *job,
                          void (*text)(void *ctx, const char *text, size_t n));

/* Its package is neither made nor changed, and the next start does not know of it; right after
 * toolplane_register(). done: no modules. */
void toolplane_job_alone(struct toolplane_job *job);

bool toolplane_find(const struct toolplane *plane, const char *name, struct tools_server *ret);

/* Those that are not registered: whose registration is under way, or was the last of its name and
 * has failed. */
void toolplane_unready(const struct toolplane *plane,
                       void (*fn)(void *ctx, const struct tools_server *server), void *ctx);

/* One after the other: *at is 0 first. */
bool toolplane_next(const struct toolplane *plane, size_t *at, struct tools_server *ret);
/* catalog_search() over what is registered. */
void toolplane_search(const struct toolplane *plane, const char *server, const char *query,
                      size_t limit, void (*found)(void *ctx, const struct catalog_hit *hit),
                      void *ctx);

/* Its package stays. False: it was neither registered nor remembered. */
bool toolplane_remove(struct toolplane *plane, const char *name);

/* Hears that a server was registered or removed. The caller's, from listen to unlisten; other
 * members are the tool plane's. */
struct toolplane_listener {
    void (*changed)(void *ctx);
    void *ctx;
    struct toolplane_listener *prev, *next;
};
void toolplane_listen(struct toolplane *plane, struct toolplane_listener *listener);
void toolplane_unlisten(struct toolplane *plane, struct toolplane_listener *listener);

/* Stops the servers; they stay registered. */
void toolplane_reset(struct toolplane *plane);

/* --- progress -------------------------------------------------------------------------------- */

#define TOOLPLANE_PROGRESS_MS 250 /* between two of one call; of those between the newest is told */
#define TOOLPLANE_PROGRESS_CHARS 1000 /* of a message */

struct toolplane_progress { /* borrowed for the call */
    const char *session, *server, *tool;
    uint64_t call;          /* 1, 2, 3 … in the order of their coming */
    double progress, total; /* as the server counts; total < 0: unknown */
    const char *message;    /* "" when there is none */
};
/* One watcher; NULL: none, and servers are not asked to tell any. A call that ends tells its last
 * one before. */
void toolplane_watch(struct toolplane *plane,
                     void (*fn)(void *ctx, const struct toolplane_progress *p), void *ctx);

/* --- calls ----------------------------------------------------------------------------------- */

enum toolplane_role {
    TOOLPLANE_KERNEL,      /* code: registered servers only */
    TOOLPLANE_APPLICATION, /* the operator's program: may bring parameters for a free name */
};

struct toolplane_request { /* borrowed for the call */
    enum toolplane_role role;
    const char *session; /* whose policy counts, and whose cells' clock stands still */
    const char *server, *tool;
    const struct json *params; /* of the server, as the caller believes; NULL: not said */
    const char *arguments;     /* JSON text of an object, in one line, as the caller wrote it */
    const struct request_context *origin; /* of TOOLPLANE_APPLICATION, copied; NULL: unknown */
};

enum toolplane_failure {
    TOOLPLANE_OK,
    TOOLPLANE_ERROR,    /* of the tool or its server */
    TOOLPLANE_REJECTED, /* "Approval request for SERVER.TOOL rejected" */
    TOOLPLANE_TIMEOUT,  /* "Approval request for SERVER.TOOL expired" */
};

struct toolplane_events {
    /* failure == TOOLPLANE_OK: result is there; otherwise `why` is the text for the caller. */
    void (*done)(void *ctx, enum toolplane_failure failure, const struct tools_result *result,
                 const char *why);
};

struct toolplane_call;
MUST_CHECK int toolplane_call(struct toolplane *plane, const struct toolplane_request *request,
                              const struct toolplane_events *events, void *ctx,
                              struct toolplane_call **ret, struct err *e);

/* Approval alone: of shell commands (server "ipybox", tools "shell" and "shell_magic"). */
MUST_CHECK int toolplane_approve(struct toolplane *plane, const struct toolplane_request *request,
                                 const struct toolplane_events *events, void *ctx,
                                 struct toolplane_call **ret, struct err *e);

/* Waits for a registration of request->server that is under way, until its package is written; at
 * once done where there is none. */
MUST_CHECK int toolplane_await(struct toolplane *plane, const struct toolplane_request *request,
                               const struct toolplane_events *events, void *ctx,
                               struct toolplane_call **ret, struct err *e);

void toolplane_call_cancel(struct toolplane_call *call); /* no event comes any more */

/* Who answers the calls that code in one session makes for a server of this name, be one registered
 * so or not. Nobody is asked to approve them. The provider's, from provide to unprovide. */
struct toolplane_provider {
    struct toolplane_provider *prev, *next; /* the tool plane's */
    const char *session, *server;
    /* It is answered by toolplane_answer(), later; tool and arguments are lent for the call. */
    void (*called)(void *ctx, struct toolplane_call *call, const char *tool, const char *arguments);
    void (*cancelled)(void *ctx, const struct toolplane_call *call); /* it is gone */
    void *ctx;
};
void toolplane_provide(struct toolplane *plane, struct toolplane_provider *provider);
/* Its open calls fail. */
void toolplane_unprovide(struct toolplane *plane, struct toolplane_provider *provider);
/* result: an object as JSON text, which code gets; NULL, or no JSON: `why` is the error. */
void toolplane_answer(struct toolplane_call *call, const char *result, const char *why);

/* The value that code gets, as the old wire has it: structuredContent, else the texts joined by
 * line breaks, else null. Written as one JSON value. */
void toolplane_put_result(struct jsonw *w, const struct tools_result *result);

/* The member "content" with all content blocks, when one of them is no text; else nothing. */
void toolplane_put_content(struct jsonw *w, const struct tools_result *result);

#endif
