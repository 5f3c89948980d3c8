/* SPDX-License-Identifier: Apache-2.0
 *
 * Connect's unary calls and streams, with messages in JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/text/base64.h"
#include "front/envd/envd_internal.h"
#include "front/http/http_head.h"

#define STREAM_TYPE "application/connect+json"

enum {
    MESSAGE_MAX = 4 << 10,
    NAME_MAX_BYTES = 200,
    KEEPALIVE_S = 90,
    KEEPALIVE_MAX_S = 3600,
    DIGITS_MAX = 10,
    SECOND_MS = 1000
};

/* --- answers ---------------------------------------------------------------------------------- */

void envd_answer(struct http_request *r, const struct buf *message)
{
    struct err e = ERR_NONE;
    if (message->failed < 0) {
        (void)err_set(&e, -EIO, "the answer is too long");
        envd_refuse(r, &e);
        return;
    }
    http_answer_json(r, 200, message);
}

void envd_answer_empty(struct http_request *r)
{
    static const struct http_header type = {"Content-Type", E2B_TYPE};
    http_answer(r, 200, &type, 1, "{}", 2);
}

void envd_refuse(struct http_request *r, const struct err *e)
{
    const struct connect_code *code = connect_code_of(-e->code);
    drop_buf struct buf body = BUF_INIT(MESSAGE_MAX);
    connect_put_error(&body, code->name, e->msg);
    http_answer_json(r, code->status, &body);
}

void envd_stream_begin(struct http_request *r)
{
    static const struct http_header headers[] = {{"Content-Type", STREAM_TYPE},
                                                 {"Cache-Control", "no-store"}};
    http_stream_begin(r, 200, headers, 2, -1);
}

void envd_stream_end(struct http_request *r, const struct err *why)
{
    drop_buf struct buf out = BUF_INIT(MESSAGE_MAX);
    size_t at;
    connect_begin(&out, &at);
    (void)buf_adds(&out, why ? "{\"error\":" : "{");
    if (why)
        connect_put_error(&out, connect_code_of(-why->code)->name, why->msg);
    (void)buf_adds(&out, "}");
    connect_finish(&out, at, CONNECT_LAST);
    http_stream_last(r, out.data, out.len);
    http_stream_end(r);
}

void envd_refuse_stream(struct http_request *r, const struct err *e)
{
    envd_stream_begin(r);
    envd_stream_end(r, e);
}

int envd_stream_put(struct http_request *r, const struct buf *frame)
{
    return frame->failed ? frame->failed : http_stream_write(r, frame->data, frame->len);
}

/* --- what is asked ---------------------------------------------------------------------------- */

/* -1: it is none. */
static int64_t read_digits(const char *text)
{
    size_t n = strspn(text, "0123456789");
    char *end = NULL;
    int64_t number = n > 0 && n <= DIGITS_MAX ? strtoll(text, &end, 10) : -1;
    return end && !*end ? number : -1;
}

int64_t envd_timeout_ms(const struct http_request *r)
{
    const char *text = http_header(r, "Connect-Timeout-Ms");
    return text ? read_digits(text) : 0;
}

int64_t envd_keepalive_ms(const struct http_request *r)
{
    const char *text = http_header(r, "Keepalive-Ping-Interval");
    int64_t seconds = text ? read_digits(text) : -1;
    if (seconds <= 0)
        seconds = KEEPALIVE_S;
    return (seconds < KEEPALIVE_MAX_S ? seconds : KEEPALIVE_MAX_S) * SECOND_MS;
}

int envd_check_user(const char *name, struct err *e)
{
    if (!name || !*name || strcmp(name, "user") == 0)
        return 0;
    return err_set(e, -ENOKEY, "error looking up user '%.100s': here is only 'user'", name);
}

/* "Basic base64(NAME:)"; other kinds are not about users. */
static int check_named_user(const struct http_request *r, struct err *e)
{
    static const char basic[] = "Basic ";
    const char *header = http_header(r, "Authorization");
    drop_buf struct buf name = BUF_INIT(NAME_MAX_BYTES);
    if (!header || strncasecmp(header, basic, sizeof basic - 1) != 0)
        return 0;
    header += sizeof basic - 1;
    if (base64_decode(&name, header, strlen(header)) < 0)
        return err_set(e, -ENOKEY, "the name of a user is needed as base64(\"NAME:\")");
    char *colon = name.len > 0 ? memchr(name.data, ':', name.len) : NULL;
    if (colon)
        *colon = '\0';
    return envd_check_user(buf_text(&name), e);
}

int envd_find(void *ctx, struct http_request *r, struct envd_call *ret, struct err *e)
{
    return envd_find_in(ctx, e2b_addressed(ctx, r), r, ret, e);
}

int envd_find_in(struct e2b *e2b, struct e2b_sandbox *s, struct http_request *r,
                 struct envd_call *ret, struct err *e)
{
    *ret = (struct envd_call){.envd = e2b->daemon, .r = r, .sandbox = s};
    if (!s || !sessions_find(e2b->config.sessions, s->id, &ret->session))
        return err_set(e, -ENOENT, "the sandbox was not found");
    sessions_touch(e2b->config.sessions, s->id);
    return check_named_user(r, e);
}

static int read_message(struct envd_call *call, char *text, size_t n, struct err *e)
{
    static char empty[] = "{}";
    call->body =
        n == 0 ? json_parse_copy(empty, 2, JSON_REQUEST, e) : json_parse(text, n, JSON_REQUEST, e);
    if (!call->body)
        return err_set(e, -EINVAL, "the message is not JSON");
    return json_is_object(call->body) ? 0 : err_set(e, -EINVAL, "the message is not an object");
}

static int read_envd_call(void *ctx, struct http_request *r, struct envd_call *ret, struct err *e)
{
    struct buf *body = http_body(r);
    int code = envd_find(ctx, r, ret, e);
    if (code == 0 && envd_timeout_ms(r) < 0)
        code = err_set(e, -EINVAL, "Connect-Timeout-Ms: at most %d digits are needed", DIGITS_MAX);
    return code == 0 ? read_message(ret, body->data, body->len, e) : code;
}

static bool has_type(struct http_request *r, const char *type)
{
    const char *header = http_header(r, "Content-Type");
    if (header && http_type_is(header, type))
        return true;
    http_problem(r, 415, NULL, 0, "Content-Type: %s is needed: messages are JSON", type);
    return false;
}

bool envd_unary(void *ctx, struct http_request *r, struct envd_call *ret)
{
    struct err e = ERR_NONE;
    if (!has_type(r, E2B_TYPE))
        return false;
    if (read_envd_call(ctx, r, ret, &e) == 0)
        return true;
    envd_refuse(r, &e);
    return false;
}

/* The one frame that a stream of answers is asked for with. */
static int read_frame(struct envd_call *call, struct err *e)
{
    const struct buf *body = http_body(call->r);
    struct connect_reader reader = CONNECT_READER(ENVD_BODY_MAX);
    struct connect_frame frame;
    const char *bytes = buf_text(body);
    size_t n = body->len;
    int code = connect_next(&reader, &bytes, &n, &frame);
    if (code <= 0 || frame.last || n > 0)
        code = err_set(e, -EINVAL, "one whole message in an envelope is needed");
    else
        code = read_message(call, frame.data, frame.n, e);
    connect_done(&reader);
    return code;
}

bool envd_streaming(void *ctx, struct http_request *r, struct envd_call *ret)
{
    struct err e = ERR_NONE;
    if (!has_type(r, STREAM_TYPE))
        return false;
    int code = envd_find(ctx, r, ret, &e);
    if (code == 0 && envd_timeout_ms(r) < 0)
        code = err_set(&e, -EINVAL, "Connect-Timeout-Ms: at most %d digits are needed", DIGITS_MAX);
    if (code == 0)
        code = read_frame(ret, &e);
    if (code < 0)
        envd_refuse_stream(r, &e);
    return code == 0;
}

void envd_call_done(struct envd_call *call)
{
    call->body = json_free(call->body);
}
