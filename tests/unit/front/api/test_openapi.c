/* SPDX-License-Identifier: Apache-2.0
 *
 * What the document says of the routes is what is served: no route more, none less. */
#include <acutest.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json/json.h"
#include "front/api/api_internal.h"
#include "front/api/openapi.h"

static struct json *document;

static void parse(void)
{
    struct err e = ERR_NONE;
    document = json_parse_copy((const char *)openapi, openapi_size, JSON_STRICT, &e);
    TEST_ASSERT_(document != NULL, "%s", e.msg);
}

/* "{path*}" is "{path}" there, methods are in small letters. */
static const struct json *find_operation(const struct http_route *route)
{
    char path[256], method[16];
    size_t n = 0;
    for (const char *p = route->path; *p; p++)
        if (*p != '*')
            path[n++] = *p;
    path[n] = '\0';
    for (n = 0; route->method[n]; n++)
        method[n] = (char)tolower((unsigned char)route->method[n]);
    method[n] = '\0';
    return json_get(json_get(json_get(document, "paths"), path), method);
}

static size_t count_operations(void)
{
    size_t n = 0;
    const struct json *path = json_first(json_get(document, "paths"));
    for (; path; path = json_next(path))
        for (const struct json *item = json_first(path); item; item = json_next(item))
            n += strcmp(json_name(item), "parameters") != 0;
    return n;
}

/* "/mcp/" is another spelling of a route that is described. */
static bool is_spelling(const char *path)
{
    const size_t n = strlen(path);
    return n > 1 && path[n - 1] == '/';
}

static bool is_tag(const char *name)
{
    const struct json *tag = json_first(json_get(document, "tags"));
    for (; tag; tag = json_next(tag))
        if (name && strcmp(json_get_text(tag, "name"), name) == 0)
            return json_get_text(tag, "description") != NULL;
    return false;
}

/* What generators and readers need of it, beside its answers. */
static void check_words(const struct json *operation, const struct http_route *route)
{
    static const char *const members[] = {"operationId", "summary", "description"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const char *text = json_get_text(operation, members[i]);
        TEST_CHECK_(text && *text, "%s %s has no %s in openapi.json", route->method, route->path,
                    members[i]);
    }
    const struct json *tags = json_get(operation, "tags");
    TEST_CHECK_(json_count(tags) == 1 && is_tag(json_text(json_first(tags))),
                "%s %s has no tag of the list in openapi.json", route->method, route->path);
}

static void every_route_is_described_and_nothing_else(void)
{
    size_t n = 0;
    parse();
    for (const struct api_group *const *group = api_groups; *group; group++) {
        for (size_t i = 0; i < (*group)->n; i++) {
            const struct http_route *route = &(*group)->routes[i];
            if (is_spelling(route->path))
                continue;
            const struct json *operation = find_operation(route);
            n++;
            TEST_CHECK_(operation != NULL, "%s %s", route->method, route->path);
            bool has_body = route->body == HTTP_COLLECT || route->body == HTTP_RECEIVE;
            TEST_CHECK_(has_body == (json_get(operation, "requestBody") != NULL), "%s %s",
                        route->method, route->path);
            bool has_socket = route->body == HTTP_EVENTS || route->body == HTTP_WEBSOCKET;
            const struct json *responses = json_get(operation, "responses");
            TEST_CHECK_(has_socket == (json_get(responses, "101") != NULL), "%s %s", route->method,
                        route->path);
            size_t asked = json_count(json_get(operation, "security"));
            TEST_CHECK_((route->tag == API_EVERYONE) == (asked == 0), "%s %s", route->method,
                        route->path);
            check_words(operation, route);
        }
    }
    TEST_CHECK_(count_operations() == n, "%zu operations, %zu routes", count_operations(), n);
    document = json_free(document);
}

static const struct json *resolve(const char *reference)
{
    const struct json *at = document;
    char name[64];
    for (const char *p = reference + 2; at && *p; p += strcspn(p, "/"), p += *p == '/') {
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(p, "/"), p);
        at = json_get(at, name);
    }
    return at;
}

static void check_references(const struct json *value)
{
    const char *reference = json_get_text(value, "$ref");
    if (reference)
        TEST_CHECK_(strncmp(reference, "#/", 2) == 0 && resolve(reference), "%s", reference);
    for (const struct json *item = json_first(value); item; item = json_next(item))
        check_references(item);
}

static void every_reference_leads_somewhere(void)
{
    parse();
    check_references(document);
    document = json_free(document);
}

/* --- events ----------------------------------------------------------------------------------- */

static const struct json *events_of(const struct json *operation)
{
    const struct json *content =
        json_get(json_get(json_get(operation, "responses"), "200"), "content");
    return json_get(json_get(json_get(content, "text/event-stream"), "schema"), "x-events");
}

static bool has(const struct json *list, const char *name)
{
    for (const struct json *one = json_first(list); one; one = json_next(one))
        if (strcmp(json_text(one), name) == 0)
            return true;
    return false;
}

/* `more`: names of which the last is NULL; `logged`: those of the log, too. */
static void check_events(const char *path, const char *method, const char *const *more, bool logged)
{
    const struct json *operation = json_get(json_get(json_get(document, "paths"), path), method);
    const struct json *listed = events_of(operation);
    size_t n = 0;
    for (; more[n]; n++)
        TEST_CHECK_(has(listed, more[n]), "%s: %s", path, more[n]);
    for (size_t i = 0; logged && i < LOGGED__COUNT; i++, n++)
        TEST_CHECK_(has(listed, logged_names[i]), "%s: %s", path, logged_names[i]);
    TEST_CHECK_(json_count(listed) == n, "%s lists %zu events, and sends %zu", path,
                json_count(listed), n);
}

static void every_event_of_a_stream_is_listed_and_no_other(void)
{
    parse();
    check_events("/v1/sessions/{id}/events", "get", api_event_names, true);
    check_events("/v1/sessions/{id}/executions", "post", api_event_names, true);
    check_events("/v1/sessions/{id}/executions/{eid}", "get", api_event_names, true);
    check_events("/v1/sessions/{id}/executions/{eid}/events", "get", api_event_names, true);
    check_events("/v1/approvals", "get", api_approval_event_names, false);
    check_events("/v1/packages", "post", api_package_event_names, false);
    check_events("/v1/watch", "get", api_watch_event_names, false);
    check_events("/v1/watch/{path}", "get", api_watch_event_names, false);
    document = json_free(document);
}

TEST_LIST = {
    {"every_route_is_described_and_nothing_else", every_route_is_described_and_nothing_else},
    {"every_event_of_a_stream_is_listed_and_no_other",
     every_event_of_a_stream_is_listed_and_no_other},
    {"every_reference_leads_somewhere", every_reference_leads_somewhere},
    {NULL, NULL},
};
