/* SPDX-License-Identifier: Apache-2.0
 *
 * front/http/http_context.h - what a request of HTTP says about itself, for the work that it
 * causes: its id, the client's name (the header Ipybox-Client, else the first word of User-Agent),
 * and its place in a trace when it has brought one in form. Several headers of one name are
 * ambiguous and ignored. */
#ifndef FRONT_HTTP_HTTP_CONTEXT_H
#define FRONT_HTTP_HTTP_CONTEXT_H

#include "front/http/http.h"
#include "session/queue/request_context.h"

void request_context_of(const struct http_request *r, struct request_context *ret);

#endif
