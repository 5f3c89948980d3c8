/* SPDX-License-Identifier: Apache-2.0
 *
 * front/toolserver/toolserver_wire.h - requests to the tool server, and what its predecessor said
 * about wrong ones (private to toolserver.c; pure functions).
 * Source:  answers of mcpygen 0.1.4 on FastAPI, tests/golden/toolserver/. */
#ifndef FRONT_TOOLSERVER_TOOLSERVER_WIRE_H
#define FRONT_TOOLSERVER_TOOLSERVER_WIRE_H

#include "base/buf.h"
#include "base/json/json.h"

struct toolserver_query {
    struct json *tree; /* all of it; the texts are borrowed from it */
    const char *server, *tool;
    const struct json *params; /* NULL in an approval alone */
    char *arguments;           /* as written, in one line */
};

/* 0, or the status of an answer whose body is in `out`. */
int toolserver_read(const char *body, size_t n, const char *content_type, bool with_params,
                    struct toolserver_query *ret, struct buf *out);
void toolserver_query_done(struct toolserver_query *q);

/* JSON text without white space and escapes that are not needed; numbers stay as written. */
void toolserver_compact(struct buf *out, const char *json, size_t n);

/* What is wrong with a text that is no JSON, in the words of Python; *at: in characters. */
const char *toolserver_json_fault(const char *text, size_t n, size_t *at);

#endif
