/* SPDX-License-Identifier: Apache-2.0
 *
 * envd: the files and the processes of a sandbox. */
#include "front/e2b/e2b_internal.h"

/* Whether the sandbox is running: 502 says that it is not. */
static void get_envd_health(void *ctx, struct http_request *r)
{
    const char *id = http_header(r, "E2b-Sandbox-Id");
    if (e2b_addressed(ctx, r) || !id)
        http_answer(r, 204, NULL, 0, NULL, 0);
    else
        e2b_fail_absent(r, id);
}

static const struct http_route routes[] = {
    {"GET", "/health", HTTP_NO_BODY, 0, NULL, E2B_FREE, get_envd_health},
};

const struct e2b_part e2b_envd_part = {.routes = routes, .n = sizeof routes / sizeof *routes};
