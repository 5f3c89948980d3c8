/* SPDX-License-Identifier: Apache-2.0 */
#include "front/api_json.h"

#include <string.h>

#include "front/api_bodies.h"

bool api_body(struct http_request *r, const char *const *known, struct json **ret)
{
    struct err e = ERR_NONE;
    if (body_parse(http_body(r), known, ret, &e) == 0)
        return true;
    http_problem(r, 400, NULL, 0, "%s", e.msg);
    return false;
}

bool api_wants_events(const struct http_request *r)
{
    const char *accept = http_header(r, "Accept");
    return accept && strcasestr(accept, "text/event-stream");
}

void api_fail(struct http_request *r, const struct err *e)
{
    static const struct {
        int code, status;
    } table[] = {
        {-EINVAL, 400}, {-EPERM, 403},    {-ENOENT, 404}, {-EEXIST, 409},    {-EBUSY, 409},
        {-ESTALE, 409}, {-EMSGSIZE, 413}, {-EAGAIN, 429}, {-ESHUTDOWN, 503}, {-ENOMEM, 503},
    };
    static const struct http_header later = {"Retry-After", "1"};
    int status = 500;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == e->code)
            status = table[i].status;
    http_problem(r, status, &later, status == 429 || status == 503, "%s", e->msg);
}
