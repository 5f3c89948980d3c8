/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text/utf8.h"

#define BYTES(literal) literal, sizeof(literal) - 1

static void every_character_is_written_and_read_back(void)
{
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        if (c >= 0xD800 && c <= 0xDFFF)
            continue;
        char text[4];
        uint32_t back = 0;
        size_t n = utf8_put(text, c);
        if (utf8_char(text, n, &back) != n || back != c || utf8_char(text, n - 1, NULL) != 0)
            TEST_CHECK_(false, "U+%04X", (unsigned)c);
    }
}

static void what_rfc_3629_forbids_is_invalid(void)
{
    static const struct {
        const char *text;
        size_t len;
    } cases[] = {
        {BYTES("\x80")},
        {BYTES("\xBF")},
        {BYTES("\xC0\x80")},
        {BYTES("\xC1\xBF")},
        {BYTES("\xC2")},
        {BYTES("\xC2\x41")},
        {BYTES("\xE0\x80\x80")},
        {BYTES("\xE0\x9F\xBF")},
        {BYTES("\xED\xA0\x80")},
        {BYTES("\xED\xBF\xBF")},
        {BYTES("\xE2\x82")},
        {BYTES("\xF0\x8F\xBF\xBF")},
        {BYTES("\xF0\x80\x80\x80")},
        {BYTES("\xF4\x90\x80\x80")},
        {BYTES("\xF5\x80\x80\x80")},
        {BYTES("\xF8\x88\x80\x80\x80")},
        {BYTES("\xFF")},
        {BYTES("\xF0\x9F\x98")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE_("case %zu", i);
        TEST_CHECK(utf8_char(cases[i].text, cases[i].len, NULL) == 0);
        TEST_CHECK(!utf8_valid(cases[i].text, cases[i].len));
        TEST_CHECK(utf8_valid_prefix(cases[i].text, cases[i].len) == 0);
    }
    TEST_CHECK(utf8_char("", 0, NULL) == 0);
    TEST_CHECK(utf8_valid("", 0) && utf8_valid("a\0b", 3));
}

/* The fast path reads eight bytes at a time: put the bad byte at every place of several words. */
static void the_valid_prefix_ends_at_the_first_bad_byte(void)
{
    for (size_t len = 1; len < 40; len++) {
        for (size_t bad = 0; bad < len; bad++) {
            char text[40];
            memset(text, 'x', sizeof text);
            text[bad] = (char)0xFF;
            TEST_CHECK_(utf8_valid_prefix(text, len) == bad, "%zu of %zu", bad, len);
            if (bad + 2 <= len) {
                memcpy(text + bad, "\u00e9", 2);
                TEST_CHECK_(utf8_valid_prefix(text, len) == len, "%zu of %zu", bad, len);
                TEST_CHECK_(utf8_valid_prefix(text, bad + 1) == bad, "%zu of %zu", bad, len);
            }
        }
    }
}

static void characters_are_counted_also_in_the_c0_80_form(void)
{
    const char *text = "a\u00e9\u20ac\U0001f600\xC0\x80z";
    size_t n = strlen(text);
    static const size_t offsets[] = {0, 1, 3, 6, 10, 12, 13, 13};
    TEST_CHECK(utf8_count(text, n) == 6);
    TEST_CHECK(utf8_count("", 0) == 0);
    drop_buf struct buf many = BUF_INIT(1 << 16);
    for (size_t i = 1; i <= 40; i++) { /* at each place of a word */
        (void)buf_add(&many, "x", 1);
        (void)buf_add(&many, text, n);
        TEST_CHECK(utf8_count(buf_text(&many), many.len) == 7 * i);
    }
    for (size_t i = 0; i < 8; i++)
        TEST_CHECK_(utf8_offset(text, n, i) == offsets[i], "%zu", i);
    TEST_CHECK(utf8_offset(text, n, 1000) == n);
}

/* str.isspace() of every character, as Python 3.13 says: {c for c in range(0x110000) if ...} */
static void white_space_is_what_python_strips(void)
{
    static const uint32_t spaces[] = {
        0x9,    0xA,    0xB,    0xC,    0xD,    0x1C,   0x1D,   0x1E,   0x1F,   0x20,
        0x85,   0xA0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006,
        0x2007, 0x2008, 0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
    size_t next = 0;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        bool want = next < sizeof spaces / sizeof *spaces && spaces[next] == c;
        next += want;
        if (utf8_is_space(c) != want)
            TEST_CHECK_(false, "U+%04X", (unsigned)c);
    }
}

static void white_space_is_found_at_both_ends(void)
{
    static const struct {
        const char *text;
        size_t before, behind;
    } cases[] = {
        {"", 0, 0},
        {"x", 0, 0},
        {" \t\nx y\r\n", 3, 2},
        {"\u00a0\u2003x\u3000\x1c", 5, 4},
        {" \u2028 ", 5, 5},
        {"\xFF x \xFF", 0, 0},
        {"x \x80", 0, 0},
        {"x\xC0\x80 ", 0, 1},
        {"\x80 ", 0, 1},
        {"\xA0", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE_("case %zu", i);
        size_t n = strlen(cases[i].text);
        TEST_CHECK(utf8_space_prefix(cases[i].text, n) == cases[i].before);
        TEST_CHECK(utf8_space_suffix(cases[i].text, n) == cases[i].behind);
    }
}

TEST_LIST = {
    {"every character is written and read back", every_character_is_written_and_read_back},
    {"what RFC 3629 forbids is invalid", what_rfc_3629_forbids_is_invalid},
    {"the valid prefix ends at the first bad byte", the_valid_prefix_ends_at_the_first_bad_byte},
    {"characters are counted, also in the C0 80 form",
     characters_are_counted_also_in_the_c0_80_form},
    {"white space is what Python strips", white_space_is_what_python_strips},
    {"white space is found at both ends", white_space_is_found_at_both_ends},
    {NULL, NULL},
};
