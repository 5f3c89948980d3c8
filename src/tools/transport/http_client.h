/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/transport/http_client.h - HTTP requests on the loop: the only file that knows libcurl.
 * Does:    HTTP/1.1 with kept connections, TLS with the system's authorities (SSL_CERT_FILE, else
 *          /etc/ssl/certs/ca-certificates.crt) and further ones, proxies of the environment as curl
 *          has them (http_proxy, https_proxy, all_proxy, no_proxy).
 * Follows: redirects within the origin (scheme, host and port), HTTP_REDIRECTS_MAX of them; of
 *          POST and DELETE only 307 and 308, which keep method and body.
 * Not:     cookies, .netrc, redirects to another origin, other protocols; a limit on the time of an
 *          answer, unless one is given.
 * Owner:   who starts a request has to give it up by http_request_end(), also after its end; that
 *          may be done inside an event.
 * Events:  come from the loop, never from inside a call. Of an answer HTTP_WINDOW bytes are held at
 *          most: who takes its time slows down the server.
 * Secrets: no error has more of a URL than its host and port, and none has a header.
 * Calls:   loop thread only; nothing blocks (names are looked up by a thread of libcurl). */
#ifndef TOOLS_TRANSPORT_HTTP_CLIENT_H
#define TOOLS_TRANSPORT_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "loop/loop.h"

#define HTTP_REQUESTS_MAX 1024
#define HTTP_WINDOW ((size_t)256 << 10)
#define HTTP_CA_MAX ((size_t)8 << 20) /* bytes of all authorities */
#define HTTP_HOST_MAX 300
#define HTTP_REDIRECTS_MAX 5

struct http_client;
/* ca_file: further authorities, PEM, read when they are needed first; borrowed. NULL: the system's
 * alone. */
MUST_CHECK int http_client_open(struct loop *loop, const char *ca_file, struct http_client **ret,
                                struct err *e);

/* No event comes after it; all requests are gone. NULL in, NULL out. */
struct http_client *http_client_close(struct http_client *client);

struct loop *http_client_loop(const struct http_client *client);

/* --- URLs ------------------------------------------------------------------------------------ */

/* "host" or "host:port" for a human. -EINVAL: not an http or https URL. */
MUST_CHECK int http_url_host(const char *url, char ret[HTTP_HOST_MAX], struct err *e);

/* `to`, seen from `base`; the caller frees it. -EACCES: it leads to another origin. */
MUST_CHECK int http_url_resolve(const char *base, const char *to, char **ret, struct err *e);

/* --- requests -------------------------------------------------------------------------------- */

enum http_method { HTTP_GET, HTTP_POST, HTTP_DELETE };

struct http_client_header {
    const char *name, *value;
};

struct http_request_spec { /* copied */
    enum http_method method;
    const char *url; /* NULL: http_request_go() brings it */
    const struct http_client_header *headers;
    size_t n_headers;
    const char *body; /* of POST */
    size_t n_body;
    int64_t connect_timeout_ms;
    int64_t timeout_ms; /* of the whole; 0: none */
    bool held;          /* it is not sent before http_request_go() */
};

struct http_client_request;
struct http_client_events {
    /* The answer's status and headers are there; told before the first byte of its body, or before
     * a `done` without an error. */
    void (*head)(void *ctx, int status);
    void (*body)(void *ctx, const char *bytes, size_t n);
    /* The last event. why == NULL: the answer is complete. */
    void (*done)(void *ctx, const struct err *why);
};

/* events == NULL: nobody wants the answer, the request looks after itself and *ret is NULL.
 * -EINVAL: a header or the URL is impossible; -EAGAIN: too many requests. */
MUST_CHECK int http_request_start(struct http_client *client, const struct http_request_spec *spec,
                                  const struct http_client_events *events, void *ctx,
                                  struct http_client_request **ret, struct err *e);
MUST_CHECK int http_request_go(struct http_client_request *request, const char *url, struct err *e);

/* Of the answer, inside `head`, `body` or `done`; NULL: it has none of that name. */
const char *http_request_header(struct http_client_request *request, const char *name);

/* Of an answer that is a redirect, inside the same: why it was not followed, in words. */
void http_request_redirect(struct http_client_request *request, char *ret, size_t size);

/* Closes its connection unless the answer is complete. NULL in, NULL out. */
struct http_client_request *http_request_end(struct http_client_request *request);

#endif
