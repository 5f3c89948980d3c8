/* SPDX-License-Identifier: Apache-2.0 */
#include "front/api_json.h"

#include <string.h>

#include "base/alloc.h"

static bool is_known(const char *name, const char *const *known)
{
    while (*known && strcmp(*known, name) != 0)
        known++;
    return *known != NULL;
}

bool api_body(struct http_request *r, const char *const *known, struct json **ret)
{
    struct buf *body = http_body(r);
    struct err e = ERR_NONE;
    *ret = NULL;
    if (body->len == 0)
        return true;
    drop_json struct json *parsed = json_parse(body->data, body->len, JSON_STRICT, &e);
    if (!parsed) {
        http_problem(r, 400, NULL, 0, "the body: %s", e.msg);
        return false;
    }
    if (!json_is_object(parsed)) {
        http_problem(r, 400, NULL, 0, "the body: a JSON object is needed");
        return false;
    }
    for (const struct json *item = json_first(parsed); item; item = json_next(item)) {
        if (!is_known(json_name(item), known)) {
            http_problem(r, 400, NULL, 0, "%.80s: there is no such member", json_name(item));
            return false;
        }
    }
    *ret = parsed;
    parsed = NULL;
    return true;
}

static const struct json *given(const struct json *body, const char *name)
{
    const struct json *item = json_get(body, name);
    return json_is_null(item) ? NULL : item;
}

int api_text(const struct json *body, const char *name, const char **ret, struct err *e)
{
    const struct json *item = given(body, name);
    if (item && !json_text(item))
        return err_set(e, -EINVAL, "%s: a string is needed", name);
    *ret = item ? json_text(item) : *ret;
    return 0;
}

int api_bool(const struct json *body, const char *name, bool *ret, struct err *e)
{
    const struct json *item = given(body, name);
    if (item && !json_is_bool(item))
        return err_set(e, -EINVAL, "%s: true or false is needed", name);
    *ret = item ? json_true(item) : *ret;
    return 0;
}

int api_int(const struct json *body, const char *name, int64_t least, int64_t most, int64_t *ret,
            struct err *e)
{
    const struct json *item = given(body, name);
    double n = json_number(item);
    if (item &&
        (!json_is_number(item) || n < (double)least || n > (double)most || (double)(int64_t)n != n))
        return err_set(e, -EINVAL, "%s: a whole number from %lld to %lld is needed", name,
                       (long long)least, (long long)most);
    *ret = item ? (int64_t)n : *ret;
    return 0;
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
