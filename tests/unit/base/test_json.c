/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "base/text/utf8.h"

/* A text that may hold NULs, with its length. */
#define BYTES(literal) literal, sizeof(literal) - 1

/* Parses a copy that has exactly its size, so that ASan sees a read past its end. */
static struct json *parse(const char *text, size_t len, enum json_mode mode, struct err *e)
{
    drop_str char *copy = xcalloc(1, len ? len : 1);
    memcpy(copy, text, len);
    return json_parse(copy, len, mode, e);
}

static void every_kind_of_value_is_read(void)
{
    drop_json struct json *j =
        parse(BYTES(" {\"o\":{},\"a\":[1,2,3],\"s\":\"x\",\"n\":-1.5e2,\"t\":true,\"f\":false,"
                    "\"z\":null}\r\n\t "),
              JSON_STRICT, NULL);
    TEST_ASSERT(json_is_object(j));
    TEST_CHECK(json_count(j) == 7);
    TEST_CHECK(json_is_object(json_get(j, "o")) && json_count(json_get(j, "o")) == 0);
    const struct json *a = json_get(j, "a");
    TEST_CHECK(json_is_array(a) && json_count(a) == 3);
    TEST_CHECK(json_number(json_next(json_first(a))) == 2);
    TEST_CHECK(strcmp(json_get_text(j, "s"), "x") == 0);
    TEST_CHECK(json_is_number(json_get(j, "n")) && json_number(json_get(j, "n")) == -150);
    TEST_CHECK(json_is_bool(json_get(j, "t")) && json_true(json_get(j, "t")));
    TEST_CHECK(json_is_bool(json_get(j, "f")) && !json_true(json_get(j, "f")));
    TEST_CHECK(json_is_null(json_get(j, "z")));
    TEST_CHECK(strcmp(json_name(json_first(j)), "o") == 0);
}

static void getters_take_nothing_and_the_wrong_kind(void)
{
    drop_json struct json *j = parse(BYTES("[1]"), JSON_STRICT, NULL);
    TEST_CHECK(json_get(j, "x") == NULL && json_get(NULL, "x") == NULL);
    TEST_CHECK(json_text(j) == NULL && json_text(NULL) == NULL);
    TEST_CHECK(json_number(j) == 0 && json_number(NULL) == 0);
    TEST_CHECK(!json_true(j) && !json_true(NULL));
    TEST_CHECK(json_first(json_first(j)) == NULL && json_first(NULL) == NULL);
    TEST_CHECK(json_next(NULL) == NULL && json_name(NULL) == NULL && json_count(NULL) == 0);
    TEST_CHECK(!json_is_object(NULL) && !json_is_array(NULL) && !json_is_number(NULL));
    TEST_CHECK(!json_is_bool(NULL) && !json_is_null(NULL));
    TEST_CHECK(json_get_text(NULL, "x") == NULL);
    TEST_CHECK(json_free(NULL) == NULL);
}

static void a_missing_string_is_named(void)
{
    drop_json struct json *j = parse(BYTES("{\"code\":1,\"t\":\"x\"}"), JSON_STRICT, NULL);
    const char *text = NULL;
    struct err e = ERR_NONE;
    TEST_CHECK(json_need_text(j, "code", &text, &e) == -EINVAL && text == NULL);
    TEST_CHECK(strcmp(e.msg, "code: a string is needed") == 0);
    TEST_CHECK(json_need_text(j, "none", &text, &e) == -EINVAL);
    TEST_CHECK(json_need_text(j, "t", &text, &e) == 0 && strcmp(text, "x") == 0);
}

static void of_equal_names_the_last_counts(void)
{
    drop_json struct json *j =
        parse(BYTES("{\"a\":1,\"b\":0,\"a\":2,\"\\u0061\":3,\"A\":4}"), JSON_STRICT, NULL);
    TEST_CHECK(json_number(json_get(j, "a")) == 3);
}

static void strings_arrive_whole(void)
{
    static const struct {
        const char *json;
        size_t len;
        enum json_mode mode;
        const char *text;
    } cases[] = {
        {BYTES("\"\""), JSON_STRICT, ""},
        {BYTES("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), JSON_STRICT, "\"\\/\b\f\n\r\t"},
        {BYTES("\"\\u0041\\u00e9\\u20AC\\ud83d\\uDE00\""), JSON_STRICT, "A\u00e9\u20ac\U0001f600"},
        {BYTES("\"\u00e9\u20ac\U0001f600\x7F\""), JSON_STRICT, "\u00e9\u20ac\U0001f600\x7F"},
        {BYTES("\"a\\u0000b\""), JSON_STRICT, "a\xC0\x80\x62"},
        {BYTES("\"\\u0000\\u0000\""), JSON_STRICT, "\xC0\x80\xC0\x80"},
        {BYTES("\"\\\\u0000\""), JSON_STRICT, "\\u0000"},
        {BYTES("\"\\\\\\u0000\""), JSON_STRICT, "\\\xC0\x80"},
        {BYTES("\"\\ud800\""), JSON_STRICT, "\xEF\xBF\xBD"},
        {BYTES("\"\\udc00x\""), JSON_STRICT, "\xEF\xBF\xBDx"},
        {BYTES("\"\\ud800\\ud800\""), JSON_STRICT, "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {BYTES("\"\\ud800\\ud83d\\ude00\""), JSON_STRICT, "\xEF\xBF\xBD\U0001f600"},
        {BYTES("\"\\ud800\\u0041\""), JSON_STRICT, "\xEF\xBF\xBD\x41"},
        {BYTES("\"\\ud800\\\\u\""), JSON_STRICT, "\xEF\xBF\xBD\\u"},
        {BYTES("\"\\ude00\\ud83d\""), JSON_STRICT, "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {BYTES("\"\\ud800\\u0000\""), JSON_STRICT, "\xEF\xBF\xBD\xC0\x80"},
        {BYTES("\"a\xFF\x62\""), JSON_REPAIR, "a?b"},
        {BYTES("\"\xC0\x80\""), JSON_REPAIR, "??"},
        {BYTES("\"\xED\xA0\x80\""), JSON_REPAIR, "???"},
        {BYTES("\"\xF0\x9F\x98\""), JSON_REPAIR, "???"},
        {BYTES("\"a\nb\""), JSON_REPAIR, "a\nb"},
        {BYTES("\"{[,\""), JSON_STRICT, "{[,"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE(cases[i].json);
        struct err e = ERR_NONE;
        drop_json struct json *j = parse(cases[i].json, cases[i].len, cases[i].mode, &e);
        const char *text = json_text(j);
        TEST_CHECK_(text && strcmp(text, cases[i].text) == 0, "%s %s", e.msg, text ? text : "");
        drop_buf struct buf b = BUF_INIT(1 << 16);
        (void)buf_addf(&b, "{\"long\": \"%05000d\", \"text\": ", 0);
        (void)buf_add(&b, cases[i].json, cases[i].len);
        (void)buf_add(&b, "}", 1);
        drop_json struct json *object = parse(buf_text(&b), b.len, cases[i].mode, &e);
        text = json_text(json_get(object, "text"));
        TEST_CHECK_(text && strcmp(text, cases[i].text) == 0, "%s %s", e.msg, text ? text : "");
    }
}

/* Plain bytes go in pieces of eight. */
static void each_byte_arrives_at_each_place(void)
{
    for (unsigned place = 1; place < 25; place++)
        for (unsigned byte = 0; byte < 0x80; byte++) {
            char literal[] = "\"xxxxxxxxxxxxxxxxxxxxxxxx\"";
            literal[place] = (char)byte;
            drop_json struct json *j = json_parse_copy(literal, 26, JSON_STRICT, NULL);
            const bool simple = byte >= 0x20 && byte != '\\' && byte != '"';
            TEST_CHECK_((j != NULL) == simple, "%u at %u", byte, place);
            TEST_CHECK(!j || strncmp(json_text(j), literal + 1, 24) == 0);
        }
}

static void a_name_with_nul_is_found_by_its_inner_form(void)
{
    drop_json struct json *j = parse(BYTES("{\"a\\u0000b\":1,\"a\":2}"), JSON_STRICT, NULL);
    TEST_CHECK(json_number(json_get(j, "a\xC0\x80\x62")) == 1);
    TEST_CHECK(json_number(json_get(j, "a")) == 2);
}

static void what_is_not_json_is_refused(void)
{
    static const struct {
        const char *json;
        size_t len;
        int code;
    } cases[] = {
        {BYTES(""), -EBADMSG},
        {BYTES(" "), -EBADMSG},
        {BYTES("{"), -EBADMSG},
        {BYTES("}"), -EBADMSG},
        {BYTES("[1,]"), -EBADMSG},
        {BYTES("{\"a\"}"), -EBADMSG},
        {BYTES("{\"a\":}"), -EBADMSG},
        {BYTES("{a:1}"), -EBADMSG},
        {BYTES("{'a':1}"), -EBADMSG},
        {BYTES("{\"a\":1}x"), -EBADMSG},
        {BYTES("{\"a\":1}{}"), -EBADMSG},
        {BYTES("{\"a\":1}\0"), -EBADMSG},
        {BYTES("{\"a\":1,\0\"b\":2}"), -EBADMSG},
        {BYTES("[1\x01]"), -EBADMSG},
        {BYTES("[1\x0C]"), -EBADMSG},
        {BYTES("\"a"), -EBADMSG},
        {BYTES("\"a\\"), -EBADMSG},
        {BYTES("\"a\\\""), -EBADMSG},
        {BYTES("\"\\u\""), -EBADMSG},
        {BYTES("\"\\u12\""), -EBADMSG},
        {BYTES("\"\\u12g4\""), -EBADMSG},
        {BYTES("\"\\x41\""), -EBADMSG},
        {BYTES("\"\\u00"), -EBADMSG},
        {BYTES("\"\\ud800\\u"), -EBADMSG},
        {BYTES("\"a\nb\""), -EBADMSG},
        {BYTES("\"a\0b\""), -EBADMSG},
        {BYTES("\\u0041"), -EBADMSG},
        {BYTES("tru"), -EBADMSG},
        {BYTES("truex"), -EBADMSG},
        {BYTES("nul"), -EBADMSG},
        {BYTES("NaN"), -EBADMSG},
        {BYTES("[-Infinity]"), -EBADMSG},
        {BYTES("01"), -EBADMSG},
        {BYTES("-"), -EBADMSG},
        {BYTES("-01"), -EBADMSG},
        {BYTES("+1"), -EBADMSG},
        {BYTES(".5"), -EBADMSG},
        {BYTES("1."), -EBADMSG},
        {BYTES("1.e5"), -EBADMSG},
        {BYTES("1e"), -EBADMSG},
        {BYTES("1e+"), -EBADMSG},
        {BYTES("1 2"), -EBADMSG},
        {BYTES("0x10"), -EBADMSG},
        {BYTES("1-2"), -EBADMSG},
        {BYTES("\"\xC0\x80\""), -EILSEQ},
        {BYTES("\"\xFF\""), -EILSEQ},
        {BYTES("\"\xED\xA0\x80\""), -EILSEQ},
        {BYTES("\"\xF4\x90\x80\x80\""), -EILSEQ},
        {BYTES("\"\xE2\x82\""), -EILSEQ},
        {BYTES("\"\\\xFF\""), -EILSEQ},
        {BYTES("[\xC2\xA0]"), -EBADMSG},
        {BYTES("\"\xE2\x82"), -EILSEQ},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE_("%zu: %s", i, cases[i].json);
        struct err e = ERR_NONE;
        drop_json struct json *j = parse(cases[i].json, cases[i].len, JSON_STRICT, &e);
        TEST_CHECK(j == NULL);
        TEST_CHECK_(e.code == cases[i].code, "%d %s", e.code, e.msg);
        TEST_CHECK(strstr(e.msg, " at byte ") != NULL);
    }
}

static void numbers_are_doubles_of_any_length(void)
{
    static const struct {
        const char *json;
        double value;
    } cases[] = {
        {"0", 0},
        {"-0", 0},
        {"9007199254740993", 9007199254740992.0},
        {"1E5", 1e5},
        {"1e+05", 1e5},
        {"1.5e-3", 0.0015},
        {"2037035976334486086268445688409378161051468393665936250636140449354381299763336706183397"
         "376",
         0x1p300},
        {"0.10000000000000000000000000000000000000000000000000000000000000000000000000000000", 0.1},
        {"-1000000000000000000000000000000000000000000000000000000000000000000000000000e-75", -1},
        {"1e999", 1.7976931348623157e308},
        {"-1e999", -1.7976931348623157e308},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE(cases[i].json);
        struct err e = ERR_NONE;
        drop_json struct json *j = parse(cases[i].json, strlen(cases[i].json), JSON_STRICT, &e);
        TEST_CHECK_(json_is_number(j) && json_number(j) == cases[i].value, "%s %.17g", e.msg,
                    json_number(j));
    }
}

/* "[[]]" or {"":{"":{}}}. */
static char *nested(size_t levels, bool objects)
{
    struct buf b = BUF_INIT(10000);
    for (size_t i = 0; i < levels; i++)
        (void)buf_adds(&b, !objects ? "[" : i + 1 < levels ? "{\"\":" : "{");
    for (size_t i = 0; i < levels; i++)
        (void)buf_adds(&b, objects ? "}" : "]");
    return buf_take(&b);
}

static void nesting_is_allowed_to_128_levels(void)
{
    for (size_t levels = 126; levels < 132; levels++) {
        for (int objects = 0; objects < 2; objects++) {
            TEST_CASE_("%zu levels of %s", levels, objects ? "objects" : "arrays");
            drop_str char *text = nested(levels, objects);
            struct err e = ERR_NONE;
            drop_json struct json *j = parse(text, strlen(text), JSON_STRICT, &e);
            TEST_CHECK_((j != NULL) == (levels <= JSON_DEPTH_MAX), "%s", e.msg);
            TEST_CHECK(j || e.code == -ELOOP);
        }
    }
}

static void a_bomb_of_brackets_is_refused_before_it_costs_anything(void)
{
    size_t n = 64 << 20;
    drop_str char *text = xcalloc(1, n);
    memset(text, '[', n);
    struct err e = ERR_NONE;
    try_realloc_fail_at(1); /* any allocation would show as -ENOMEM */
    TEST_CHECK(json_parse(text, n, JSON_STRICT, &e) == NULL && e.code == -ELOOP);
    for (size_t i = 1; i < n; i++)
        text[i] = i % 2 ? '0' : ',';
    TEST_CHECK(json_parse(text, n, JSON_STRICT, &e) == NULL && e.code == -E2BIG);
}

static void a_request_has_fewer_values_than_others(void)
{
    size_t n =
        2 * JSON_REQUEST_VALUES_MAX + 1; /* "[0,0,...0]": a bracket, and a comma less than zeros */
    drop_str char *text = xcalloc(1, n);
    memset(text, '0', n);
    text[0] = '[';
    for (size_t i = 2; i < n; i += 2)
        text[i] = ',';
    text[n - 1] = ']';
    drop_json struct json *most = json_parse_copy(text, n, JSON_REQUEST, NULL);
    TEST_CHECK(most && json_count(most) == JSON_REQUEST_VALUES_MAX);
    struct err e = ERR_NONE;
    drop_str char *more = xasprintf("[%.*s,0]", (int)n, text);
    drop_json struct json *allowed = json_parse_copy(more, strlen(more), JSON_STRICT, &e);
    TEST_CHECK(allowed != NULL);
    TEST_CHECK(json_parse(more, strlen(more), JSON_REQUEST, &e) == NULL && e.code == -E2BIG);
    TEST_CHECK(strstr(e.msg, "more than 50000 values") != NULL);
}

static void no_memory_at_any_point_is_an_error_and_no_leak(void)
{
    static const char text[] = "{\"a\":[1,\"x\",{\"b\":\"\\u0000\"}],\"c\":"
                               "1111111111111111111111111111111111111111111111111111111111111111}";
    struct err e = ERR_NONE;
    struct json *j = NULL;
    long n = 1;
    for (; !j; n++) {
        TEST_ASSERT(n < 100);
        try_realloc_fail_at(n);
        j = json_parse_copy(text, sizeof text - 1, JSON_STRICT, &e);
        TEST_CHECK(j || e.code == -ENOMEM);
    }
    TEST_CHECK(n > 8);
    for (n = 1, e.code = 0;; n++) {
        try_realloc_fail_at(n);
        drop_str char *printed = json_print(j);
        if (printed)
            break;
    }
    TEST_CHECK(n > 1);
    try_realloc_fail_at(0);
    (void)json_free(j);
}

static void printing_gives_json_that_reads_the_same(void)
{
    static const char *const cases[] = {
        "{\"a\":[1,2.5,-3e+100,\"x\\n\\\"\\\\\",true,false,null,{},[]]}",
        "\"\\u0000a\\u0000\\u0000\u00e9\U0001f600\"",
        "{\"\\u0000\":{\"\\u0000\":\"\\u0000\"}}",
        "0.1",
        "123456789012345",
        "\"\"",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE(cases[i]);
        drop_json struct json *j = parse(cases[i], strlen(cases[i]), JSON_STRICT, NULL);
        drop_str char *printed = json_print(j);
        TEST_CHECK_(printed && strcmp(printed, cases[i]) == 0, "%s", printed ? printed : "(null)");
        TEST_CHECK(printed && utf8_valid(printed, strlen(printed)));
    }
}

static void the_copy_leaves_the_text_alone(void)
{
    const char *text = "\"\\u0000\\ud800\"";
    drop_json struct json *j = json_parse_copy(text, strlen(text), JSON_STRICT, NULL);
    TEST_CHECK(strcmp(json_text(j), "\xC0\x80\xEF\xBF\xBD") == 0);
    TEST_CHECK(strcmp(text, "\"\\u0000\\ud800\"") == 0);
}

TEST_LIST = {
    {"every kind of value is read", every_kind_of_value_is_read},
    {"getters take nothing and the wrong kind", getters_take_nothing_and_the_wrong_kind},
    {"a missing string is named", a_missing_string_is_named},
    {"of equal names the last counts", of_equal_names_the_last_counts},
    {"strings arrive whole", strings_arrive_whole},
    {"each byte arrives at each place", each_byte_arrives_at_each_place},
    {"a name with NUL is found by its inner form", a_name_with_nul_is_found_by_its_inner_form},
    {"what is not JSON is refused", what_is_not_json_is_refused},
    {"numbers are doubles of any length", numbers_are_doubles_of_any_length},
    {"nesting is allowed to 128 levels", nesting_is_allowed_to_128_levels},
    {"a bomb of brackets is refused before it costs anything",
     a_bomb_of_brackets_is_refused_before_it_costs_anything},
    {"a request has fewer values than others", a_request_has_fewer_values_than_others},
    {"no memory at any point is an error and no leak",
     no_memory_at_any_point_is_an_error_and_no_leak},
    {"printing gives JSON that reads the same", printing_gives_json_that_reads_the_same},
    {"the copy leaves the text alone", the_copy_leaves_the_text_alone},
    {NULL, NULL},
};
