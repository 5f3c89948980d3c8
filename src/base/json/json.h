/* SPDX-License-Identifier: Apache-2.0
 *
 * base/json/json.h - JSON in: a parsed tree and getters that name what is wrong (RFC 8259).
 * Owns:    the tree; strings and children that getters return are borrowed from it.
 * Limits:  deeper nesting than JSON_DEPTH_MAX and more values than JSON_VALUES_MAX are refused
 *          before anything is allocated: a value takes some 80 bytes, its text perhaps two.
 * NUL:     a U+0000 in a string arrives as the bytes C0 80 (see utf8.h) and jsonw.h writes these
 *          back as \u0000, so no text is cut at a NUL. A lone surrogate arrives as U+FFFD.
 * Numbers are doubles: identifiers that must be echoed exactly are taken by jsonscan.h instead.
 * Names:   of equal names in an object the last counts, as in Python and JavaScript. */
#ifndef BASE_JSON_JSON_H
#define BASE_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define JSON_DEPTH_MAX 128
#define JSON_VALUES_MAX (1 << 20)
#define JSON_REQUEST_VALUES_MAX 50000 /* takes 10 ms */

struct json; /* a value: object, array, string, number, boolean or null */

enum json_mode {
    JSON_STRICT,  /* bytes that are not UTF-8 are an error */
    JSON_REQUEST, /* the same with JSON_REQUEST_VALUES_MAX: what a client sends */
    JSON_REPAIR,  /* such bytes become '?': what code in a kernel may make of a message */
};

/* Parses text[0..len), which is changed in the course. NULL with -EBADMSG (not JSON), -ELOOP (too
 * deep), -E2BIG (too many values), -EILSEQ (not UTF-8) or -ENOMEM in *e. */
struct json *json_parse(char *text, size_t len, enum json_mode mode, struct err *e);

/* The same for a text that must stay as it is; it is copied. */
struct json *json_parse_copy(const char *text, size_t len, enum json_mode mode, struct err *e);

struct json *json_free(struct json *j); /* NULL in, NULL out; returns NULL */

void drop_json_cleanup(struct json **j);
#define drop_json __attribute__((cleanup(drop_json_cleanup)))

/* Every getter takes NULL and a value of another kind, and then answers NULL, false or 0. */
const struct json *json_get(const struct json *object, const char *name);
const struct json *json_first(const struct json *object_or_array);
const struct json *json_next(const struct json *value);
const char *json_name(const struct json *value); /* its name inside an object */
size_t json_count(const struct json *object_or_array);

bool json_is_object(const struct json *j);
bool json_is_array(const struct json *j);
bool json_is_number(const struct json *j);
bool json_is_bool(const struct json *j);
bool json_is_null(const struct json *j);

const char *json_text(const struct json *j); /* NULL: not a string */
double json_number(const struct json *j);    /* always finite: 1e999 is DBL_MAX */
bool json_true(const struct json *j);

/* json_text(json_get(…)) */
const char *json_get_text(const struct json *object, const char *name);

/* -EINVAL with "name: a string is needed" when it is absent or of another kind. */
MUST_CHECK int json_need_text(const struct json *object, const char *name, const char **ret,
                              struct err *e);

/* The value as compact JSON text; the caller frees it with xfree(). NULL: no memory. */
char *json_print(const struct json *j);

#endif
