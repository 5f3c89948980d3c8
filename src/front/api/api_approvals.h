/* SPDX-License-Identifier: Apache-2.0
 *
 * front/api/api_approvals.h - tool calls and servers' questions that wait for a human, over HTTP
 * (private to front/).
 * Seat:    the API is an approver while somebody with the role looks: while a stream is open and
 *          for 60 s after a listing. When it is the only door and has a token for the role it stays
 *          one, behind the MCP clients that can be asked. These are asked questions before it.
 * Streams: hold the ids of what they have told, nothing else: at most APPROVALS_PENDING_MAX, and
 *          those whose end the client has not taken yet. */
#ifndef FRONT_API_API_APPROVALS_H
#define FRONT_API_API_APPROVALS_H

#include "approval/approvals.h"
#include "base/json/jsonw.h"
#include "front/api/api_follow.h"
#include "front/api/api_internal.h"
#include "session/kernels/sessions.h"

#define API_LOOKERS_MAX 8 /* streams of approvals: each may hold one question of 64 MiB */

struct asked { /* a question that is ours */
    struct asked *next;
    char id[APPROVALS_ID_MAX];
    char session[SESSIONS_ID_MAX + 1];
};

struct approval_stream;

struct api_approvals {
    struct api *api;
    struct approver *approver;  /* NULL: nobody looks */
    struct approver *questions; /* likewise */
    struct asked *asked;
    struct loop_timer away;
    struct approval_stream *approval_streams;
    size_t approval_stream_count;
    struct approvals_listener listener; /* while there are approval_streams */
};

/* One that waits, as an object. */
void approvals_put(struct jsonw *w, struct api_approvals *all, const struct approval_view *view);
bool approvals_are_mine(const struct api_approvals *all, const char *id);
void approvals_look(struct api_approvals *all); /* somebody with the role is there */

/* --- api_approvals_stream.c ------------------------------------------------------------------- */

void approval_streams_open(struct api_approvals *all, struct http_request *r);
void approval_streams_end(struct api_approvals *all, enum follow_why why, const char *reason);

#endif
