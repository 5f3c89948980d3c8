/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/transport/http_talk.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "base/text/base64.h"
#include "wire/jsonrpc.h"

enum { SAID_MAX = 160 }; /* bytes of what a server says about its error */

/* --- a server -------------------------------------------------------------------------------- */

int http_peer_init(struct http_peer *peer, const struct transport_http_config *config,
                   struct err *e)
{
    *peer =
        (struct http_peer){.http = config->http, .connect_timeout_ms = config->connect_timeout_ms};
    int r = http_url_host(config->url, peer->host, e);
    if (r < 0)
        return r;
    peer->url = xstrdup(config->url);
    struct http_headers own = {0};
    for (size_t i = 0; i < config->n_headers; i++)
        http_headers_add(&own, config->headers[i].name, config->headers[i].value);
    peer->headers = own.list;
    peer->n_headers = own.n;
    return 0;
}

void http_peer_done(struct http_peer *peer)
{
    struct http_headers own = {peer->headers, peer->n_headers};
    http_headers_done(&own);
    xfree(peer->url);
    *peer = (struct http_peer){0};
}

/* --- headers --------------------------------------------------------------------------------- */

void http_headers_add(struct http_headers *h, const char *name, const char *value)
{
    h->list = xrealloc(h->list, (h->n + 1) * sizeof *h->list);
    h->list[h->n++] = (struct http_client_header){.name = xstrdup(name), .value = xstrdup(value)};
}

static bool is_plain_header(const char *value)
{
    static const char mark[] = "=?base64?";
    size_t n = strlen(value);
    for (size_t i = 0; i < n; i++) {
        if (value[i] < ' ' || value[i] == 0x7F) /* a char is signed: not ASCII is below, too */
            return false;
    }
    return !(n > 0 && (value[0] == ' ' || value[n - 1] == ' ')) &&
           strncasecmp(value, mark, sizeof mark - 1) != 0;
}

void http_headers_add_encoded(struct http_headers *h, const char *name, const char *value)
{
    if (is_plain_header(value)) {
        http_headers_add(h, name, value);
        return;
    }
    size_t n = strlen(value);
    drop_buf struct buf text = BUF_INIT(2 * n + 32);
    (void)buf_adds(&text, "=?base64?");
    if (base64_encode(&text, value, n) == 0 && buf_adds(&text, "?=") == 0)
        http_headers_add(h, name, text.data);
}

static bool has_header(const struct http_headers *h, const char *name)
{
    for (size_t i = 0; i < h->n; i++) {
        if (strcasecmp(h->list[i].name, name) == 0)
            return true;
    }
    return false;
}

void http_headers_add_trace(struct http_headers *h, const struct transport_message *m)
{
    if (!m->traceparent || !*m->traceparent)
        return;
    http_headers_add(h, "traceparent", m->traceparent);
    if (m->tracestate && *m->tracestate)
        http_headers_add(h, "tracestate", m->tracestate);
}

void http_headers_add_peer(struct http_headers *h, const struct http_peer *peer)
{
    static const char *const not_theirs[] = {"content-length", "transfer-encoding", "connection",
                                             "expect", "upgrade"};
    for (size_t i = 0; i < peer->n_headers; i++) {
        bool skip = has_header(h, peer->headers[i].name);
        for (size_t k = 0; k < sizeof not_theirs / sizeof *not_theirs; k++)
            skip |= strcasecmp(peer->headers[i].name, not_theirs[k]) == 0;
        if (!skip)
            http_headers_add(h, peer->headers[i].name, peer->headers[i].value);
    }
}

void http_headers_done(struct http_headers *h)
{
    for (size_t i = 0; i < h->n; i++) {
        xfree((char *)(size_t)h->list[i].name);
        xfree((char *)(size_t)h->list[i].value);
    }
    xfree(h->list);
    *h = (struct http_headers){0};
}

/* --- answers --------------------------------------------------------------------------------- */

enum http_kind http_kind_of(struct http_client_request *request)
{
    static const struct {
        const char *type;
        enum http_kind kind;
    } kinds[] = {{"application/json", HTTP_KIND_JSON}, {"text/event-stream", HTTP_KIND_EVENTS}};
    const char *type = http_request_header(request, "Content-Type");
    size_t n = type ? strcspn(type, "; \t") : 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (n == strlen(kinds[i].type) && strncasecmp(type, kinds[i].type, n) == 0)
            return kinds[i].kind;
    }
    return HTTP_KIND_OTHER;
}

bool http_error_as_answer(const char *body, size_t n, const char *id, struct buf *out)
{
    drop_json struct json *tree =
        n <= HTTP_ERROR_BODY_MAX ? json_parse_copy(body, n, JSON_REPAIR, NULL) : NULL;
    const struct json *error = json_get(tree, "error");
    const struct json *code = json_get(error, "code");
    double value = json_number(code);
    if (!json_is_number(code) || !(value >= INT32_MIN && value <= INT32_MAX))
        return false;
    const char *text = json_get_text(error, "message");
    const struct json *data = json_get(error, "data");
    drop_str char *printed = data ? json_print(data) : NULL;
    rpc_put_error(out, id, (int)value, text ? text : "", printed);
    return !out->failed;
}

static const char *meaning(int status)
{
    switch (status) {
    case 401:
        return " (it wants credentials, or others)";
    case 403:
        return " (these credentials are not enough)";
    case 404:
        return " (there is nothing at this URL, or the session has ended)";
    case 405:
        return " (this URL takes no such request)";
    case 429:
        return " (too many requests)";
    default:
        return "";
    }
}

/* What OAuth says of a refusal, in the header (RFC 6750) or in the body; *ret_own is freed by the
 * caller. */
static const char *refusal_of(struct http_client_request *request, const struct json *body,
                              char **ret_own)
{
    static const char name[] = "error_description=\"";
    const char *said = json_get_text(json_get(body, "error"), "message");
    const char *header = http_request_header(request, "WWW-Authenticate");
    const char *at = header ? strstr(header, name) : NULL;
    if (!said)
        said = json_get_text(body, "error_description");
    if (!said && at)
        said = *ret_own = xstrndup(at + sizeof name - 1, strcspn(at + sizeof name - 1, "\""));
    return said;
}

void http_explain_status(const struct http_peer *peer, struct http_client_request *request,
                         int status, const struct buf *body, struct err *ret)
{
    if (status >= 300 && status < 400) {
        char why[256];
        http_request_redirect(request, why, sizeof why);
        (void)err_set(ret, -EPROTO, "%s answered with status %d (%s)", peer->host, status, why);
        return;
    }
    drop_json struct json *tree =
        body->len > 0 ? json_parse_copy(body->data, body->len, JSON_REPAIR, NULL) : NULL;
    drop_str char *own = NULL;
    const char *said = refusal_of(request, tree, &own);
    (void)err_set(ret, -EPROTO, "%s answered with status %d%s%s%.*s", peer->host, status,
                  meaning(status), said ? ": " : "", SAID_MAX, said ? said : "");
}

void http_explain_message(const struct http_peer *peer, int code, struct err *ret)
{
    if (code == -EMSGSIZE)
        (void)err_set(ret, code, "%s sent a message that is longer than the limit of %zu MiB",
                      peer->host, TRANSPORT_MESSAGE_MAX >> 20);
    else
        (void)err_set(ret, code, "no memory for a message of %s", peer->host);
}
