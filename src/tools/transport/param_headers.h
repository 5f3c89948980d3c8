/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/transport/param_headers.h - arguments that Streamable HTTP of 2026-07-28 repeats in
 * headers: those whose schema has "x-mcp-header" (private to tools/).
 * Rules:   reachable through "properties" alone; of type string, integer, number or boolean; the
 *          name an HTTP token, none twice whatever its case. A tool that breaks them is not to be
 *          offered.
 * Owner:   the texts belong to the list; param_headers_done().
 * Source:  modelcontextprotocol.io, "Transports", revision 2026-07-28. */
#ifndef TOOLS_TRANSPORT_PARAM_HEADERS_H
#define TOOLS_TRANSPORT_PARAM_HEADERS_H

#include "base/json/json.h"
#include "base/json/jsonspan.h"
#include "tools/transport/transport.h"

#define PARAM_HEADERS_MAX 64

struct param_headers {
    struct transport_header list[PARAM_HEADERS_MAX]; /* "Mcp-Param-…", both texts owned */
    size_t n;
};

/* -EINVAL: the schema's annotations break the rules. */
MUST_CHECK int param_headers_check(const struct json *schema, struct err *e);

/* Of a schema that passed; a number stands as it was written. Absent and null: no header. */
void param_headers_read(const struct json *schema, const char *arguments,
                        struct param_headers *ret);
void param_headers_done(struct param_headers *headers);

#endif
