/* SPDX-License-Identifier: Apache-2.0 */
#include "front/http/http_context.h"

#include <stdio.h>
#include <string.h>

static const char *only_header(const struct http_request *r, const char *name)
{
    return http_header_count(r, name) == 1 ? http_header(r, name) : NULL;
}

/* "curl/8.14.1 libcurl/…" is curl/8.14.1. */
static void name_client(const struct http_request *r, struct request_context *ret)
{
    const char *name = only_header(r, "Ipybox-Client");
    if (!name)
        name = only_header(r, "User-Agent");
    request_put_client(ret->client, name);
    ret->client[strcspn(ret->client, " ")] = '\0';
}

void request_context_of(const struct http_request *r, struct request_context *ret)
{
    *ret = (struct request_context){0};
    (void)snprintf(ret->request_id, sizeof ret->request_id, "%s", http_id(r));
    name_client(r, ret);
    (void)trace_parse(only_header(r, "traceparent"), only_header(r, "tracestate"), &ret->trace);
}
