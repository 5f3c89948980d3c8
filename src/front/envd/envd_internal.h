/* SPDX-License-Identifier: Apache-2.0
 *
 * front/envd/envd_internal.h - what the files of envd share (private to front/envd).
 * envd.c:             the table of routes, /health, /envs.
 * envd_rpc.c:         Connect's calls and streams.
 * envd_path.c:        paths of clients, and what is told of what they lead to.
 * envd_filesystem.c:  Stat, MakeDir, Move, Remove; envd_list.c: ListDir; envd_watch.c: watches.
 * envd_files.c:       /files: who may, and reading; envd_upload.c: writing; envd_compose.c: several
 *                     files as one.
 * envd_metadata.c:    what a client has noted at a file.
 * envd_start.c:       Start and Connect; envd_process.c: the other calls of processes.
 * Files:   the workspace alone (files/beneath.h), and of it what code in cells may (judge.h), for
 *          every client. */
#ifndef FRONT_ENVD_ENVD_INTERNAL_H
#define FRONT_ENVD_ENVD_INTERNAL_H

#include <sys/stat.h>

#include "audit/audit.h"
#include "files/spot.h"
#include "front/e2b/e2b_internal.h"
#include "session/kernels/judge.h"
#include "wire/connectrpc.h"

#define ENVD_BODY_MAX (8 << 20)
#define ENVD_ENTRIES_MAX 10000                /* of an answer of ListDir */
#define ENVD_INFLATED_MAX ((uint64_t)1 << 30) /* of an upload in gzip */
#define ENVD_WATCHERS_MAX 32                  /* of one sandbox */
#define ENVD_PATH_MAX (2 * BENEATH_PATH_MAX)
#define ENVD_HOME "/home/user"

struct envd { /* of all sandboxes */
    struct e2b *e2b;
    struct beneath top;
    struct judge *judge;
    const struct spot_rules *rules; /* its own */
};

struct e2b_envd { /* of one sandbox */
    struct envd_watcher *watchers;
    size_t count, numbers;
};

/* --- envd_rpc.c ------------------------------------------------------------------------------- */

struct envd_call { /* zeroed; done with envd_call_done() */
    struct envd *envd;
    struct http_request *r;
    struct e2b_sandbox *sandbox;
    struct sessions_view session;
    struct json *body; /* an object */
};
void envd_call_done(struct envd_call *call);
#define drop_call __attribute__((cleanup(envd_call_done)))

/* What a call asks for. False: it has answered. */
bool envd_unary(void *ctx, struct http_request *r, struct envd_call *ret);
bool envd_streaming(void *ctx, struct http_request *r, struct envd_call *ret);
/* The sandbox, and the user whom the request names; the body is the caller's. 0, or an errno for
 * envd_refuse() with its words in e. */
MUST_CHECK int envd_find(void *ctx, struct http_request *r, struct envd_call *ret, struct err *e);
/* The same of a sandbox that was found another way; NULL: none was. */
MUST_CHECK int envd_find_in(struct e2b *e2b, struct e2b_sandbox *s, struct http_request *r,
                            struct envd_call *ret, struct err *e);

void envd_answer(struct http_request *r, const struct buf *message);
void envd_answer_empty(struct http_request *r);
void envd_refuse(struct http_request *r, const struct err *e);        /* of a call */
void envd_refuse_stream(struct http_request *r, const struct err *e); /* of one not begun */
void envd_stream_begin(struct http_request *r);
/* The stream's last frame: why == NULL: all went well. */
void envd_stream_end(struct http_request *r, const struct err *why);
/* The next frame, or -EAGAIN: the reader is slow, and `writable` follows. */
MUST_CHECK int envd_stream_put(struct http_request *r, const struct buf *frame);

int64_t envd_timeout_ms(const struct http_request *r);   /* 0: none, < 0: it is wrong */
int64_t envd_keepalive_ms(const struct http_request *r); /* between two of them */
/* "user" and nobody are the sandbox's; -ENOKEY: there is no other. */
MUST_CHECK int envd_check_user(const char *name, struct err *e);

/* --- envd_path.c ------------------------------------------------------------------------------ */

struct envd_path {
    char below[BENEATH_PATH_MAX]; /* the workspace; "": itself */
    char shown[ENVD_PATH_MAX];    /* absolute, as the client has it */
};

/* -EXDEV: it is outside of the workspace; -EINVAL, -ENAMETOOLONG. */
MUST_CHECK int envd_path(const struct envd *d, const char *text, struct envd_path *ret,
                         struct err *e);
/* The absolute path of a folder that a program is to start in. NULL: as it was given. */
char *envd_real_path(const struct envd *d, const char *text);

/* Words for an errno of a path, or for SPOT_REFUSED, which becomes -EACCES, or -EAGAIN while
 * nobody can tell. */
int envd_path_error(const struct envd *d, struct err *e, int code, const struct envd_path *path);
/* The place of a path that is not the workspace itself, where this may be done (spot.h). make:
 * with the folders on the way. */
MUST_CHECK int envd_place(const struct envd *d, const struct envd_path *path, bool make,
                          enum spot_act act, struct spot *ret, struct err *e);

/* An EntryInfo of what is in a folder that may be read; nothing is written when it is not there, or
 * not to be seen. */
MUST_CHECK int envd_put_entry(const struct envd *d, struct jsonw *w, const struct envd_path *path);
/* The same of what may be read itself. */
MUST_CHECK int envd_put_readable(const struct envd *d, struct jsonw *w,
                                 const struct envd_path *path);
void envd_tell(const struct envd *d, const struct http_request *r, const struct audit_event *event);

/* --- envd_files.c ----------------------------------------------------------------------------- */

/* Whose files, and whether the caller may. False: it has answered. */
bool envd_begin_files(void *ctx, struct http_request *r, const char *operation,
                      struct envd_call *ret);
void envd_fail_files(struct http_request *r, const struct err *e);
struct envd_file { /* ENVD_FILE_NONE: none */
    struct spot place;
    struct newfile file;
};
#define ENVD_FILE_NONE                                                                             \
    (struct envd_file)                                                                             \
    {                                                                                              \
        .place = SPOT_NONE, .file = NEWFILE_NONE                                                   \
    }
/* A new file at a path, with the mode of what is there. Missing folders are made. */
MUST_CHECK int envd_file_open(const struct envd *d, const struct envd_path *path,
                              struct envd_file *ret, struct err *e);
/* It is there: whole. Afterwards it is as ENVD_FILE_NONE, also on failure. */
MUST_CHECK int envd_file_commit(const struct envd *d, struct envd_file *f,
                                const struct envd_path *path, struct err *e);
void envd_file_drop(struct envd_file *f);

/* --- envd_metadata.c -------------------------------------------------------------------------- */

/* The headers X-Metadata-*: an object of texts, or NULL where there are none. */
MUST_CHECK int envd_metadata_of(const struct http_request *r, struct json **ret, struct err *e);
/* As extended attributes. -EOPNOTSUPP: the file system has none. */
MUST_CHECK int envd_metadata_set(int fd, const struct json *metadata, struct err *e);
/* A member "metadata" where there is any, of a name in a folder; "": the folder. */
void envd_metadata_put(struct jsonw *w, int dir, const char *name);

/* --- envd_process.c --------------------------------------------------------------------------- */

/* {"pid"} or {"tag"}; -ENOENT. */
struct command;
MUST_CHECK int envd_select(const struct envd_call *call, const struct json *selector,
                           struct command **ret, struct err *e);

/* --- handlers --------------------------------------------------------------------------------- */

void envd_stat(void *ctx, struct http_request *r);
void envd_make_dir(void *ctx, struct http_request *r);
void envd_move(void *ctx, struct http_request *r);
void envd_remove(void *ctx, struct http_request *r);
void envd_list_dir(void *ctx, struct http_request *r);
void envd_watch_dir(void *ctx, struct http_request *r);
void envd_create_watcher(void *ctx, struct http_request *r);
void envd_get_watcher_events(void *ctx, struct http_request *r);
void envd_remove_watcher(void *ctx, struct http_request *r);
void envd_start(void *ctx, struct http_request *r);
void envd_connect(void *ctx, struct http_request *r);
void envd_list(void *ctx, struct http_request *r);
void envd_send_input(void *ctx, struct http_request *r);
void envd_stream_input(void *ctx, struct http_request *r);
void envd_close_stdin(void *ctx, struct http_request *r);
void envd_send_signal(void *ctx, struct http_request *r);
void envd_update(void *ctx, struct http_request *r);
void envd_get_file(void *ctx, struct http_request *r);
void envd_post_file(void *ctx, struct http_request *r);
void envd_compose_files(void *ctx, struct http_request *r);

void envd_watchers_close(struct e2b_sandbox *s); /* those that are open end */

/* The signature of a file's URL (envd_signature.c). */
bool envd_signed(const struct http_request *r, const char *token, const char *operation);

#endif
