/* SPDX-License-Identifier: Apache-2.0
 *
 * front/agentsandbox/agentsandbox_internal.h - the parts of this door (private to it).
 * agentsandbox.c: its ports, routes and errors. asb_path.c: paths of clients, and what may be done
 * with them. asb_execute.c: commands. asb_read.c: files, and whether they are there. asb_list.c:
 * folders. asb_write.c: files of clients. asb_remove.c: the end of files. asb_kept.c: what is
 * kept of a command's output. asb_process.c: sandboxd's ProcessService; asb_config.c: what it is to
 * run. */
#ifndef FRONT_AGENTSANDBOX_AGENTSANDBOX_INTERNAL_H
#define FRONT_AGENTSANDBOX_AGENTSANDBOX_INTERNAL_H

#include <sys/stat.h>

#include "base/buf.h"
#include "base/json/jsonw.h"
#include "files/spot.h"
#include "front/agentsandbox/agentsandbox.h"
#include "front/grpc/grpc.h"
#include "front/http/http.h"
#include "session/commands/commands.h"
#include "session/kernels/judge.h"

#define ASB_SHOWN_MAX 200   /* of a path in a message */
#define ASB_NOTE_MAX 4096   /* of what a command did not say itself */
#define ASB_CELLS_MAX 10000 /* columns, or rows, of a terminal */

enum asb_access { ASB_FREE, ASB_NEEDS_TOKEN };

struct agentsandbox {
    struct agentsandbox_config config;
    struct http *http; /* NULL: it has no port of its own */
    struct grpc *grpc; /* likewise */
    struct http_guard *guard;
    struct http_realm runtime, sandboxd; /* the two contracts */
    struct beneath top;
    struct judge *judge;
    const struct spot_rules *rules; /* its own */
    size_t outputs;                 /* bytes that are held for commands that run */
    int64_t begun_ms;
    bool stopping;
    struct loop_timer drain;
    loop_fn drained;
    void *drained_ctx;
};

/* --- agentsandbox.c --------------------------------------------------------------------------- */

/* The request came by sandboxd's contract. */
bool asb_is_sandboxd(const struct agentsandbox *a, const struct http_request *r);
/* No token is asked for. */
bool asb_is_open(const struct agentsandbox *a);
/* What this token is of, which may be NULL; NULL: nothing. */
const char *asb_role_of(const struct agentsandbox *a, const char *token);
void asb_fail(struct http_request *r, const struct err *e);
/* The member `message` alone, as the runtime's contract has it. */
void asb_answer_message(struct http_request *r, const char *fmt, ...) PRINTF(2, 3);

/* --- asb_path.c ------------------------------------------------------------------------------- */

/* `text` from the workspace on; a slash in front is nothing. -EACCES: it leads out. */
MUST_CHECK int asb_path(const char *text, char ret[BENEATH_PATH_MAX], struct err *e);
/* The route's parameter; "" where it has none. */
MUST_CHECK int asb_path_of(const struct http_request *r, char ret[BENEATH_PATH_MAX], struct err *e);
/* Words for an errno of a path, or for SPOT_REFUSED, which becomes -EACCES, or -EAGAIN while
 * nobody can tell; returns it. */
int asb_path_error(const struct agentsandbox *a, struct err *e, int code, const char *path);
/* Opens what may be read. flags as of beneath_at(); *ret_fd is owned. */
MUST_CHECK int asb_open_path(const struct agentsandbox *a, const char *path, int flags, int *ret_fd,
                             struct stat *ret_st, struct err *e);
void asb_tell(const struct agentsandbox *a, const struct http_request *r,
              const struct audit_event *event);

/* --- asb_execute.c ---------------------------------------------------------------------------- */

/* The body of /execute; seconds: 0: no limit. *ret_command is the body's. */
struct json;
MUST_CHECK int asb_execute_read(const struct json *body, const char **ret_command,
                                double *ret_seconds, struct err *e);

/* --- asb_kept.c ------------------------------------------------------------------------------- */

struct asb_kept { /* what fits, the beginning */
    struct agentsandbox *owner;
    struct buf out, err;
    size_t lost;
};
#define ASB_KEPT(a, out_max, err_max)                                                              \
    (struct asb_kept)                                                                              \
    {                                                                                              \
        .owner = (a), .out = BUF_INIT(out_max), .err = BUF_INIT(err_max)                           \
    }
void asb_kept_done(struct asb_kept *kept);
void asb_keep(struct asb_kept *kept, enum command_stream stream, const char *bytes, size_t n);
/* Why the command ended, and what is left out. seconds: its limit. */
void asb_put_note(struct buf *to, const struct asb_kept *kept, const struct command_end *end,
                  double seconds);
int asb_exit_code(const struct command_end *end); /* a signal is negative */

/* --- asb_config.c ----------------------------------------------------------------------------- */

struct asb_config { /* zeroed; done with asb_config_done() */
    char *program;
    struct json *args, *envs;
    char *cwd; /* NULL: the session's */
    bool terminal;
    unsigned short columns, rows;
};
void asb_config_done(struct asb_config *config);
#define drop_asb_config __attribute__((cleanup(asb_config_done)))

/* Of an ExecuteRequest or a StartRequest, which differ in `pty` alone. */
MUST_CHECK int asb_config_read(const struct agentsandbox *a, const char *message, size_t n,
                               struct asb_config *ret, struct err *e);

/* --- asb_process.c ---------------------------------------------------------------------------- */

extern const struct grpc_method asb_process_methods[];
bool asb_admit_call(void *ctx, struct h2_stream *call);

/* --- asb_list.c ------------------------------------------------------------------------------- */

/* folder: opened for reading; taken over. path: as the workspace has it. */
void asb_list_folder(struct agentsandbox *a, struct http_request *r, int folder, const char *path);

/* --- handlers; ctx: the struct agentsandbox --------------------------------------------------- */

void asb_execute(void *ctx, struct http_request *r);
void asb_upload(void *ctx, struct http_request *r);
void asb_download(void *ctx, struct http_request *r);
void asb_list(void *ctx, struct http_request *r);
void asb_exists(void *ctx, struct http_request *r);
void asb_get(void *ctx, struct http_request *r);
void asb_put(void *ctx, struct http_request *r);
void asb_delete(void *ctx, struct http_request *r);

#endif
