/* SPDX-License-Identifier: Apache-2.0
 *
 * front/e2b/e2b_control.h - the parts of the control plane (private to e2b_control.c, e2b_fork.c,
 * e2b_list.c and e2b_metrics.c). */
#ifndef FRONT_E2B_E2B_CONTROL_H
#define FRONT_E2B_E2B_CONTROL_H

#include "front/e2b/e2b_internal.h"

/* What create and connect answer: with its tokens. */
void e2b_answer_sandbox(struct http_request *r, int status, const struct e2b_sandbox *s);
void e2b_put_created(struct jsonw *w, const struct e2b_sandbox *s); /* the same, as an object */
/* What it is at present; without what create answers. */
void e2b_sandbox_get(void *ctx, struct http_request *r);
void e2b_sandboxes_list(void *ctx, struct http_request *r);    /* all of them */
void e2b_sandboxes_list_v2(void *ctx, struct http_request *r); /* page by page */

void e2b_sandbox_metrics(void *ctx, struct http_request *r);

/* A number in the query; *ret stays where there is none. False: it has answered 400. */
bool e2b_read_number(struct http_request *r, const char *name, uint64_t least, uint64_t most,
                     uint64_t *ret);
/* {id}. NULL: it has answered 404. */
struct e2b_sandbox *e2b_sandbox_param(struct e2b *e, struct http_request *r);
/* The same; NULL also where it has answered 409: it is paused. */
struct e2b_sandbox *e2b_running_param(struct e2b *e, struct http_request *r);
/* Of a sandbox that begins, in its body's seconds; some minutes where it names none. */
MUST_CHECK int e2b_read_timeout(const struct json *body, int64_t *ret_ms, struct err *err);

void e2b_sandbox_fork(void *ctx, struct http_request *r);

#endif
