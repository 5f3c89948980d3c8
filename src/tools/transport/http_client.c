/* SPDX-License-Identifier: Apache-2.0
 *
 * libcurl is called from its descriptors, from its timer and from the functions of the door; its
 * callbacks only note what came. Events are told by a deferred call, outside of libcurl, so that
 * they may start and end requests. */
#include "tools/transport/http_client.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/service.h"

enum {
    CONNECTIONS_KEPT = 64,
    KEEPALIVE_S = 60, /* until a silent peer is asked whether it is still there */
    READ_AT_ONCE = 64 * 1024,
};

static const char system_authorities[] = "/etc/ssl/certs/ca-certificates.crt";

struct http_client {
    struct loop *loop;
    const char *ca_file;
    CURLM *multi;
    struct loop_timer timer;
    struct loop_defer act; /* libcurl wants to be called at once */
    struct buf authorities;
    struct http_client_request *first;
    size_t count;
};

struct http_client_request {
    struct http_client *client;
    struct http_client_request *prev, *next;
    CURL *easy;
    struct curl_slist *headers;
    const struct http_client_events *events; /* NULL: nobody wants the answer */
    void *ctx;
    enum http_method method;
    char *url, *next_url; /* next_url: where a redirect leads, which is followed */
    int redirects;
    size_t skipped; /* bytes of its body */
    char host[HTTP_HOST_MAX];
    char detail[CURL_ERROR_SIZE];
    struct buf in; /* of the body, not told yet */
    bool added;    /* libcurl works on it */
    bool paused;
    bool told_head;
    bool over; /* libcurl is done with it */
    CURLcode result;
    struct loop_defer tell;
    bool inside, dead;
};

/* --- descriptors and the timer of libcurl ---------------------------------------------------- */

struct curl_watch { /* of one descriptor */
    struct http_client *client;
    int fd;
    struct loop_io *io;
};

static void notify_later(struct http_client_request *r);
static int go_request(struct http_client_request *r, struct err *e);

/* Hands out what has ended. */
static void collect_finished(struct http_client *client)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(client->multi, &left))) {
        if (message->msg != CURLMSG_DONE)
            continue;
        struct http_client_request *r = NULL;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&r);
        r->over = true;
        r->result = message->data.result;
        notify_later(r);
    }
}

static void act_on_curl(struct http_client *client, curl_socket_t fd, int what)
{
    int running;
    (void)curl_multi_socket_action(client->multi, fd, what, &running);
    collect_finished(client);
}

static void on_client_ready(void *ctx, unsigned events)
{
    struct curl_watch *w = ctx; /* may be gone when libcurl returns */
    int what = (events & LOOP_IN ? CURL_CSELECT_IN : 0) |
               (events & LOOP_OUT ? CURL_CSELECT_OUT : 0) |
               (events & LOOP_HUP ? CURL_CSELECT_ERR : 0);
    act_on_curl(w->client, w->fd, what);
}

static void on_curl_timer(void *ctx)
{
    act_on_curl(ctx, CURL_SOCKET_TIMEOUT, 0);
}

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *mine)
{
    (void)easy;
    struct http_client *client = user;
    struct curl_watch *w = mine;
    if (what == CURL_POLL_REMOVE) {
        if (w)
            (void)loop_io_del(w->io);
        xfree(w);
        (void)curl_multi_assign(client->multi, fd, NULL);
        return 0;
    }
    unsigned events = (what & CURL_POLL_IN ? LOOP_IN : 0) | (what & CURL_POLL_OUT ? LOOP_OUT : 0);
    if (w) {
        loop_io_set(w->io, events);
        return 0;
    }
    w = NEW(struct curl_watch);
    *w = (struct curl_watch){.client = client, .fd = fd};
    if (loop_io_add(client->loop, fd, events, on_client_ready, w, &w->io, NULL) < 0) {
        xfree(w);
        return -1;
    }
    (void)curl_multi_assign(client->multi, fd, w);
    return 0;
}

static int on_set_timer(CURLM *multi, long delay_ms, void *user)
{
    (void)multi;
    struct http_client *client = user;
    if (delay_ms < 0)
        loop_timer_stop(client->loop, &client->timer);
    else if (delay_ms == 0)
        loop_defer(client->loop, &client->act, on_curl_timer, client);
    else
        loop_timer_set(client->loop, &client->timer, delay_ms, on_curl_timer, client);
    return 0;
}

/* --- a request's end ------------------------------------------------------------------------- */

static void free_client_request(struct http_client_request *r)
{
    struct http_client *client = r->client;
    if (r->added)
        (void)curl_multi_remove_handle(client->multi, r->easy);
    curl_easy_cleanup(r->easy);
    curl_slist_free_all(r->headers);
    loop_defer_stop(client->loop, &r->tell);
    list_remove(&client->first, r);
    client->count--;
    buf_done(&r->in);
    xfree(r->url);
    xfree(r->next_url);
    xfree(r);
}

struct http_client_request *http_request_end(struct http_client_request *request)
{
    if (!request)
        return NULL;
    request->events = NULL;
    if (request->inside)
        request->dead = true;
    else
        free_client_request(request);
    return NULL;
}

/* --- redirects ------------------------------------------------------------------------------- */

static bool redirects(const struct http_client_request *r)
{
    long status = 0;
    (void)curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status == 307 || status == 308)
        return true;
    return r->method == HTTP_GET && (status == 301 || status == 302 || status == 303);
}

/* Looks once for an answer, when its headers are there. */
static bool is_followed(struct http_client_request *r)
{
    if (r->next_url)
        return true;
    if (r->told_head || r->in.len > 0 || r->redirects == HTTP_REDIRECTS_MAX || !redirects(r))
        return false;
    const char *to = http_request_header(r, "Location");
    return to && http_url_resolve(r->url, to, &r->next_url, NULL) == 0;
}

/* A short body is taken, so that the connection is kept. */
static size_t skip_body(struct http_client_request *r, size_t n)
{
    r->skipped += n;
    return r->skipped > HTTP_WINDOW ? CURL_WRITEFUNC_ERROR : n;
}

/* The same request again, with method, headers and body. */
static bool follow(struct http_client_request *r)
{
    (void)curl_multi_remove_handle(r->client->multi, r->easy);
    xfree(r->url);
    r->url = r->next_url;
    r->next_url = NULL;
    r->redirects++;
    r->skipped = 0;
    r->added = r->over = r->paused = false;
    r->result = CURLE_OK;
    if (curl_easy_setopt(r->easy, CURLOPT_URL, r->url) == CURLE_OK && go_request(r, NULL) == 0)
        return true;
    r->over = true;
    r->result = CURLE_OUT_OF_MEMORY;
    return false;
}

/* --- telling --------------------------------------------------------------------------------- */

struct curl_failure {
    CURLcode code;
    int error;
    const char *words; /* before the host */
    bool detail;       /* libcurl's own words hold no secret */
};

static const struct curl_failure failures[] = {
    {CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH, "no address is known of", false},
    {CURLE_COULDNT_RESOLVE_PROXY, -EHOSTUNREACH, "no address is known of the proxy for", false},
    {CURLE_COULDNT_CONNECT, -ECONNREFUSED, "cannot connect to", false},
    {CURLE_PROXY, -EPROTO, "the proxy refused to connect to", false},
    {CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT, "no answer in time from", false},
    {CURLE_PEER_FAILED_VERIFICATION, -EACCES, "the certificate cannot be trusted of", true},
    {CURLE_SSL_CACERT_BADFILE, -EACCES, "the file of certificate authorities is no use for", false},
    {CURLE_SSL_CONNECT_ERROR, -EPROTO, "TLS failed with", true},
    {CURLE_GOT_NOTHING, -ECONNRESET, "the connection ended without an answer from", false},
    {CURLE_RECV_ERROR, -ECONNRESET, "the connection broke to", false},
    {CURLE_SEND_ERROR, -ECONNRESET, "the connection broke to", false},
    {CURLE_PARTIAL_FILE, -ECONNRESET, "the answer was cut off from", false},
    {CURLE_OUT_OF_MEMORY, -ENOMEM, "no memory for a request to", false},
};

static void explain_curl(const struct http_client_request *r, struct err *ret)
{
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        const struct curl_failure *f = &failures[i];
        if (f->code == r->result) {
            bool more = f->detail && r->detail[0];
            (void)err_set(ret, f->error, "%s %s%s%s", f->words, r->host, more ? ": " : "",
                          more ? r->detail : "");
            return;
        }
    }
    (void)err_set(ret, -EPROTO, "%s: %s", r->host, curl_easy_strerror(r->result));
}

static void notify_head(struct http_client_request *r)
{
    long status = 0;
    (void)curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
    r->told_head = true;
    r->events->head(r->ctx, (int)status);
}

static void notify_body(struct http_client_request *r)
{
    struct buf in = r->in;
    r->in = BUF_INIT(in.cap);
    r->events->body(r->ctx, in.data, in.len);
    buf_done(&in);
}

static void notify_done(struct http_client_request *r)
{
    const struct http_client_events *events = r->events;
    struct err why = ERR_NONE;
    if (r->result != CURLE_OK)
        explain_curl(r, &why);
    r->events = NULL;
    events->done(r->ctx, r->result == CURLE_OK ? NULL : &why);
}

static void notify_request(struct http_client_request *r)
{
    bool whole = r->over && r->result == CURLE_OK;
    if (!r->told_head && (r->in.len > 0 || whole))
        notify_head(r);
    if (r->events && r->in.len > 0)
        notify_body(r);
    if (r->events && r->over)
        notify_done(r);
}

static void on_client_tell(void *ctx)
{
    struct http_client_request *r = ctx;
    if (r->over && is_followed(r) && follow(r))
        return;
    if (r->events) {
        r->inside = true;
        notify_request(r);
        r->inside = false;
    } else if (r->over) {
        r->dead = true; /* nobody wanted the answer */
    }
    if (r->dead) {
        free_client_request(r);
        return;
    }
    if (r->paused && !r->over) {
        r->paused = false;
        (void)curl_easy_pause(r->easy, CURLPAUSE_CONT);
    }
}

static void notify_later(struct http_client_request *r)
{
    loop_defer(r->client->loop, &r->tell, on_client_tell, r);
}

static size_t on_client_body(char *bytes, size_t one, size_t n, void *user)
{
    struct http_client_request *r = user;
    n *= one;
    if (!r->events)
        return n;
    if (is_followed(r))
        return skip_body(r, n);
    notify_later(r);
    if (r->in.len > 0 && r->in.len + n > HTTP_WINDOW) {
        r->paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    return buf_add(&r->in, bytes, n) < 0 ? CURL_WRITEFUNC_ERROR : n;
}

const char *http_request_header(struct http_client_request *request, const char *name)
{
    struct curl_header *header = NULL;
    if (curl_easy_header(request->easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
        return NULL;
    return header->value;
}

/* --- authorities ----------------------------------------------------------------------------- */

static int read_authorities(struct buf *out, const char *path, struct err *e)
{
    drop_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0) {
        int r = buf_reserve(out, READ_AT_ONCE);
        if (r < 0)
            return err_set(e, r, "certificate authorities %s: too many", path);
        n = read(fd, out->data + out->len, READ_AT_ONCE);
        if (n > 0)
            out->len += (size_t)n;
    }
    if (n < 0)
        return err_set(e, -errno, "certificate authorities %s: %s", path, strerror(errno));
    return buf_addc(out, '\n') < 0 ? err_set(e, out->failed, "certificate authorities") : 0;
}

/* libcurl takes one file or one text: with further authorities it is the text of both files. */
static int use_authorities(struct http_client *client, CURL *easy, struct err *e)
{
    const char *named = getenv("SSL_CERT_FILE");
    const char *from = named && *named ? named : system_authorities;
    if (!client->ca_file) {
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, from);
        return 0;
    }
    if (client->authorities.len == 0) {
        drop_buf struct buf all = BUF_INIT(HTTP_CA_MAX);
        int r = may_access(from, F_OK) ? read_authorities(&all, from, e) : 0;
        if (r == 0)
            r = read_authorities(&all, client->ca_file, e);
        if (r < 0)
            return r;
        client->authorities = all;
        all = BUF_INIT(0);
    }
    struct curl_blob blob = {.data = client->authorities.data,
                             .len = client->authorities.len,
                             .flags = CURL_BLOB_NOCOPY};
    (void)curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
    return 0;
}

/* --- URLs ------------------------------------------------------------------------------------ */

static void drop_url_cleanup(CURLU **url)
{
    curl_url_cleanup(*url);
}
#define drop_url __attribute__((cleanup(drop_url_cleanup)))

static bool same_part(CURLU *a, CURLU *b, CURLUPart part)
{
    char *x = NULL, *y = NULL;
    (void)curl_url_get(a, part, &x, CURLU_DEFAULT_PORT);
    (void)curl_url_get(b, part, &y, CURLU_DEFAULT_PORT);
    bool same = x && y && strcasecmp(x, y) == 0;
    curl_free(x);
    curl_free(y);
    return same;
}

/* The text of an impossible URL is not told: a secret may be a part of it. */
static int parse_url(CURLU *url, const char *text, struct err *e)
{
    if (!url || curl_url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK)
        return err_set(e, -EINVAL, "not a URL");
    char *scheme = NULL;
    (void)curl_url_get(url, CURLUPART_SCHEME, &scheme, 0);
    bool known = scheme && (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
    curl_free(scheme);
    return known ? 0 : err_set(e, -EINVAL, "the URL begins neither with http:// nor with https://");
}

int http_url_host(const char *url, char ret[HTTP_HOST_MAX], struct err *e)
{
    drop_url CURLU *parsed = curl_url();
    int r = parse_url(parsed, url, e);
    if (r < 0)
        return r;
    char *host = NULL, *port = NULL;
    (void)curl_url_get(parsed, CURLUPART_HOST, &host, 0);
    (void)curl_url_get(parsed, CURLUPART_PORT, &port, 0);
    struct buf text = BUF_INIT(HTTP_HOST_MAX - 1);
    (void)buf_addf(&text, "%s%s%s", host ? host : "", port ? ":" : "", port ? port : "");
    r = text.failed ? err_set(e, -EINVAL, "the URL's host is too long") : 0;
    if (r == 0)
        memcpy(ret, text.data, text.len + 1);
    buf_done(&text);
    curl_free(host);
    curl_free(port);
    return r;
}

/* Where a redirect leads, without what may be a secret. */
static bool origin_of(const char *base, const char *to, struct buf *ret)
{
    drop_url CURLU *url = curl_url();
    char *scheme = NULL, *host = NULL, *port = NULL;
    if (parse_url(url, base, NULL) < 0 || parse_url(url, to, NULL) < 0)
        return false;
    (void)curl_url_get(url, CURLUPART_SCHEME, &scheme, 0);
    (void)curl_url_get(url, CURLUPART_HOST, &host, 0);
    (void)curl_url_get(url, CURLUPART_PORT, &port, 0);
    if (scheme && host)
        (void)buf_addf(ret, "%s://%s%s%s", scheme, host, port ? ":" : "", port ? port : "");
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    return ret->len > 0 && !ret->failed;
}

void http_request_redirect(struct http_client_request *request, char *ret, size_t size)
{
    const char *to = http_request_header(request, "Location");
    char *same = NULL;
    drop_buf struct buf origin = BUF_INIT(HTTP_HOST_MAX + 16);
    if (!to || !redirects(request))
        (void)snprintf(ret, size, "a redirect, which is not followed");
    else if (http_url_resolve(request->url, to, &same, NULL) == 0)
        (void)snprintf(ret, size, "more than %d redirects", HTTP_REDIRECTS_MAX);
    else if (origin_of(request->url, to, &origin))
        (void)snprintf(ret, size, "a redirect to %s, which is another origin: give its URL there",
                       buf_text(&origin));
    else
        (void)snprintf(ret, size, "a redirect to no URL of HTTP, which is not followed");
    xfree(same);
}

int http_url_resolve(const char *base, const char *to, char **ret, struct err *e)
{
    drop_url CURLU *from = curl_url(), *url = curl_url();
    int r = parse_url(from, base, e);
    if (r == 0)
        r = parse_url(url, base, e);
    if (r < 0 || (r = parse_url(url, to, e)) < 0)
        return r;
    if (!same_part(from, url, CURLUPART_SCHEME) || !same_part(from, url, CURLUPART_HOST) ||
        !same_part(from, url, CURLUPART_PORT))
        return err_set(e, -EACCES, "it leads to another origin");
    char *text = NULL;
    if (curl_url_get(url, CURLUPART_URL, &text, 0) != CURLUE_OK)
        return err_set(e, -EINVAL, "not a URL");
    *ret = xstrdup(text);
    curl_free(text);
    return 0;
}

/* --- starting -------------------------------------------------------------------------------- */

static int add_header(struct http_client_request *r, const struct http_client_header *header,
                      struct err *e)
{
    static const char token[] = "!#$%&'*+-.^_`|~0123456789"
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (!*header->name || header->name[strspn(header->name, token)])
        return err_set(e, -EINVAL, "the name of a header has invalid characters");
    for (const char *at = header->value; *at; at++) {
        if (((unsigned char)*at < ' ' && *at != '\t') || *at == 0x7F)
            return err_set(e, -EINVAL, "header %s: its value has a control character",
                           header->name);
    }
    drop_str char *line = *header->value ? xasprintf("%s: %s", header->name, header->value)
                                         : xasprintf("%s;", header->name);
    struct curl_slist *list = curl_slist_append(r->headers, line);
    if (!list)
        return err_set(e, -ENOMEM, "no memory for a header");
    r->headers = list;
    return 0;
}

static int set_method(struct http_client_request *r, const struct http_request_spec *spec,
                      struct err *e)
{
    CURL *easy = r->easy;
    if (spec->method == HTTP_DELETE)
        (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "DELETE");
    if (spec->method != HTTP_POST)
        return 0;
    static const char no_question[] = "Expect:"; /* 100-continue costs a second where unknown */
    struct curl_slist *list = curl_slist_append(r->headers, no_question);
    if (list)
        r->headers = list;
    (void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)spec->n_body);
    if (!list ||
        curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, spec->n_body ? spec->body : "") != CURLE_OK)
        return err_set(e, -ENOMEM, "no memory for the request");
    return 0;
}

static void set_curl_options(struct http_client_request *r, const struct http_request_spec *spec)
{
    CURL *easy = r->easy;
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, (char *)r);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_client_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, r);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, r->detail);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_QUICK_EXIT,
                           1L); /* or ending waits for the name's lookup */
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_S);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_S);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)spec->connect_timeout_ms);
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)spec->timeout_ms);
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "ipybox");
}

static int set_url(struct http_client_request *r, const char *url, struct err *e)
{
    int code = http_url_host(url, r->host, e);
    if (code < 0)
        return code;
    if (curl_easy_setopt(r->easy, CURLOPT_URL, url) != CURLE_OK)
        return err_set(e, -EINVAL, "not a URL");
    xfree(r->url);
    r->url = xstrdup(url);
    return strncasecmp(url, "https", 5) == 0 ? use_authorities(r->client, r->easy, e) : 0;
}

static int go_request(struct http_client_request *r, struct err *e)
{
    CURLMcode code = curl_multi_add_handle(r->client->multi, r->easy);
    r->added = code == CURLM_OK;
    return r->added ? 0 : err_set(e, -ENOMEM, "%s: %s", r->host, curl_multi_strerror(code));
}

static int prepare_request(struct http_client_request *r, const struct http_request_spec *spec,
                           struct err *e)
{
    r->easy = curl_easy_init();
    if (!r->easy)
        return err_set(e, -ENOMEM, "no memory for a request");
    set_curl_options(r, spec);
    int code = 0;
    for (size_t i = 0; i < spec->n_headers && code == 0; i++)
        code = add_header(r, &spec->headers[i], e);
    if (code == 0)
        code = set_method(r, spec, e);
    if (code == 0)
        (void)curl_easy_setopt(r->easy, CURLOPT_HTTPHEADER, r->headers);
    if (code == 0 && spec->url)
        code = set_url(r, spec->url, e);
    return code == 0 && !spec->held ? go_request(r, e) : code;
}

int http_request_start(struct http_client *client, const struct http_request_spec *spec,
                       const struct http_client_events *events, void *ctx,
                       struct http_client_request **ret, struct err *e)
{
    if (client->count >= HTTP_REQUESTS_MAX)
        return err_set(e, -EAGAIN, "too many requests at once");
    struct http_client_request *r = NEW(struct http_client_request);
    *r = (struct http_client_request){.client = client,
                                      .events = events,
                                      .ctx = ctx,
                                      .method = spec->method,
                                      .in = BUF_INIT(HTTP_WINDOW + CURL_MAX_WRITE_SIZE)};
    list_push(&client->first, r);
    client->count++;
    int code = prepare_request(r, spec, e);
    if (code < 0)
        free_client_request(r);
    else
        *ret = events ? r : NULL;
    return code;
}

int http_request_go(struct http_client_request *request, const char *url, struct err *e)
{
    int r = url ? set_url(request, url, e) : 0;
    return r < 0 ? r : go_request(request, e);
}

/* --- the client ------------------------------------------------------------------------------ */

int http_client_open(struct loop *loop, const char *ca_file, struct http_client **ret,
                     struct err *e)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(e, -ENOMEM, "libcurl cannot be used");
    CURLM *multi = curl_multi_init();
    if (!multi) {
        curl_global_cleanup();
        return err_set(e, -ENOMEM, "libcurl cannot be used");
    }
    struct http_client *client = NEW(struct http_client);
    *client = (struct http_client){
        .loop = loop, .ca_file = ca_file, .multi = multi, .authorities = BUF_INIT(HTTP_CA_MAX)};
    (void)curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
    (void)curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, client);
    (void)curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_set_timer);
    (void)curl_multi_setopt(multi, CURLMOPT_TIMERDATA, client);
    (void)curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_KEPT);
    *ret = client;
    return 0;
}

struct http_client *http_client_close(struct http_client *client)
{
    if (!client)
        return NULL;
    while (client->first)
        free_client_request(client->first);
    (void)curl_multi_cleanup(client->multi);
    loop_timer_stop(client->loop, &client->timer);
    loop_defer_stop(client->loop, &client->act);
    curl_global_cleanup();
    buf_done(&client->authorities);
    xfree(client);
    return NULL;
}

struct loop *http_client_loop(const struct http_client *client)
{
    return client->loop;
}
