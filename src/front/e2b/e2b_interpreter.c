/* SPDX-License-Identifier: Apache-2.0
 *
 * The code interpreter: /execute and /contexts. */
#include "front/e2b/e2b_internal.h"

static void get_code_health(void *ctx, struct http_request *r)
{
    static const struct http_header type = {"Content-Type", E2B_TYPE};
    (void)ctx;
    http_answer(r, 200, &type, 1, "\"OK\"", 4);
}

static const struct http_route routes[] = {
    {"GET", "/health", HTTP_NO_BODY, 0, NULL, E2B_FREE, get_code_health},
};

const struct e2b_part e2b_interpreter_part = {.routes = routes,
                                              .n = sizeof routes / sizeof *routes};
