/* SPDX-License-Identifier: Apache-2.0
 *
 * front/http/instance.h - the name that this server has among others, and requests that are meant
 * for one of those (docs/kubernetes.md, decision 0046).
 * Answers: each has the name in HTTP_INSTANCE_HEADER; libmicrohttpd's own refusals have no more
 *          than their status.
 * Asked:   a request may say in the same header whom it means. Another than this one: 421, with the
 *          owner's name in HTTP_OWNER_HEADER, in the detail, and as the member `owner` of the
 *          problem document. Members of RFC 9457 keep their meaning: `instance` is none of ours.
 * Limits:  INSTANCE_MAX bytes: letters, digits, '.', '-' and '_', which are harmless in a header, a
 *          URL and a log. */
#ifndef FRONT_HTTP_INSTANCE_H
#define FRONT_HTTP_INSTANCE_H

#include <stdbool.h>

#include "front/http/http.h"

#define INSTANCE_MAX 253 /* bytes: a name of Kubernetes */
#define HTTP_INSTANCE_HEADER "Ipybox-Instance"
#define HTTP_OWNER_HEADER "Ipybox-Owner"

bool instance_is_name(const char *text);

/* Whether the request's header means this server, which it does when there is none. Else it has
 * been answered: 421, or 400 where the header is no name, or is there twice. own: NULL: this server
 * has no name, and every request is meant for it. */
bool instance_is_meant(struct http_request *r, const char *own);

/* Answers 421: `what` belongs to the instance `owner`, which must be a name, not to `own`. */
void instance_refuse(struct http_request *r, const char *what, const char *owner, const char *own);

#endif
