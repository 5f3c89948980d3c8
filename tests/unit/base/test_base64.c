/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "base/text/base64.h"

#define BYTES(literal) literal, sizeof(literal) - 1

static const struct {
    const char *bytes;
    size_t len;
    const char *text;
} pairs[] = {
    {BYTES(""), ""}, /* RFC 4648 section 10 */
    {BYTES("f"), "Zg=="},
    {BYTES("fo"), "Zm8="},
    {BYTES("foo"), "Zm9v"},
    {BYTES("foob"), "Zm9vYg=="},
    {BYTES("fooba"), "Zm9vYmE="},
    {BYTES("foobar"), "Zm9vYmFy"},
    {BYTES("\0\0\0"), "AAAA"},
    {BYTES("\xFF\xFF\xFF\xFF"), "/////w=="},
    {BYTES("\xFB\xEF\xBE\0"), "++++AA=="},
};

static void the_vectors_of_rfc_4648_hold_both_ways(void)
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        TEST_CASE_("\"%s\"", pairs[i].text);
        drop_buf struct buf text = BUF_INIT(100);
        drop_buf struct buf bytes = BUF_INIT(100);
        TEST_CHECK(base64_encode(&text, pairs[i].bytes, pairs[i].len) == 0);
        TEST_CHECK(strcmp(buf_text(&text), pairs[i].text) == 0);
        TEST_CHECK(base64_decode(&bytes, pairs[i].text, strlen(pairs[i].text)) == 0);
        TEST_CHECK(bytes.len == pairs[i].len);
        TEST_CHECK(memcmp(buf_text(&bytes), pairs[i].bytes, pairs[i].len + 1) == 0);
    }
}

static void every_byte_at_every_place_comes_back(void)
{
    for (int c = 0; c < 256; c++) {
        for (size_t len = 1; len <= 6; len++) {
            unsigned char in[6] = {1, 2, 3, 4, 5, 6};
            in[len - 1] = (unsigned char)c;
            drop_buf struct buf text = BUF_INIT(8);
            drop_buf struct buf bytes = BUF_INIT(6);
            TEST_CHECK(base64_encode(&text, in, len) == 0);
            TEST_CHECK(base64_decode(&bytes, text.data, text.len) == 0);
            TEST_CHECK_(bytes.len == len && memcmp(bytes.data, in, len) == 0, "%d", c);
        }
    }
}

static void white_space_is_skipped_anywhere(void)
{
    static const char text[] = " Zm\n9v\r\nYmFy\t\v\f\n";
    drop_buf struct buf bytes = BUF_INIT(6);
    TEST_CHECK(base64_decode(&bytes, text, sizeof text - 1) == 0);
    TEST_CHECK(strcmp(buf_text(&bytes), "foobar") == 0);
    buf_clear(&bytes);
    TEST_CHECK(base64_decode(&bytes, "Zg=\n=\n", 6) == 0 && strcmp(bytes.data, "f") == 0);
}

static void what_is_not_base64_is_refused_and_appends_nothing(void)
{
    static const struct {
        const char *text;
        size_t len;
    } cases[] = {
        {BYTES("Z")},      {BYTES("Zg")},           {BYTES("Zg=")},      {BYTES("Zm9")},
        {BYTES("=")},      {BYTES("====")},         {BYTES("Z===")},     {BYTES("Zg==Zg==")},
        {BYTES("Zg=a")},   {BYTES("Zm9v=")},        {BYTES("Zm9v====")}, {BYTES("Zm9-")},
        {BYTES("Zm9_")},   {BYTES("Zm9v\0")},       {BYTES("Zm\0v")},    {BYTES("Zm9\x80")},
        {BYTES("Zm9v!!")}, {BYTES("Zm9v\xC2\xA0")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE_("\"%s\"", cases[i].text);
        drop_buf struct buf bytes = BUF_INIT(100);
        (void)buf_adds(&bytes, "kept");
        TEST_CHECK(base64_decode(&bytes, cases[i].text, cases[i].len) == -EBADMSG);
        TEST_CHECK(strcmp(buf_text(&bytes), "kept") == 0 && bytes.failed == 0);
    }
}

static void the_cap_and_lack_of_memory_append_nothing(void)
{
    drop_buf struct buf bytes = BUF_INIT(5);
    TEST_CHECK(base64_decode(&bytes, "Zm9vYmE=", 8) == 0 && bytes.len == 5);
    buf_clear(&bytes);
    TEST_CHECK(base64_decode(&bytes, "Zm9vYmFy", 8) == -EMSGSIZE && bytes.len == 0);
    drop_buf struct buf text = BUF_INIT(7);
    TEST_CHECK(base64_encode(&text, "foob", 4) == -EMSGSIZE && text.len == 0);
    drop_buf struct buf none = BUF_INIT(100);
    try_realloc_fail_at(1);
    TEST_CHECK(base64_encode(&none, "foob", 4) == -ENOMEM && none.len == 0);
}

static void base64url_has_one_text_for_each_sequence_of_bytes(void)
{
    static const struct {
        const char *text, *bytes; /* NULL: refused */
    } cases[] = {
        {"", ""},           {"Zg", "f"},         {"Zm8", "fo"},        {"Zm9v", "foo"},
        {"Zm9vYg", "foob"}, {"_-8", "\xFF\xEF"}, {"Zg==", NULL},       {"Zh", NULL},
        {"Zm9", NULL},      {"Z", NULL},         {"Zm9vY", NULL},      {"/+8", NULL},
        {"Zm 9v", NULL},    {"Zm9v\n", NULL},    {"Z\xC3\xA4g", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE_("\"%s\"", cases[i].text);
        drop_buf struct buf bytes = BUF_INIT(100);
        int r = base64url_decode(&bytes, cases[i].text, strlen(cases[i].text));
        TEST_CHECK(r == (cases[i].bytes ? 0 : -EBADMSG));
        TEST_CHECK(strcmp(buf_text(&bytes), cases[i].bytes ? cases[i].bytes : "") == 0);
    }
}

TEST_LIST = {
    {"base64url_has_one_text_for_each_sequence_of_bytes",
     base64url_has_one_text_for_each_sequence_of_bytes},
    {"the vectors of RFC 4648 hold both ways", the_vectors_of_rfc_4648_hold_both_ways},
    {"every byte at every place comes back", every_byte_at_every_place_comes_back},
    {"white space is skipped anywhere", white_space_is_skipped_anywhere},
    {"what is not base64 is refused and appends nothing",
     what_is_not_base64_is_refused_and_appends_nothing},
    {"the cap and lack of memory append nothing", the_cap_and_lack_of_memory_append_nothing},
    {NULL, NULL},
};
