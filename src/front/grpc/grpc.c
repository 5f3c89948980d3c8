/* SPDX-License-Identifier: Apache-2.0 */
#include "front/grpc/grpc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "front/http/http_auth.h"
#include "front/http/instance.h"
#include "wire/connectrpc.h"

#define MEDIA_TYPE "application/grpc"

enum { TIMEOUT_DIGITS = 8, TEXT_MAX = 512, STATUS_MAX = 16 };

struct grpc {
    struct grpc_config config;
    struct h2 *h2;
};

/* --- the end of a call ------------------------------------------------------------------------ */

/* Percent-encoded, as the protocol has it: what is no printable character, and %. */
static void put_message(struct buf *to, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        (void)(*at < ' ' || *at > '~' || *at == '%' ? buf_addf(to, "%%%02X", *at)
                                                    : buf_addc(to, (char)*at));
}

static const char *instance_of(const struct h2_stream *call)
{
    const struct grpc *grpc = h2_ctx(call);
    return grpc->config.instance;
}

/* The headers in front of an answer; returns how many there are. */
static size_t make_head(const struct h2_stream *call, struct http_header ret[3])
{
    size_t n = 0;
    ret[n++] = (struct http_header){":status", "200"};
    ret[n++] = (struct http_header){"content-type", MEDIA_TYPE};
    if (instance_of(call))
        ret[n++] = (struct http_header){"ipybox-instance", instance_of(call)};
    return n;
}

void grpc_refuse(struct h2_stream *call, int64_t late_ms, enum grpc_status status,
                 const char *message)
{
    struct http_header headers[5];
    char code[STATUS_MAX];
    drop_buf struct buf text = BUF_INIT((size_t)3 * TEXT_MAX + 1);
    size_t n = h2_begun(call) ? 0 : make_head(call, headers);
    (void)snprintf(code, sizeof code, "%d", (int)status);
    put_message(&text, message);
    headers[n++] = (struct http_header){"grpc-status", code};
    if (*message)
        headers[n++] = (struct http_header){"grpc-message", buf_text(&text)};
    h2_end_late(call, late_ms, headers, n);
}

void grpc_fail(struct h2_stream *call, enum grpc_status status, const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    grpc_refuse(call, 0, status, text);
}

void grpc_fail_as(struct h2_stream *call, const struct err *e)
{
    static const struct {
        int error;
        enum grpc_status status;
    } of[] = {
        {EINVAL, GRPC_INVALID_ARGUMENT},
        {ENAMETOOLONG, GRPC_INVALID_ARGUMENT},
        {ENOENT, GRPC_NOT_FOUND},
        {ENOTDIR, GRPC_NOT_FOUND},
        {ESRCH, GRPC_NOT_FOUND},
        {EACCES, GRPC_PERMISSION_DENIED},
        {EPERM, GRPC_PERMISSION_DENIED},
        {ENOBUFS, GRPC_RESOURCE_EXHAUSTED},
        {EAGAIN, GRPC_RESOURCE_EXHAUSTED},
        {EPIPE, GRPC_FAILED_PRECONDITION},
        {ENOTTY, GRPC_FAILED_PRECONDITION},
        {ESHUTDOWN, GRPC_UNAVAILABLE},
        {ETIMEDOUT, GRPC_DEADLINE_EXCEEDED},
    };
    enum grpc_status status = GRPC_INTERNAL;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (of[i].error == -e->code)
            status = of[i].status;
    grpc_refuse(call, 0, status, e->msg);
}

void grpc_end(struct h2_stream *call)
{
    grpc_refuse(call, 0, GRPC_OK, "");
}

/* --- messages of the server ------------------------------------------------------------------- */

int grpc_send(struct h2_stream *call, const struct buf *message)
{
    struct http_header headers[3];
    drop_buf struct buf frame = BUF_INIT(message->len + CONNECT_HEAD);
    size_t at;
    connect_begin(&frame, &at);
    (void)buf_add(&frame, buf_text(message), message->len);
    connect_finish(&frame, at, 0);
    if (frame.failed)
        return -ENOBUFS;
    if (!h2_begun(call))
        h2_begin(call, headers, make_head(call, headers));
    return h2_write(call, frame.data, frame.len);
}

void grpc_answer(struct h2_stream *call, const struct buf *message)
{
    if (message->failed || grpc_send(call, message) < 0)
        grpc_fail(call, GRPC_RESOURCE_EXHAUSTED, "too many answers wait for their readers");
    else
        grpc_end(call);
}

/* --- the call --------------------------------------------------------------------------------- */

/* Up to eight digits and a unit; -1: it is none. */
static int64_t read_timeout(const char *text)
{
    static const char units[] = "HMSmun";
    static const int64_t ns_of[] = {3600000000000, 60000000000, 1000000000, 1000000, 1000, 1};
    const char *at = text, *unit;
    int64_t n = 0;
    while (*at >= '0' && *at <= '9' && at - text < TIMEOUT_DIGITS)
        n = 10 * n + (*at++ - '0');
    if (at == text || !*at || at[1] || (unit = strchr(units, *at)) == NULL)
        return -1;
    int64_t ns = ns_of[unit - units];
    int64_t ms = ns >= 1000000 ? n * (ns / 1000000) : n / (1000000 / ns) + 1;
    return ms > 0 ? ms : 1;
}

int64_t grpc_timeout_ms(const struct h2_stream *call)
{
    const char *text = h2_header(call, "grpc-timeout");
    return text ? read_timeout(text) : 0;
}

bool grpc_token(const struct h2_stream *call, char *ret, size_t size)
{
    static const char bearer[] = "Bearer ";
    const char *name = h2_header(call, "x-ipybox-token") ? "x-ipybox-token" : "authorization";
    const char *text = h2_header(call, name);
    if (!text || h2_header_count(call, name) != 1)
        return false;
    if (strcmp(name, "authorization") == 0) {
        if (strncasecmp(text, bearer, sizeof bearer - 1) != 0)
            return false;
        text += sizeof bearer - 1;
    }
    return *text && (size_t)snprintf(ret, size, "%s", text) < size;
}

/* As front/http/instance.h has it. */
static bool is_for_this_instance(struct h2_stream *call)
{
    const char *own = instance_of(call), *meant = h2_header(call, "ipybox-instance");
    if (!own || !meant)
        return true;
    if (h2_header_count(call, "ipybox-instance") == 1 && strcmp(meant, own) == 0)
        return true;
    if (h2_header_count(call, "ipybox-instance") > 1 || !instance_is_name(meant))
        grpc_fail(call, GRPC_INVALID_ARGUMENT, "the header ipybox-instance is not a name");
    else
        grpc_fail(call, GRPC_FAILED_PRECONDITION, "this request is of the instance %s; this is %s",
                  meant, own);
    return false;
}

static bool is_grpc(const struct h2_stream *call)
{
    const char *type = h2_header(call, "content-type");
    size_t n = sizeof MEDIA_TYPE - 1;
    return type && strncasecmp(type, MEDIA_TYPE, n) == 0 && strchr("+;", type[n]) != NULL;
}

static const struct grpc_method *find_grpc_method(const struct grpc *grpc, const char *path)
{
    const struct grpc_method *method = grpc->config.methods;
    while (method->path && strcmp(method->path, path) != 0)
        method++;
    return method->path ? method : NULL;
}

static bool admit_call(void *ctx, struct h2_stream *call)
{
    static const struct http_header wrong[] = {{":status", "415"}};
    const struct grpc *grpc = ctx;
    const char *path = h2_header(call, ":path"), *method = h2_header(call, ":method");
    const char *coding = h2_header(call, "grpc-encoding");
    if (!method || strcmp(method, "POST") != 0 || !is_grpc(call)) {
        h2_end(call, wrong, 1);
        return false;
    }
    if (!is_for_this_instance(call) || !grpc->config.admit(grpc->config.ctx, call))
        return false;
    if (!path || !find_grpc_method(grpc, path))
        grpc_fail(call, GRPC_UNIMPLEMENTED, "unknown method %.200s", path ? path : "");
    else if (coding && strcmp(coding, "identity") != 0)
        grpc_fail(call, GRPC_UNIMPLEMENTED, "grpc-encoding: send messages as they are");
    else if (grpc_timeout_ms(call) < 0)
        grpc_fail(call, GRPC_INVALID_ARGUMENT, "grpc-timeout: digits and a unit are needed");
    else
        return true;
    return false;
}

/* One message, and nothing behind it. */
static void start_grpc_call(void *ctx, struct h2_stream *call)
{
    const struct grpc *grpc = ctx;
    const struct buf *body = h2_body(call);
    const char *bytes = buf_text(body);
    size_t n = body->len;
    struct connect_reader reader = CONNECT_READER(GRPC_MESSAGE_MAX);
    struct connect_frame frame;
    int r = connect_next(&reader, &bytes, &n, &frame);
    if (r <= 0 || frame.last || n > 0)
        grpc_fail(call, GRPC_INTERNAL, "one message in one envelope, not compressed, is needed");
    else
        find_grpc_method(grpc, h2_header(call, ":path"))
            ->start(grpc->config.ctx, call, frame.data ? frame.data : "", frame.n);
    connect_done(&reader);
}

static void refuse_call(void *ctx, struct h2_stream *call)
{
    (void)ctx;
    grpc_fail(call, GRPC_RESOURCE_EXHAUSTED,
              "the message is longer than %zu bytes, or too many are being sent", GRPC_MESSAGE_MAX);
}

/* --- opening and closing ---------------------------------------------------------------------- */

int grpc_open(const struct grpc_config *config, struct grpc **ret, struct err *e)
{
    struct grpc *grpc = NEW(struct grpc);
    grpc->config = *config;
    const struct h2_config h2 = {.loop = config->loop,
                                 .host = config->host,
                                 .port = config->port,
                                 .ahead = config->ahead,
                                 .admit = admit_call,
                                 .start = start_grpc_call,
                                 .refuse = refuse_call,
                                 .ctx = grpc};
    int r = h2_open(&h2, &grpc->h2, e);
    if (r < 0)
        xfree(grpc);
    else
        *ret = grpc;
    return r;
}

struct grpc *grpc_close(struct grpc *grpc)
{
    if (!grpc)
        return NULL;
    grpc->h2 = h2_close(grpc->h2);
    xfree(grpc);
    return NULL;
}

struct h2 *grpc_h2(const struct grpc *grpc)
{
    return grpc ? grpc->h2 : NULL;
}
