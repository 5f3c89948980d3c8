/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "jupyter/loading.h"

static void check(const char *written, const char *path, const char *left)
{
    char got[LOADING_PATH_MAX + 1];
    drop_buf struct buf words = BUF_INIT(4096);
    TEST_ASSERT(buf_adds(&words, written) == 0);
    loading_take(&words, got);
    TEST_CHECK_(strcmp(got, path) == 0, "\"%s\", not \"%s\"", got, path);
    TEST_CHECK_(strcmp(buf_text(&words), left) == 0, "left \"%s\"", buf_text(&words));
}

static void the_last_note_names_the_file_and_none_is_left_among_the_words(void)
{
    check("", "", "");
    check("words\n", "", "words\n");
    check("\x1e/a.pth\n", "/a.pth", "");
    check("one\n\x1e/a.pth\ntwo\n\x1e/b.pth\nthree", "/b.pth", "one\ntwo\nthree");
    check("\x1e/a.pth\nit failed\n\x1e\n", "", "it failed\n");
    check("\x1e/cut", "/cut", "");
    check("\x1e", "", "");
    check("not \x1eone\n", "", "not \x1eone\n");
}

static void a_long_path_is_cut(void)
{
    char text[2 * LOADING_PATH_MAX], path[LOADING_PATH_MAX + 1];
    memset(text, 'x', sizeof text);
    text[0] = LOADING_NOTE;
    text[sizeof text - 1] = '\0';
    memset(path, 'x', sizeof path);
    path[LOADING_PATH_MAX] = '\0';
    check(text, path, "");
}

TEST_LIST = {
    {"the_last_note_names_the_file_and_none_is_left_among_the_words",
     the_last_note_names_the_file_and_none_is_left_among_the_words},
    {"a_long_path_is_cut", a_long_path_is_cut},
    {NULL, NULL},
};
