/* SPDX-License-Identifier: Apache-2.0
 *
 * session/queue/request_context.h - the request id and trace of a piece of work, passed on to what
 * the work causes. They serve logs and records; no decision depends on them. */
#ifndef SESSION_QUEUE_REQUEST_CONTEXT_H
#define SESSION_QUEUE_REQUEST_CONTEXT_H

#include "base/log.h"
#include "wire/traceparent.h"

struct request_context {                  /* all zero: unknown */
    char request_id[LOG_REQUEST_MAX + 1]; /* "": it came by no request of HTTP */
    struct trace trace;
};

#endif
