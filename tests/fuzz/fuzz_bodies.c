/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON bodies of the HTTP API: a first byte says which. What is taken is whole and in its
 * bounds, what is refused says why, and the same text is judged alike twice. An answer to a form
 * ('f') is two lines: the form, and the body. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "front/api/api_bodies.h"
#include "front/mcp/form.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what))                                                                               \
            abort();                                                                               \
    } while (0)

static int check_refusal(int r, const struct err *e)
{
    CHECK(r == 0 || (r == -EINVAL && *e->msg));
    return r;
}

static int execution(const struct json *body, struct err *e)
{
    struct body_execution x;
    int r = body_execution(body, 1000, &x, e);
    CHECK(r < 0 || (x.code && x.timeout_ms >= 1 && x.timeout_ms <= SESSIONS_MS_MAX));
    CHECK(r < 0 || (x.max_chars >= 0 && (!x.on_disconnect || strlen(x.on_disconnect) == 6)));
    return r;
}

static int session(const struct json *body, struct err *e)
{
    struct sessions_spec spec;
    struct approvals_rule rule;
    int r = body_session(body, &spec, &rule, e);
    CHECK(r < 0 || (spec.timeout_ms >= 0 && spec.timeout_ms <= SESSIONS_MS_MAX));
    CHECK(r < 0 || (spec.idle_ms >= 0 && spec.idle_ms <= SESSIONS_MS_MAX));
    CHECK(r < 0 || (rule.strictness <= APPROVALS_DENY_ALL && rule.timeout_ms >= 0));
    return r;
}

static int sandbox(const struct json *body, struct err *e)
{
    const struct json *settings = NULL;
    bool reset = false;
    int r = body_sandbox(body, &settings, &reset, e);
    CHECK(r < 0 || json_is_object(settings));
    return r;
}

/* Nothing is a permission but the very word. */
static int decision(const struct json *body, struct err *e)
{
    struct body_decision d;
    int r = body_decision(body, &d, e);
    const char *word = json_get_text(body, "decision");
    if (r < 0)
        return r;
    CHECK(d.decision.accept == (!d.action && strcmp(word, "accept") == 0));
    CHECK(d.decision.accept || (d.decision.remember_ms == 0 && d.decision.remember_calls == 0));
    CHECK(!d.content || (json_is_object(d.content) && strcmp(d.action, "accept") == 0));
    return 0;
}

static int package(const struct json *body, struct err *e)
{
    const char *name = NULL;
    int r = body_package(body, &name, e);
    CHECK(r < 0 || name);
    return r;
}

static int server(const struct json *body, struct err *e)
{
    const char *name = NULL;
    const struct json *params = NULL;
    bool generate;
    int r = body_server(body, &name, &params, &generate, e);
    CHECK(r < 0 || (name && json_is_object(params)));
    return r;
}

static const struct body {
    char letter;
    const char *const *known;
    int (*read)(const struct json *body, struct err *e);
} bodies[] = {
    {'x', body_execution_known, execution}, {'s', body_session_known, session},
    {'d', body_decision_known, decision},   {'p', body_package_known, package},
    {'m', body_server_known, server},       {'c', body_sandbox_known, sandbox},
};

static int read_once(const struct body *b, const char *text, size_t n)
{
    drop_buf struct buf bytes = BUF_INIT(n + 1);
    struct err e = ERR_NONE;
    struct json *tree = NULL;
    CHECK(buf_add(&bytes, text, n) == 0);
    int r = check_refusal(body_parse(&bytes, b->known, &tree, &e), &e);
    if (r == 0)
        r = check_refusal(b->read(tree, &e), &e);
    (void)json_free(tree);
    return r;
}

/* What fits a form that is flat fits it printed anew, too. */
static void fill_in(const char *text, size_t n)
{
    const char *end = memchr(text, '\n', n);
    size_t first = end ? (size_t)(end - text) : n, rest = n - first;
    struct err e = ERR_NONE;
    drop_json struct json *form = json_parse_copy(text, first, JSON_REPAIR, NULL);
    drop_json struct json *content = json_parse_copy(text + first, rest, JSON_STRICT, NULL);
    if (!form || !json_is_object(content) || check_refusal(form_check(form, &e), &e) < 0)
        return;
    int r = check_refusal(form_fits(form, content, &e), &e);
    drop_str char *printed = json_print(content);
    drop_json struct json *again = json_parse_copy(printed, strlen(printed), JSON_STRICT, NULL);
    CHECK(again && form_fits(form, again, &e) == r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;
    if (size == 0)
        return 0;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        if (data[0] == (uint8_t)bodies[i].letter)
            CHECK(read_once(&bodies[i], text, size - 1) == read_once(&bodies[i], text, size - 1));
    }
    if (data[0] == 'f')
        fill_in(text, size - 1);
    return 0;
}
