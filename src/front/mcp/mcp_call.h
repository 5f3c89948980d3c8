/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp/mcp_call.h - one request in flight, from tools/call to its answer (private to front/).
 * Progress: a call that asked for it hears its output while it is produced: at most one
 *           notification in PROGRESS_MS, each with the text since the last one, PROGRESS_TEXT_MAX
 *           bytes in all; what follows is counted only, so a flood costs the peer nothing. After
 *           PROGRESS_SILENCE_MS without one it hears that the work goes on: clients give up what
 *           they have not heard of for long. */
#ifndef FRONT_MCP_MCP_CALL_H
#define FRONT_MCP_MCP_CALL_H

#include "front/mcp/mcp.h"
#include "front/mcp/mcp_ask.h"
#include "session/kernels/sessions.h"
#include "wire/jsonrpc.h"

enum mcp_era { MCP_HANDSHAKE, MCP_MODERN };

#define PROGRESS_MS 50
#define PROGRESS_SILENCE_MS 15000
#define PROGRESS_TEXT_MAX ((size_t)1 << 20)
#define TASK_ID_BYTES 16
#define TASK_AFTER_MS 5000
#define TASK_KEPT_MS ((int64_t)3600 * 1000) /* after the longest time that the call may take */
#define TASKS_MAX 100                       /* of one dispatcher: what is over makes room first */
#define TASKS_BYTES_MAX ((size_t)64 << 20)  /* of their answers, together */
#define MCP_ANSWER_MAX ((size_t)256 << 20)  /* bytes of one answer, images included */

enum task_status { TASK_WORKING, TASK_COMPLETED, TASK_FAILED, TASK_CANCELLED };

struct call_task {                  /* inside every call; mcp_tasks.c */
    char id[2 * TASK_ID_BYTES + 1]; /* "": it is none */
    enum task_status status;
    int64_t made_ms, changed_ms, ttl_ms; /* the first two of the wall clock */
    struct loop_timer timer;             /* until it becomes one; then until it is forgotten */
    struct buf answer;                   /* the whole message, when there is one */
};

struct mcp_call {
    struct mcp *mcp;
    struct mcp_call *prev, *next;
    enum mcp_era era;
    char id[JSONSCAN_ID_MAX + 1];
    void *stream;         /* the peer's way back */
    char *progress_token; /* JSON text, NULL when no progress was asked for */
    uint64_t progress;    /* must grow with each notification */
    struct buf progress_text;
    size_t progress_bytes;
    struct loop_timer progress_timer;
    bool has_text_due; /* the timer is for text, not for silence */
    bool cancelled;    /* no answer is sent any more */
    bool listening;    /* a stream of changes: nothing is under way … */
    bool hears_tools;  /* … of the list of tools */
    struct call_ask ask;
    struct call_task task;
    struct session *session; /* that it is for; borrowed, while it waits for something */
    char session_id[SESSIONS_ID_MAX + 1]; /* "": the peer's, which has no name */
    /* what it waits for: at most one */
    struct cell *cell; /* also of a reset */
    struct install *install;
    struct toolplane_job *registration;
    char *server;      /* that it registers */
    struct call_work { /* of an extension: cancel() frees it */
        void (*cancel)(void *ctx);
        void *ctx;
    } work;
    /* execute_ipython_cell */
    bool runs_code;
    struct request_context origin;
    double timeout_s;
    bool include_images;
    bool shows_apps;     /* its client does */
    struct buf app_data; /* JSON for the page of its result; empty: none */
};

struct mcp { /* shared by the files of the dispatcher */
    const struct mcp_config *config;
    const struct mcp_events *events;
    void *ctx;
    struct mcp_call *calls; /* the newest first */
    struct asker *asker;    /* NULL: there are no approvals */
    struct toolplane_listener servers;
    struct mcp_branch *branches;  /* sessions that it has made (mcp_forks.h) */
    struct sessions_watcher ends; /* of them */
    bool initialized;
    const char *handshake_version;
    bool shows_apps;                     /* the client of the handshake */
    char client[REQUEST_CLIENT_MAX + 1]; /* as the handshake named it; "": it did not */
    void *stream;                        /* of the message that is being dispatched */
    const struct mcp_caller *caller;     /* likewise; NULL: none is */
};

struct mcp_request {
    struct mcp *mcp;
    const struct rpc_message *m;
    enum mcp_era era;
};

/* More than the product has: what the conformance suite of the protocol needs to be there. */
struct mcp_extension {
    bool (*request)(const struct mcp_request *r); /* false: not one of its own */
    void (*response)(struct mcp *mcp, const struct rpc_message *m);
    void (*put_capabilities)(struct jsonw *w); /* members beside "tools" */
    void (*put_tools)(struct jsonw *w, enum mcp_era era);
};

struct mcp_call *call_new(struct mcp *mcp, const struct rpc_message *m, enum mcp_era era);
struct mcp_call *call_find(struct mcp *mcp, const char *id);
void call_cancel(struct mcp_call *call); /* stops the work; no answer is sent */
void call_drop(struct mcp_call *call);   /* its peer is gone: frees it at once */
void call_abandon(
    struct mcp_call *call); /* likewise; what its cell writes comes with the next one */

/* A call whose answer was a question: has no id any more, then that of the request which brings
 * the answer. */
struct mcp_call *call_find_parked(struct mcp *mcp, const char *id); /* by the id it had */
void call_end_progress(struct mcp_call *call);
void call_reopen(struct mcp_call *call, const struct rpc_message *m);

/* Tasks (mcp_tasks.c). The methods of these names: */
void tasks_get(const struct mcp_request *r);
void tasks_update(const struct mcp_request *r);
void tasks_cancel(const struct mcp_request *r);
void tasks_put_extension(struct jsonw *w); /* among the server's */
bool call_is_task(const struct mcp_call *call);
/* From a tools/call with these params: it becomes a task when it takes long, if its client takes
 * tasks. */
void task_call_begins(struct mcp_call *call, const struct json *params);
void task_call_ends(struct mcp_call *call); /* before it is freed */
/* Of a task: its work was stopped; its answer is there (moved). error: of the answer, or 0. */
void task_cancelled(struct mcp_call *call);
void task_keep_answer(struct mcp_call *call, struct buf *answer, int error);

/* Output as it comes: told as progress. */
void call_text(void *ctx, const char *text, size_t n);

/* The answer: what is written between begin and end are the content blocks. Frees the call. */
void call_answer_begin(struct mcp_call *call, struct buf *out, struct jsonw *w);
void call_answer_end(struct mcp_call *call, struct buf *out, struct jsonw *w, bool is_error);

/* {"type":"text","text":…} */
void put_text_block(struct jsonw *w, const char *text, size_t n);

/* "Error executing tool NAME: why", the form that clients of this tool know. Frees the call. */
void call_fail(struct mcp_call *call, const char *tool, const char *why);

/* What both eras say about a complete result. */
void put_result_stamp(struct jsonw *w, const struct mcp *mcp, enum mcp_era era);
void put_server_stamp(struct jsonw *w, const struct mcp *mcp); /* _meta with serverInfo */

/* Its client shows pages (front/apps/apps.h). */
bool mcp_shows_apps(const struct mcp_request *r);

/* Of the message that is being dispatched, maybe its answer. */
void mcp_answer_error(struct mcp *mcp, const char *id, int code, const char *message,
                      const char *data);
void mcp_answer(struct mcp *mcp, const struct buf *message);
/* Belongs to the call; NULL: to none. */
void mcp_send(struct mcp *mcp, const struct mcp_call *call, const struct buf *message);
void call_send_answer(struct mcp_call *call, const struct buf *message, int error);
/* What all lists carry that may be kept. */
void put_caching(struct jsonw *w, enum mcp_era era);

#endif
