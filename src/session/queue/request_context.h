/* SPDX-License-Identifier: Apache-2.0
 *
 * session/queue/request_context.h - what a piece of work came with: it is carried to what the work
 * causes. Both are for those who look at records later; nothing is decided by them. */
#ifndef SESSION_QUEUE_REQUEST_CONTEXT_H
#define SESSION_QUEUE_REQUEST_CONTEXT_H

#include "base/log.h"
#include "wire/traceparent.h"

struct request_context {                  /* all zero: unknown */
    char request_id[LOG_REQUEST_MAX + 1]; /* "": it came by no request of HTTP */
    struct trace trace;
};

#endif
