/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp/form.h - forms of MCP servers (params of elicitation/create), and whether an answer
 * fits: pure functions (of front/ and the command line).
 * Flat:    an object of strings (lengths, enum, oneOf, format email, uri, date, date-time), numbers
 *          and integers (bounds), booleans, and arrays of strings (items.enum, items.anyOf,
 *          counts). Other keywords say nothing here; the server has the last word.
 * Failing: -EINVAL, e names the field.
 * Source:  modelcontextprotocol.io specification 2025-11-25, client/elicitation. */
#ifndef FRONT_MCP_FORM_H
#define FRONT_MCP_FORM_H

#include <stdbool.h>

#include "base/err.h"
#include "base/json/json.h"

/* Whether a human can be asked all of it: a message, and a flat schema. */
MUST_CHECK int form_check(const struct json *form, struct err *e);

/* content: NULL is an empty object. */
MUST_CHECK int form_fits(const struct json *form, const struct json *content, struct err *e);

/* The same for one member of an object. */
MUST_CHECK int form_field_fits(const struct json *form, const struct json *member, struct err *e);

/* The field behind this one (NULL: the first), as a schema with its name; NULL: there is none. */
const struct json *form_next(const struct json *form, const struct json *field);

bool form_needs(const struct json *form, const char *name);
bool form_is(const struct json *field, const char *kind); /* "string", "array" … */

#endif
