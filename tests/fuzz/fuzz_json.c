/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON in and out. Whatever parses is printed as JSON that parses again to the same text; every
 * string in it is UTF-8 but for C0 80 and is written by jsonw.h and read back unchanged. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json/json.h"
#include "base/json/jsonw.h"
#include "base/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_text(const char *text)
{
    struct buf b = BUF_INIT((size_t)1 << 30);
    struct jsonw w = JSONW(&b);
    jsonw_text(&w, text);
    must(b.failed == 0 && utf8_valid(b.data, b.len));
    drop_json struct json *j = json_parse(b.data, b.len, JSON_STRICT, NULL);
    must(j && strcmp(json_text(j), text) == 0);
    buf_done(&b);
}

static void check_tree(const struct json *j)
{
    if (json_text(j))
        check_text(json_text(j));
    size_t n = 0;
    for (const struct json *child = json_first(j); child; child = json_next(child), n++) {
        must(json_is_array(j) || json_name(child));
        if (json_is_object(j)) {
            check_text(json_name(child));
            must(json_get(j, json_name(child)) != NULL);
        }
        check_tree(child);
    }
    must(n == json_count(j));
    must(json_is_object(j) + json_is_array(j) + json_is_number(j) + json_is_bool(j) +
             json_is_null(j) + (json_text(j) != NULL) ==
         1);
}

static void check(const uint8_t *data, size_t size, enum json_mode mode)
{
    struct err e = ERR_NONE;
    drop_json struct json *j = json_parse_copy((const char *)data, size, mode, &e);
    must(j || e.code < 0);
    if (!j)
        return;
    check_tree(j);
    drop_str char *once = json_print(j);
    must(once && utf8_valid(once, strlen(once)));
    drop_json struct json *again = json_parse_copy(once, strlen(once), JSON_STRICT, &e);
    must(again != NULL);
    drop_str char *twice = json_print(again);
    must(strcmp(once, twice) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check(data, size, JSON_STRICT);
    check(data, size, JSON_REPAIR);
    return 0;
}
