/* SPDX-License-Identifier: Apache-2.0
 *
 * front/api/api_json.h - what the handlers of the HTTP API have in common: bodies in JSON, and
 * errors as problem documents (private to front/). */
#ifndef FRONT_API_API_JSON_H
#define FRONT_API_API_JSON_H

#include "base/json/json.h"
#include "base/json/jsonw.h"
#include "front/http/http.h"

#define API_TYPE "application/json"
#define API_BODY_MAX ((uint64_t)2 << 20)
#define API_ANSWER_MAX ((size_t)64 << 20)

/* The body as an object whose members are all among `known` (NULL ends it); an empty body is an
 * empty object, *ret == NULL. False: it has answered. */
bool api_body(struct http_request *r, const char *const *known, struct json **ret);

bool api_wants_events(const struct http_request *r); /* by its Accept header */

/* Answers with the status that belongs to the error's code. */
void api_fail(struct http_request *r, const struct err *e);

#endif
