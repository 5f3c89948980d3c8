/* SPDX-License-Identifier: Apache-2.0 */
#include "front/e2b/e2b.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/secret.h"
#include "front/e2b/e2b_internal.h"
#include "front/http/http_auth.h"

#define DEBUG_ID "debug_sandbox_id" /* of clients that are told E2B_DEBUG */

enum { PORT_DIGITS_MAX = 5, ERROR_MAX = 8 << 10 };

static const struct e2b_part *const parts[] = {&e2b_control_part, &e2b_envd_part,
                                               &e2b_interpreter_part};
enum { PARTS = sizeof parts / sizeof *parts };

/* --- answers ---------------------------------------------------------------------------------- */

static void put_e2b_error(struct buf *out, int status, const char *message)
{
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    jsonw_set_int(&w, "code", status);
    jsonw_set_text(&w, "message", message);
    jsonw_end(&w);
}

static void put_realm_problem(void *ctx, int status, const char *detail, struct buf *body)
{
    (void)ctx;
    put_e2b_error(body, status, detail);
}

void e2b_fail(struct http_request *r, int status, const char *fmt, ...)
{
    char text[ERROR_MAX / 8];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    http_problem(r, status, NULL, 0, "%s", text);
}

/* Clients know from the 502 that the sandbox is over; they are not to ask again. */
void e2b_fail_absent(struct http_request *r, const char *id)
{
    static const struct http_header headers[] = {{"Content-Type", E2B_TYPE},
                                                 {"Should-Retry", "false"}};
    drop_buf struct buf body = BUF_INIT(ERROR_MAX);
    struct jsonw w = JSONW(&body);
    jsonw_object(&w);
    jsonw_set_text(&w, "sandboxId", id);
    jsonw_set_text(&w, "message", "The sandbox was not found, or is paused: connect resumes it");
    jsonw_set_int(&w, "code", 502);
    jsonw_end(&w);
    http_answer(r, 502, headers, 2, buf_text(&body), body.len);
}

void e2b_fail_err(struct http_request *r, const struct err *e)
{
    switch (e->code) {
    case -EINVAL:
    case -EDOM:
        e2b_fail(r, 400, "%s", e->msg);
        break;
    case -ENOENT:
        e2b_fail(r, 404, "%s", e->msg);
        break;
    case -EEXIST:
        e2b_fail(r, 409, "%s", e->msg);
        break;
    case -EAGAIN:
        http_problem(r, 429, &(struct http_header){"Should-Retry", "false"}, 1, "%s", e->msg);
        break;
    default:
        http_problem(r, 503, &(struct http_header){"Should-Retry", "false"}, 1, "%s", e->msg);
    }
}

bool e2b_body(struct http_request *r, struct json **ret)
{
    static char empty[] = "{}";
    struct buf *body = http_body(r);
    struct err e = ERR_NONE;
    bool none = body->len == 0;
    struct json *parsed = none ? json_parse_copy(empty, 2, JSON_REQUEST, &e)
                               : json_parse(body->data, body->len, JSON_REQUEST, &e);
    if (parsed && json_is_object(parsed)) {
        *ret = parsed;
        return true;
    }
    e2b_fail(r, 400, "the body: %s", parsed ? "an object is needed" : e.msg);
    (void)json_free(parsed);
    return false;
}

/* --- which sandbox, which port ---------------------------------------------------------------- */

static bool read_sandbox_port(const char *text, size_t n, int *ret)
{
    int port = 0;
    if (n == 0 || n > PORT_DIGITS_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        port = 10 * port + (text[i] - '0');
    }
    *ret = port;
    return true;
}

/* {port}-{id}.{domain}. False: the name is none of these. */
static bool read_host(const struct http_request *r, int *ret_port, char ret_id[E2B_ID_MAX + 1])
{
    const char *host = http_header(r, "Host");
    size_t digits = host ? strspn(host, "0123456789") : 0;
    if (digits == 0 || host[digits] != '-')
        return false;
    const char *id = host + digits + 1;
    size_t n = strcspn(id, ".:");
    if (n == 0 || n > E2B_ID_MAX || id[n] != '.' || !read_sandbox_port(host, digits, ret_port))
        return false;
    memcpy(ret_id, id, n);
    ret_id[n] = '\0';
    return true;
}

/* As clients name it; 0: the request names none. */
static int target_port(const struct e2b *e, const struct http_request *r)
{
    char id[E2B_ID_MAX + 1];
    const char *header = http_header(r, "E2b-Sandbox-Port");
    int port = 0, own = http_own_port(r);
    if (header)
        return read_sandbox_port(header, strlen(header), &port) && port > 0 ? port : -1;
    if (read_host(r, &port, id))
        return port;
    if (own > 0 && own == e->config.envd_port)
        return E2B_ENVD_PORT;
    return own > 0 && own == e->config.code_port ? E2B_CODE_PORT : 0;
}

/* With a token there is one that is called so only by E2B_DEBUG's clients, who bring none. */
static struct e2b_sandbox *debug_sandbox(struct e2b *e)
{
    const struct e2b_sandbox_spec spec = {.id = DEBUG_ID, .template_name = "base"};
    struct e2b_sandbox *s = e2b_sandbox_find(e, DEBUG_ID);
    struct err why = ERR_NONE;
    if (!s && !e->config.key && !e->stopping && e2b_sandbox_new(e, &spec, &s, &why) < 0)
        return NULL;
    return s;
}

static const char *const token_headers[] = {"X-Access-Token", "E2B-Traffic-Access-Token"};

static struct e2b_sandbox *find_by_tokens(struct e2b *e, const struct http_request *r)
{
    for (size_t i = 0; i < 2; i++) {
        const char *token = http_header(r, token_headers[i]);
        struct e2b_sandbox *s = token ? e2b_sandbox_by_token(e, token) : NULL;
        if (s)
            return s;
    }
    return NULL;
}

const char *e2b_named_id(const struct http_request *r, char room[static E2B_ID_MAX + 1])
{
    int port;
    const char *id = http_header(r, "E2b-Sandbox-Id");
    return id ? id : read_host(r, &port, room) ? room : NULL;
}

struct e2b_sandbox *e2b_addressed(struct e2b *e, const struct http_request *r)
{
    char room[E2B_ID_MAX + 1];
    const char *id = e2b_named_id(r, room);
    struct e2b_sandbox *s = id ? e2b_sandbox_find(e, id) : find_by_tokens(e, r);
    if (!s && (!id || strcmp(id, DEBUG_ID) == 0))
        s = debug_sandbox(e);
    return s;
}

struct e2b_sandbox *e2b_here(struct e2b *e, struct http_request *r)
{
    char room[E2B_ID_MAX + 1];
    struct e2b_sandbox *s = e2b_addressed(e, r);
    if (!s)
        e2b_fail_absent(r, e2b_named_id(r, room) ? e2b_named_id(r, room) : "");
    return s;
}

bool e2b_may_use(const struct e2b *e, const struct e2b_sandbox *s, const struct http_request *r)
{
    bool right = !e->config.key;
    for (size_t i = 0; i < 2; i++) {
        const char *token = http_header(r, token_headers[i]);
        right |= token && secret_equal(s->access_token, token);
        right |= token && secret_equal(s->traffic_token, token);
    }
    return right;
}

/* --- who may ---------------------------------------------------------------------------------- */

static bool admit_control(const struct e2b *e, struct http_request *r)
{
    const char *key = http_header(r, "X-API-KEY");
    if (!e->config.key)
        return true;
    if (key && http_header_count(r, "X-API-KEY") == 1 && secret_equal(e->config.key, key)) {
        http_guard_admit(e->guard, r, "admin");
        return true;
    }
    http_guard_refuse(e->guard, r, "bring IPYBOX_TOKEN as X-API-KEY (E2B_API_KEY)");
    return false;
}

static bool admit_to_sandbox(struct e2b *e, struct http_request *r)
{
    char room[E2B_ID_MAX + 1];
    const char *id = e2b_named_id(r, room);
    struct e2b_sandbox *s = e2b_addressed(e, r);
    if (!s && id)
        e2b_fail_absent(r, id);
    else if (!s || !e2b_may_use(e, s, r))
        http_guard_refuse(e->guard, r, "unauthorized access, please provide a valid access token");
    else if (!e2b_sandbox_awake(s))
        e2b_fail_absent(r, s->id);
    else
        return true;
    return false;
}

static bool admit_e2b_request(void *ctx, struct http_request *r, const struct http_route *route)
{
    struct e2b *e = ctx;
    switch ((enum e2b_access)route->tag) {
    case E2B_FREE:
        return true;
    case E2B_NEEDS_KEY:
        return admit_control(e, r);
    case E2B_NEEDS_TOKEN:
        return admit_to_sandbox(e, r);
    }
    return false;
}

/* --- which part ------------------------------------------------------------------------------- */

/* Some clients name a sandbox and a port there, too. */
static bool is_control_path(const char *path)
{
    static const char *const starts[] = {"/sandboxes", "/v2/sandboxes"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        size_t n = strlen(starts[i]);
        if (strncmp(path, starts[i], n) == 0 && (path[n] == '\0' || path[n] == '/'))
            return true;
    }
    return false;
}

const struct http_realm *e2b_realm(struct e2b *e, const struct http_request *r)
{
    if (is_control_path(http_path(r)))
        return &e->all;
    switch (target_port(e, r)) {
    case E2B_ENVD_PORT:
        return &e->envd;
    case E2B_CODE_PORT:
        return &e->code;
    case 0: /* two paths are the HTTP API's, too: its own go first where no port is named */
        return strcmp(http_path(r), "/metrics") == 0 ? NULL : &e->all;
    default:
        return &e->unserved;
    }
}

static struct http_realm realm_of(struct e2b *e, const struct http_route *routes, size_t n,
                                  bool alone)
{
    return (struct http_realm){.routes = routes,
                               .n_routes = n,
                               .alone = alone,
                               .admit = admit_e2b_request,
                               .problem = put_realm_problem,
                               .ctx = e};
}

static void make_realms(struct e2b *e)
{
    size_t n = 0;
    for (size_t i = 0; i < PARTS; i++) {
        e->joined = xrealloc(e->joined, (n + parts[i]->n) * sizeof *e->joined);
        memcpy(e->joined + n, parts[i]->routes, parts[i]->n * sizeof *e->joined);
        n += parts[i]->n;
    }
    e->all = realm_of(e, e->joined, n, false);
    e->unserved = realm_of(e, NULL, 0, true);
    e->envd = realm_of(e, e2b_envd_part.routes, e2b_envd_part.n, true);
    e->code = realm_of(e, e2b_interpreter_part.routes, e2b_interpreter_part.n, true);
}

/* --- opening and closing ---------------------------------------------------------------------- */

static void on_e2b_session_ended(void *ctx, const char *id)
{
    struct e2b *e = ctx;
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i]->session_ended)
            parts[i]->session_ended(e, id);
    struct e2b_sandbox *s = e2b_sandbox_find(e, id);
    if (s) /* it has ended by itself */
        e2b_sandbox_kill(s);
}

struct e2b *e2b_open(const struct e2b_config *config)
{
    struct e2b *e = NEW(struct e2b);
    *e = (struct e2b){.config = *config, .watcher = {.ended = on_e2b_session_ended, .ctx = e}};
    e->guard = http_guard_new(config->loop);
    http_guard_tell(e->guard, config->audit, "e2b");
    sessions_watch(config->sessions, &e->watcher);
    make_realms(e);
    e2b_metrics_open(e);
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i]->open)
            parts[i]->open(e);
    return e;
}

struct e2b *e2b_close(struct e2b *e)
{
    if (!e)
        return NULL;
    sessions_unwatch(e->config.sessions, &e->watcher);
    e->closing = true;
    e2b_forks_close(e);
    e2b_sandboxes_close(e);
    for (size_t i = PARTS; i-- > 0;)
        if (parts[i]->close)
            parts[i]->close(e);
    e->guard = http_guard_free(e->guard);
    xfree(e->joined);
    xfree(e);
    return NULL;
}

void e2b_drain(struct e2b *e)
{
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i]->drain)
            parts[i]->drain(e);
}

void e2b_stop(struct e2b *e)
{
    e->stopping = true;
}

void e2b_part_ended(struct e2b *e, struct e2b_sandbox *s)
{
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i]->ended)
            parts[i]->ended(e, s);
}
