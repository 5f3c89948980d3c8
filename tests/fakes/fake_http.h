/* SPDX-License-Identifier: Apache-2.0
 *
 * fakes/fake_http.h - an HTTP server on the loop of a test: every request is handed to the test,
 * which says its answer as it stands on the wire, at once or later, and may break it off. */
#ifndef FAKE_HTTP_H
#define FAKE_HTTP_H

#include <stddef.h>

#include "loop/loop.h"

struct fake_http;
struct fake_conn;

struct fake_request { /* borrowed for the call */
    const char *method, *path;
    const char *body;
    size_t n_body;
};

typedef void (*fake_http_fn)(struct fake_conn *c, const struct fake_request *request);

struct fake_http *fake_http_open(struct loop *loop, fake_http_fn fn);
struct fake_http *fake_http_close(struct fake_http *server);
int fake_http_port(const struct fake_http *server);
size_t fake_http_connections(const struct fake_http *server); /* accepted so far */
size_t fake_http_open_connections(const struct fake_http *server);

/* A header of the request that the test is handed, or NULL; borrowed for the call. */
const char *fake_header(struct fake_conn *c, const char *name);

void fake_say(struct fake_conn *c, const char *text);
void fake_say_n(struct fake_conn *c, const char *bytes, size_t n);
void fake_answer(struct fake_conn *c, const char *head, const char *body); /* with its length */
void fake_end(struct fake_conn *c);

#endif
