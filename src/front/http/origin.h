/* SPDX-License-Identifier: Apache-2.0
 *
 * front/http/origin.h - what a request of HTTP says about itself, for the work that it causes: its
 * id, and its place in a trace when it has brought one in form. Of several headers of one name
 * nobody knows which is meant: they are passed over. */
#ifndef FRONT_HTTP_ORIGIN_H
#define FRONT_HTTP_ORIGIN_H

#include "front/http/http.h"
#include "session/queue/origin.h"

void origin_of(const struct http_request *r, struct origin *ret);

#endif
