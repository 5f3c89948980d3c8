/* SPDX-License-Identifier: Apache-2.0
 *
 * front/librechat/librechat_internal.h - the parts of LibreChat's wire (private to its folder).
 * librechat.c:        whether a request is let in, errors, the routes.
 * librechat_user.c:   who it is of, and where that one's sessions are.
 * librechat_tools.c:  code that calls tools of the client: it waits from one request to the next.
 * librechat_exec.c:   code that runs; librechat_order.c: what a request for it says.
 * librechat_store.c:  the folders of sessions, and their files by ids.
 * librechat_files.c:  reading and deleting; librechat_upload.c: writing.
 * Handler: its ctx is the struct librechat. It answers with http_answer_json() and
 *          librechat_fail(). */
#ifndef FRONT_LIBRECHAT_LIBRECHAT_INTERNAL_H
#define FRONT_LIBRECHAT_LIBRECHAT_INTERNAL_H

#include <sys/stat.h>

#include "base/buf.h"
#include "base/json/json.h"
#include "base/json/jsonw.h"
#include "files/spot.h"
#include "front/librechat/librechat.h"
#include "session/executions/executions.h"
#include "session/kernels/judge.h"
#include "wire/token/jwks.h"

#define LIBRECHAT_ID_BYTES 10
#define LIBRECHAT_ID_MAX 40      /* characters of a session's id */
#define LIBRECHAT_FILE_ID 21     /* characters of a file's id */
#define LIBRECHAT_INPUTS_MAX 200 /* files of a request */
#define LIBRECHAT_TOOLS_MAX 1000 /* tools of a request */
#define LIBRECHAT_SPACE_MAX 40   /* characters */
#define LIBRECHAT_TOKEN_BYTES 16
#define LIBRECHAT_REQUEST_MAX 100 /* characters of the client's id of a request */
#define LIBRECHAT_ANSWER_MAX ((size_t)32 << 20)

enum librechat_access { LIBRECHAT_FREE, LIBRECHAT_NEEDS_KEY };

struct librechat {
    struct librechat_config config;
    struct http_realm realm;
    struct http_guard *guard;
    struct jwks *keys;  /* NULL: users bring no tokens of their own */
    struct beneath top; /* the workspace */
    struct judge *judge;
    const struct spot_rules *rules; /* its own */
    struct sessions_watcher watcher;
    struct librechat_run *runs;
    bool stopping;
};

/* --- librechat.c ------------------------------------------------------------------------------ */

/* {"error": a word for the status, "message"} */
void librechat_fail(struct http_request *r, int status, const char *fmt, ...) PRINTF(3, 4);
void librechat_fail_err(struct http_request *r, const struct err *e);
/* Words for what `name` was refused (SPOT_REFUSED); returns their code. */
int librechat_refuse(const struct librechat *l, const char *name, struct err *e);

/* --- librechat_user.c ------------------------------------------------------------------------- */

/* The role of who sent the request; NULL: it is not let in, and `why` says what to do. */
const char *librechat_role(const struct librechat *l, struct http_request *r, struct err *why);

struct librechat_owner { /* of a session, as requests name it; each may be NULL */
    const char *kind;    /* "agent" and "skill" are the tenant's, all else the user's */
    const char *id, *version;
};
/* The folder in LIBRECHAT_FOLDER that such sessions are in, and "/"; "" for the key's holder. */
void librechat_space_of(const struct http_request *r, const struct librechat_owner *owner,
                        char ret[LIBRECHAT_SPACE_MAX + 1]);
void librechat_space_of_user(const struct http_request *r, char ret[LIBRECHAT_SPACE_MAX + 1]);

/* --- librechat_store.c ------------------------------------------------------------------------ */

struct librechat_file { /* of a session's folder */
    char *name;         /* below it */
    char id[LIBRECHAT_FILE_ID + 1];
    struct stat st;
};

struct librechat_files {
    struct librechat_file *items;
    size_t n;
};
#define drop_files __attribute__((cleanup(librechat_files_done)))
void librechat_files_done(struct librechat_files *files);

bool librechat_is_id(const char *id);
/* The same file has the same id for as long as it has its name. */
void librechat_file_id(const char *name, char ret[LIBRECHAT_FILE_ID + 1]);
/* The folder of a session. -ENOENT: there is none of that id; `make`: then it is made. */
MUST_CHECK int librechat_folder(const struct librechat *l, const char *space, const char *id,
                                bool make, struct beneath *ret, struct err *e);
/* All of its files that may be seen, but for names that begin with a dot. -EOVERFLOW: there are too
 * many. */
MUST_CHECK int librechat_list(const struct librechat *l, const struct beneath *folder,
                              struct librechat_files *ret, struct err *e);
/* NULL: none has this id. */
const struct librechat_file *librechat_find(const struct librechat_files *files, const char *id);
const struct librechat_file *librechat_find_name(const struct librechat_files *files,
                                                 const char *name);
bool librechat_same(const struct librechat_file *a, const struct librechat_file *b);

/* --- librechat_order.c: the body of /exec ----------------------------------------------------- */

enum librechat_language { LIBRECHAT_PYTHON, LIBRECHAT_BASH };

struct librechat_input {
    char *source;                    /* absolute */
    char *name;                      /* below the session's folder */
    char id[LIBRECHAT_FILE_ID + 1];  /* where it comes from */
    char from[LIBRECHAT_ID_MAX + 1]; /* likewise: its session, and that one's space */
    char space[LIBRECHAT_SPACE_MAX + 1];
    struct stat st;
};

struct librechat_order {
    struct json *body;
    enum librechat_language language;
    const char *code;         /* of the body */
    const struct json *args;  /* likewise; NULL: none */
    const struct json *tools; /* likewise; NULL: it calls none */
    int64_t timeout_ms;       /* 0: not said */
    char space[LIBRECHAT_SPACE_MAX + 1];
    char session[LIBRECHAT_ID_MAX + 1]; /* its folder is there */
    bool hinted, reused;                /* the client named a runtime, which was there before */
    struct librechat_input *inputs;
    size_t n;
};
#define drop_order __attribute__((cleanup(librechat_order_done)))
void librechat_order_done(struct librechat_order *order);

/* with_tools: Python that calls some. -EINVAL: the message names the member. */
MUST_CHECK int librechat_order_read(const struct librechat *l, struct http_request *r,
                                    bool with_tools, struct librechat_order *ret, struct err *e);
/* The cell that is to run before the client's, and the client's own. */
void librechat_put_setup(const struct librechat_order *order, struct buf *out);
void librechat_put_code(const struct librechat_order *order, struct buf *out);

/* --- librechat_exec.c ------------------------------------------------------------------------- */

struct librechat_call { /* of a tool */
    struct librechat_call *next;
    struct toolplane_call *call; /* NULL: nobody waits for its result any more */
    bool sent;                   /* the client knows it */
    uint64_t number;
    char *tool, *arguments;
};

struct librechat_run { /* code that runs or waits */
    struct librechat_run *prev, *next;
    struct librechat *owner;
    struct http_request *r;         /* NULL: it waits for the client's next one */
    char name[SESSIONS_ID_MAX + 1]; /* of the session that it runs in */
    struct librechat_order order;
    struct librechat_files before; /* in its folder */
    struct execution_watcher setup, code;
    struct loop_defer done;
    /* of code with tools */
    struct toolplane_provider provider;
    struct librechat_call *calls;
    uint64_t numbers;
    char token[2 * LIBRECHAT_TOKEN_BYTES + 1]; /* of the next request; "": none is due */
    char request_id[LIBRECHAT_REQUEST_MAX + 1];
    struct loop_timer limit; /* of its time, or of the client's */
    struct loop_timer batch;
    bool timed_out;
};

/* The code runs for this request. It has answered when it returns NULL. */
struct librechat_run *librechat_run_start(struct librechat *l, struct http_request *r,
                                          bool with_tools);
/* It is over, and answers; it is freed. */
void librechat_run_finish(void *run);
void librechat_run_free(struct librechat_run *run);
void librechat_runs_session_ended(struct librechat *l, const char *id);

/* --- librechat_tools.c ------------------------------------------------------------------------ */

void librechat_tools_open(struct librechat_run *run); /* calls of its session come here */
void librechat_tools_run(struct librechat_run *run);  /* its time begins */
void librechat_tools_close(struct librechat_run *run);
void librechat_tools_stop(struct librechat *l); /* what waits for a client ends */

/* --- handlers --------------------------------------------------------------------------------- */

void librechat_post_exec(void *ctx, struct http_request *r);
void librechat_post_programmatic(void *ctx, struct http_request *r);
void librechat_post_cancel(void *ctx, struct http_request *r);
void librechat_post_upload(void *ctx, struct http_request *r);
void librechat_get_files(void *ctx, struct http_request *r);
void librechat_get_object(void *ctx, struct http_request *r);
void librechat_download(void *ctx, struct http_request *r);
void librechat_delete(void *ctx, struct http_request *r);

#endif
