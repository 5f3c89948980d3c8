/* SPDX-License-Identifier: Apache-2.0
 *
 * front/agentsandbox/agentsandbox_internal.h - the parts of this door (private to it).
 * agentsandbox.c: its ports, routes and errors. asb_path.c: paths of clients, and what may be done
 * with them. asb_execute.c: commands. asb_read.c: files, and whether they are there. asb_list.c:
 * folders. asb_write.c: files of clients. asb_remove.c: the end of files. */
#ifndef FRONT_AGENTSANDBOX_AGENTSANDBOX_INTERNAL_H
#define FRONT_AGENTSANDBOX_AGENTSANDBOX_INTERNAL_H

#include <sys/stat.h>

#include "base/buf.h"
#include "base/json/jsonw.h"
#include "files/beneath.h"
#include "front/agentsandbox/agentsandbox.h"
#include "front/http/http.h"
#include "session/kernels/judge.h"

#define ASB_SHOWN_MAX 200 /* of a path in a message */

enum asb_access { ASB_FREE, ASB_NEEDS_TOKEN };

struct agentsandbox {
    struct agentsandbox_config config;
    struct http *http;
    struct http_guard *guard;
    struct http_realm runtime, sandboxd; /* the two contracts */
    struct beneath top;
    struct judge *judge;
    size_t outputs; /* bytes that are held for commands that run */
    int64_t begun_ms;
    bool stopping;
    struct loop_timer drain;
    loop_fn drained;
    void *drained_ctx;
};

/* --- agentsandbox.c --------------------------------------------------------------------------- */

/* The request came by sandboxd's contract. */
bool asb_is_sandboxd(const struct agentsandbox *a, const struct http_request *r);
void asb_fail(struct http_request *r, const struct err *e);
/* The member `message` alone, as the runtime's contract has it. */
void asb_answer_message(struct http_request *r, const char *fmt, ...) PRINTF(2, 3);

/* --- asb_path.c ------------------------------------------------------------------------------- */

/* `text` from the workspace on; a slash in front is nothing. -EACCES: it leads out. */
MUST_CHECK int asb_path(const char *text, char ret[BENEATH_PATH_MAX], struct err *e);
/* The route's parameter; "" where it has none. */
MUST_CHECK int asb_path_of(const struct http_request *r, char ret[BENEATH_PATH_MAX], struct err *e);
/* Words for an errno of a path; returns it. */
int asb_path_error(struct err *e, int code, const char *path);
MUST_CHECK int asb_may(const struct agentsandbox *a, enum judge_act act, const char *path,
                       struct err *e);
/* Opens what may be read. flags as of beneath_at(); *ret_fd is owned. */
MUST_CHECK int asb_open_path(const struct agentsandbox *a, const char *path, int flags, int *ret_fd,
                             struct stat *ret_st, struct err *e);
void asb_tell(const struct agentsandbox *a, const struct http_request *r,
              const struct audit_event *event);

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
