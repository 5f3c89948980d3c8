/* SPDX-License-Identifier: Apache-2.0
 *
 * The control plane: /sandboxes and /v2/sandboxes. */
#include "front/e2b/e2b_internal.h"

static void delete_sandbox(void *ctx, struct http_request *r)
{
    struct e2b *e = ctx;
    struct e2b_sandbox *s = e2b_sandbox_find(e, http_param(r, "id"));
    if (!s) {
        e2b_fail(r, 404, "there is no sandbox %.40s", http_param(r, "id"));
        return;
    }
    e2b_sandbox_kill(s);
    http_answer(r, 204, NULL, 0, NULL, 0);
}

static const struct http_route routes[] = {
    {"DELETE", "/sandboxes/{id}", HTTP_NO_BODY, 0, NULL, E2B_NEEDS_KEY, delete_sandbox},
};

const struct e2b_part e2b_control_part = {.routes = routes, .n = sizeof routes / sizeof *routes};
