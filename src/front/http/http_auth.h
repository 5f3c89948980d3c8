/* SPDX-License-Identifier: Apache-2.0
 *
 * front/http/http_auth.h - the token of a request, and delays for addresses that guess.
 * Token:   `Authorization: Bearer TOKEN`, or Basic with the token as the password of any user: for
 *          clients that take no more than a URL, `http://x:TOKEN@host`. `X-Ipybox-Token: TOKEN`
 *          where a router wants Authorization for itself: where it is there nothing else is looked
 *          at, so a wrong one is refused beside a right Authorization, and somebody else's
 *          Authorization beside a right one does no harm. Of a WebSocket's handshake without both
 *          also a subprotocol that is offered, HTTP_TOKEN_PROTOCOL and the token in base64url:
 *          pages of a browser can set no header there.
 * Guard:   after HTTP_GUARD_FREE failures of one address within HTTP_GUARD_MS its further failures
 *          are answered 429, HTTP_GUARD_DELAY_MS late. A right token is never held up: many
 *          clients may share an address.
 * Audit:   refusals of an address are told as long as they are answered at once, and the first of
 *          the others; a login is told when the address has not had that role for HTTP_LOGIN_MS. */
#ifndef FRONT_HTTP_HTTP_AUTH_H
#define FRONT_HTTP_HTTP_AUTH_H

#include "audit/audit.h"
#include "front/http/http.h"

#define HTTP_TOKEN_MAX 512 /* bytes */
#define HTTP_TOKEN_PROTOCOL "ipybox.bearer."
#define HTTP_TOKEN_HEADER "X-Ipybox-Token"
#define HTTP_GUARD_FREE 10
#define HTTP_GUARD_MS 60000
#define HTTP_GUARD_DELAY_MS 1000
#define HTTP_LOGIN_MS 3600000

/* False: there is none, or what is there is not one. */
bool http_token(const struct http_request *r, char ret[HTTP_TOKEN_MAX + 1]);
/* A header for a token is there, whatever it holds. */
bool http_brings_token(const struct http_request *r);

/* What the one Authorization: Bearer holds, however long; NULL: there is none. */
const char *http_bearer(const struct http_request *r);

struct http_guard;
struct http_guard *http_guard_new(struct loop *loop);
struct http_guard *http_guard_free(struct http_guard *guard); /* NULL in, NULL out */

/* From now on it tells the audit log, which may be NULL, who came to the door of that name. */
void http_guard_tell(struct http_guard *guard, struct audit *audit, const char *door);

/* A request with a right token was let in, or its token is not for this. `role`: a literal. */
void http_guard_admit(struct http_guard *guard, const struct http_request *r, const char *role);
void http_guard_forbid(const struct http_guard *guard, const struct http_request *r,
                       const char *role);

/* The same at doors that speak no HTTP/1. The second: without a right token; true: the answer is to
 * come HTTP_GUARD_DELAY_MS later. */
void http_guard_admit_from(struct http_guard *guard, const char *address, const char *role);
bool http_guard_holds_up(struct http_guard *guard, const char *address);

/* Answers a request without a right token: 401 with WWW-Authenticate, or 429. */
void http_guard_refuse(struct http_guard *guard, struct http_request *r, const char *what_to_do);

#endif
