/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <stdio.h>
#include <string.h>

#include "output/screen.h"

static void on_out(void *ctx, const char *text, size_t n)
{
    (void)buf_add(ctx, text, n);
}

static void check_pieces(const char *text, const char *expected, size_t piece)
{
    drop_buf struct buf shown = BUF_INIT(1 << 20);
    struct screen s;
    screen_init(&s, on_out, &shown);
    size_t n = strlen(text);
    for (size_t i = 0; i < n;) {
        size_t part = piece < n - i ? piece : n - i;
        while (i + part < n && ((unsigned char)text[i + part] & 0xC0) == 0x80)
            part++;
        screen_write(&s, text + i, part);
        i += part;
    }
    screen_flush(&s);
    TEST_CHECK(strcmp(buf_text(&shown), expected) == 0);
    TEST_MSG("in pieces of %zu: %s", piece, buf_text(&shown));
    TEST_MSG("expected %s", expected);
    screen_done(&s);
}

static const struct {
    const char *text, *expected;
} cases[] = {
    {"plain\ntext\n", "plain\ntext\n"},
    {"", ""},
    {"a\r\nb\r\n", "a\nb\n"},
    {"10%\r20%\r100%\n", "100%\n"},
    {"long line\rshort\n", "shortline\n"},
    {"long line\r\033[Kshort\n", "short\n"},
    {"abc\b\bX", "aXc"},
    {"\b\b\rx", "x"},
    {"one\ntwo\n\033[1Aone\033[Kthree\n", "one\none"
                                          "three\n"},
    {"one\ntwo\033[Fthree\n", "three\ntwo"},
    {"a\nb\nc\033[2Ax\n", "ax\nb\nc"},
    {"x\033[5Cy", "x     y"},
    {"xyz\033[1Gq\033[2Gr", "qrz"},
    {"\033[31mred\033[0m plain", "red plain"},
    {"\033[1;38;5;9mbold\033[0m\033(B", "bold"},
    {"a \033]8;;https://x.y/z\033\\link\033]8;;\033\\ b", "a link b"},
    {"\033]8;;never ended\nmore", "\033]8;;never ended\nmore"},
    {"\033[32m50%\033[0m\r\033[32m99%\033[0m\n", "99%\n"},
    {"\xE2\x96\x88\xE2\x96\x88 1\r\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88 2\n",
     "\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88 2\n"},
    {"a\033[2Jb", "b"},
    {"abc\033[1Kd", "   d"},
    {"a\nb\nc\033[1A\033[Jx", "a\nbx"},
    {"\033[?25lhidden\033[?25h", "hidden"},
    {"\033]0;title\007x", "x"},
    {"\033=x", "\033=x"}, /* none that is known: text */
    {"end\033[", "end\033["},
    {"nul\xC0\x80\rN", "Nul\xC0\x80"},
    {"tab\there\rT", "Tab\there"},
};

static void texts_are_shown_as_a_terminal_shows_them_however_they_are_cut(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE_("case %zu", i);
        for (size_t piece = 1; piece < 8; piece++)
            check_pieces(cases[i].text, cases[i].expected, piece);
        check_pieces(cases[i].text, cases[i].expected, 1000);
    }
}

static void a_progress_bar_of_many_updates_is_one_line(void)
{
    drop_buf struct buf text = BUF_INIT(1 << 20);
    for (int i = 0; i <= 500; i++)
        (void)buf_addf(&text, "\r%3d%%|%*s| %d/500", i / 5, 10, "", i);
    (void)buf_adds(&text, "\ndone\n");
    check_pieces(buf_text(&text), "100%|          | 500/500\ndone\n", 37);
}

static void lines_beyond_the_last_rows_cannot_be_changed_any_more(void)
{
    drop_buf struct buf text = BUF_INIT(1 << 20), expected = BUF_INIT(1 << 20);
    for (int i = 0; i < 100; i++)
        (void)buf_addf(&text, "%d\n", i);
    (void)buf_adds(&expected, buf_text(&text));
    (void)buf_adds(&text, "\033[500A");
    (void)buf_adds(&text, "top\n");
    drop_buf struct buf shown = BUF_INIT(1 << 20);
    struct screen s;
    screen_init(&s, on_out, &shown);
    screen_write(&s, buf_text(&text), text.len);
    screen_flush(&s);
    TEST_CHECK(strncmp(buf_text(&shown), "0\n1\n2\n", 6) == 0);
    TEST_CHECK(strstr(buf_text(&shown), "\ntop\n") != NULL);
    TEST_CHECK(shown.len == expected.len + 1); /* a two-digit number became "top" */
    screen_done(&s);
}

static void a_row_without_end_is_handed_out_whole(void)
{
    drop_buf struct buf shown = BUF_INIT(4 << 20);
    struct screen s;
    screen_init(&s, on_out, &shown);
    static char block[1000];
    memset(block, 'x', sizeof block);
    for (int i = 0; i < 1000; i++)
        screen_write(&s, block, sizeof block);
    screen_write(&s, "\rback", 5);
    screen_flush(&s);
    TEST_CHECK(shown.len >= 1000000 && shown.len <= 1000004);
    size_t memory = 0;
    for (int i = 0; i < SCREEN_ROWS; i++)
        memory += s.rows[i].size;
    TEST_CHECK(memory < 2 * SCREEN_ROW_MAX);
    screen_done(&s);
}

static void nothing_is_lost_of_a_coloured_line_without_end(void)
{
    drop_buf struct buf shown = BUF_INIT(4 << 20);
    struct screen s;
    screen_init(&s, on_out, &shown);
    for (int i = 0; i < 50000; i++)
        screen_write(&s, "\033[31mx", 6);
    screen_flush(&s);
    TEST_CHECK(shown.len == 50000);
    screen_done(&s);
}

static void a_flood_of_colours_leaves_the_text_alone(void)
{
    drop_buf struct buf shown = BUF_INIT(4 << 20);
    struct screen s;
    screen_init(&s, on_out, &shown);
    for (int i = 0; i < 1000; i++)
        screen_write(&s, "\033[31m", 5);
    screen_write(&s, "text", 4);
    screen_flush(&s);
    TEST_CHECK(strcmp(buf_text(&shown), "text") == 0);
    screen_done(&s);
}

static void what_was_cleared_is_not_shown(void)
{
    drop_buf struct buf shown = BUF_INIT(1000);
    struct screen s;
    screen_init(&s, on_out, &shown);
    screen_write(&s, "old\nline", 8);
    screen_clear(&s);
    screen_write(&s, "new", 3);
    screen_flush(&s);
    TEST_CHECK(strcmp(buf_text(&shown), "new") == 0);
    screen_done(&s);
}

#define T(name) {#name, name}

TEST_LIST = {
    T(texts_are_shown_as_a_terminal_shows_them_however_they_are_cut),
    T(a_progress_bar_of_many_updates_is_one_line),
    T(lines_beyond_the_last_rows_cannot_be_changed_any_more),
    T(a_row_without_end_is_handed_out_whole),
    T(nothing_is_lost_of_a_coloured_line_without_end),
    T(a_flood_of_colours_leaves_the_text_alone),
    T(what_was_cleared_is_not_shown),
    {NULL, NULL},
};
