/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of values inside a JSON text. Of what the parser takes, every member and element that
 * the tree has is found, and its text is a value by itself; of other texts some span inside. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json/json.h"
#include "base/json/jsonspan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Strings alone may say the same in two ways; they are compared as values. */
static void must_be_same(struct jsonspan span, const struct json *value)
{
    drop_json struct json *j = json_parse_copy(span.at, span.n, JSON_STRICT, NULL);
    must(j != NULL);
    drop_str char *a = json_print(j);
    drop_str char *b = json_print(value);
    must(a && b && strcmp(a, b) == 0);
}

static void check_members(struct jsonspan whole, const struct json *tree)
{
    struct jsonspan span;
    for (const struct json *v = json_first(tree); v; v = json_next(v)) {
        must(jsonspan_get(whole, json_name(v), &span));
        must_be_same(span, json_get(tree, json_name(v)));
    }
}

static void check_elements(struct jsonspan whole, const struct json *tree)
{
    struct jsonspan span;
    size_t at = 0;
    for (const struct json *v = json_first(tree); v; v = json_next(v)) {
        must(jsonspan_next(whole, &at, &span));
        must_be_same(span, v);
    }
    must(!jsonspan_next(whole, &at, &span));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    drop_str char *text = xstrndup((const char *)data, size);
    struct jsonspan whole = JSONSPAN(text, strlen(text)), span;
    drop_json struct json *tree = json_parse_copy(text, whole.n, JSON_STRICT, NULL);
    size_t at = 0;
    if (json_is_object(tree))
        check_members(whole, tree);
    else if (json_is_array(tree))
        check_elements(whole, tree);
    if (jsonspan_get(whole, "a", &span))
        must(span.at >= whole.at && span.at + span.n <= whole.at + whole.n);
    while (jsonspan_next(whole, &at, &span))
        must(span.at >= whole.at && span.at + span.n <= whole.at + whole.n && at <= whole.n);
    return 0;
}
