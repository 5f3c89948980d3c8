/* SPDX-License-Identifier: Apache-2.0
 *
 * front/workspace/api_files_internal.h - what the files of the workspace's routes share (private to
 * them): api_files.c (routes, reading, errors), api_files_change.c (put, delete, move), api_tar.c,
 * api_watch.c. Functions that return false have answered the request. */
#ifndef FRONT_WORKSPACE_API_FILES_INTERNAL_H
#define FRONT_WORKSPACE_API_FILES_INTERNAL_H

#include <stdbool.h>
#include <sys/stat.h>

#include "audit/audit.h"
#include "base/json/jsonw.h"
#include "files/spot.h"
#include "front/api/api_internal.h"
#include "front/http/http.h"
#include "front/workspace/api_files.h"
#include "session/kernels/judge.h"

#define FILES_ETAG_MAX 64

struct watcher; /* api_watch.c */

struct api_files {
    struct loop *loop;
    struct beneath top;
    struct watcher *watchers;
    size_t watches;
    struct audit *audit; /* NULL: there is none */
    struct judge *judge; /* NULL: everybody may everything */
    const struct api *api;
};

/* What this client may do; NULL: everything. */
const struct spot_rules *files_rules(const struct api_files *f, const struct http_request *r);
/* And what an archive for it holds. */
const struct spot_rules *files_archive_rules(const struct api_files *f,
                                             const struct http_request *r);
/* Answers a SPOT_REFUSED; files_problem() does so, too. */
void files_refuse(const struct api_files *f, struct http_request *r, const char *path);

/* The path of the route, or of the query for names that a route cannot have; clean. */
bool files_path(struct http_request *r, char ret[BENEATH_PATH_MAX]);
bool files_flag(struct http_request *r, const char *name, bool *ret);
/* "0755"; *ret stays as it is when there is none. */
bool files_mode(struct http_request *r, const char *text, mode_t *ret);

/* code: a negative errno, or SPOT_REFUSED. */
void files_problem(const struct api_files *f, struct http_request *r, int code, const char *path);
int files_status(int code);

void files_etag(const struct stat *st, char ret[FILES_ETAG_MAX]);
/* If-Match and If-None-Match of a request that changes something. */
bool files_may_change(const struct api_files *f, struct http_request *r, const char *path);
/* Whether a change may be made: the audit log takes it. */
bool files_audited(const struct api_files *f, struct http_request *r);
/* A change was made, for this request. */
void files_tell(const struct api_files *f, const struct http_request *r,
                const struct audit_event *event);
/* folder, name: of a link whose text is shown; name may be NULL. */
void files_put_entry(struct jsonw *w, const char *shown, const struct stat *st, int folder,
                     const char *name);
void files_answer_entry(struct http_request *r, int status, const char *path,
                        const struct stat *st);

/* Handlers. */
void files_put(void *ctx, struct http_request *r);
void files_delete(void *ctx, struct http_request *r);
void files_post(void *ctx, struct http_request *r);
void files_tar_out(void *ctx, struct http_request *r);
void files_tar_in(void *ctx, struct http_request *r);
void files_watch(void *ctx, struct http_request *r);

#endif
