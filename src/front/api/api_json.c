/* SPDX-License-Identifier: Apache-2.0 */
#include "front/api/api_json.h"

#include <string.h>

#include "front/api/api_bodies.h"

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

/* What the rooms below name as an argument of an MCP tool is a member of a body here: its name, and
 * where the text goes on behind it. */
static const char *problem_member_of(const char *text, const char **ret_rest)
{
    static const struct {
        const char *argument, *member;
    } names[] = {{"package_name", "package"}, {"server_name", "name"}, {"server_params", "params"}};
    *ret_rest = text;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i].argument);
        if (strncmp(text, names[i].argument, n) != 0 || (text[n] != ':' && text[n] != '.'))
            continue;
        *ret_rest = text + n;
        return names[i].member;
    }
    return "";
}

void api_fail(struct http_request *r, const struct err *e)
{
    static const struct {
        int code, status;
    } table[] = {
        {-EINVAL, 400}, {-EPERM, 403},     {-ENOENT, 404},   {-EEXIST, 409},
        {-EBUSY, 409},  {-ESTALE, 409},    {-EMSGSIZE, 413}, {-EDOM, 422},
        {-EAGAIN, 429}, {-ESHUTDOWN, 503}, {-ENOMEM, 503},
    };
    static const struct http_header later = {"Retry-After", "1"};
    int status = 500;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == e->code)
            status = table[i].status;
    const char *rest, *member = problem_member_of(e->msg, &rest);
    http_problem(r, status, &later, status == 429 || status == 503, "%s%s", member, rest);
}
