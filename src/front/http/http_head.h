/* SPDX-License-Identifier: Apache-2.0
 *
 * front/http/http_head.h - what a request's head means: its target, its route, its names (private
 * to http.c; pure functions).
 * Target:  segments are decoded one by one. Refused: what does not begin with '/', %00 and other
 *          control characters, broken escapes, text that is not UTF-8, "." and ".." as segments in
 *          any spelling, and an encoded slash where several segments are one parameter. */
#ifndef FRONT_HTTP_HTTP_HEAD_H
#define FRONT_HTTP_HTTP_HEAD_H

#include "front/http/http.h"

#define HTTP_SEGMENTS_MAX 64

struct http_target {
    char *path;                        /* decoded, whole; owned */
    char *segments[HTTP_SEGMENTS_MAX]; /* decoded; in the same block */
    size_t n;
    bool slash_inside; /* a segment holds an encoded slash */
};

struct http_match {
    const struct http_route *route;
    const char *names[HTTP_PARAMS_MAX]; /* not ended by 0: up to '}' or '*' */
    char *values[HTTP_PARAMS_MAX];
    size_t n;
};

/* dot: a last segment "." is right, and stays. */
MUST_CHECK int http_target_parse(const char *raw, bool dot, struct http_target *ret, struct err *e);
void http_target_done(struct http_target *t);

/* -ENOENT: no route has this path; -EPERM: none has the method, `allow` has those there are. */
MUST_CHECK int http_find_route(const struct http_route *routes, size_t n, const char *method,
                               const struct http_target *target, struct http_match *ret,
                               struct buf *allow);
void http_match_done(struct http_match *m);

/* header: a Host header, or NULL. */
bool http_host_right(const char *header, const char *bound, const char *const *hosts);
bool http_origin_right(const char *header, const char *const *origins);
/* The page came from the very Host that is asked, and that is one of few: where every Host is right
 * a external name may lead here (DNS rebinding). */
bool http_origin_is_own(const char *origin, const char *host, const char *bound,
                        const char *const *hosts);

/* "application/json; charset=utf-8" is "application/json". */
bool http_type_is(const char *header, const char *type);
/* Whether a list such as that of Connection or Sec-WebSocket-Protocol has this token. */
bool http_list_has(const char *list, const char *token, bool exact_case);

const char *http_reason(int status);

#endif
