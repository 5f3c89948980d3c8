/* SPDX-License-Identifier: Apache-2.0
 *
 * session/queue/request_context.h - the request id, trace and client of a piece of work, passed on
 * to what the work causes. They serve logs, records and those who watch; no decision depends on
 * them. */
#ifndef SESSION_QUEUE_REQUEST_CONTEXT_H
#define SESSION_QUEUE_REQUEST_CONTEXT_H

#include "base/log.h"
#include "wire/traceparent.h"

#define REQUEST_CLIENT_MAX 64 /* bytes */

struct request_context {                  /* all zero: unknown */
    char request_id[LOG_REQUEST_MAX + 1]; /* "": it came by no request of HTTP */
    struct trace trace;
    char client[REQUEST_CLIENT_MAX + 1]; /* who sent it, as it says itself; "": unknown */
};

/* A client's name; a longer one is cut at a character. NULL is "". */
void request_put_client(char ret[static REQUEST_CLIENT_MAX + 1], const char *name);

#endif
