/* SPDX-License-Identifier: Apache-2.0
 *
 * front/workspace/api_files.h - /v1/files, /v1/tar and /v1/watch: the workspace over HTTP
 * (docs/files.md).
 * Routes:  api_files_group (api_internal.h); the ctx of each is a struct api.
 * Safety:  nothing outside the workspace is reached, whatever code in it does meanwhile
 *          (files/beneath.h). Files are answered in a way that browsers run nothing of them.
 * Memory:  of constant size for each request, however large files, folders and archives are.
 * Limits:  API_FILES_BODY_MAX bytes of a body, API_WATCHES_MAX watches at once. */
#ifndef FRONT_WORKSPACE_API_FILES_H
#define FRONT_WORKSPACE_API_FILES_H

#include <stdint.h>

#include "base/err.h"
#include "loop/loop.h"

#define API_FILES_BODY_MAX ((uint64_t)1 << 40)
#define API_WATCHES_MAX 32

struct api_files;
struct audit; /* audit/audit.h */

/* NULL: *e says why. workspace is a folder that is there. */
struct api_files *api_files_open(struct loop *loop, const char *workspace, struct err *e);
/* From now on changes are told to the audit log, which may be NULL. */
void api_files_tell(struct api_files *f, struct audit *audit);
/* Who may only execute is judged by it (session/kernels/judge.h), as `api` knows who that is;
 * borrowed. */
struct judge;
struct api;
void api_files_judge(struct api_files *f, struct judge *judge, const struct api *api);
/* After http_close(): requests belong to it. NULL in, NULL out. */
struct api_files *api_files_close(struct api_files *f);
/* A file's bytes, or the range of them that is asked for, with its ETag. fd is taken over. path: as
 * it is shown; its ending tells the media type. */
struct http_request;
struct stat;
void api_files_send(struct http_request *r, int fd, const struct stat *st, const char *path);
void api_files_drain(struct api_files *f); /* streams end with a last event; api_watch.c */

#endif
