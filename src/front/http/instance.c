/* SPDX-License-Identifier: Apache-2.0 */
#include "front/http/instance.h"

#include <string.h>

#include "front/http/http_request.h"

bool instance_is_name(const char *text)
{
    static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
    size_t n = strlen(text);
    return n > 0 && n <= INSTANCE_MAX && strspn(text, good) == n;
}

void instance_refuse(struct http_request *r, const char *what, const char *owner, const char *own)
{
    const struct http_header header = {HTTP_OWNER_HEADER, owner};
    r->owned_by = owner;
    http_problem(r, 421, &header, 1, "%s is of the instance %s; this is %s", what, owner, own);
}

bool instance_is_meant(struct http_request *r, const char *own)
{
    const char *meant = http_header(r, HTTP_INSTANCE_HEADER);
    if (!own || !meant)
        return true;
    if (http_header_count(r, HTTP_INSTANCE_HEADER) > 1 || !instance_is_name(meant))
        http_problem(r, 400, NULL, 0, "the header " HTTP_INSTANCE_HEADER " is not a name");
    else if (strcmp(meant, own) != 0)
        instance_refuse(r, "this request", meant, own);
    else
        return true;
    return false;
}
