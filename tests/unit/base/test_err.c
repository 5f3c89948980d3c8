/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/err.h"
#include "base/text/utf8.h"

static void an_error_is_its_code_and_its_sentence(void)
{
    struct err e = ERR_NONE;
    TEST_CHECK(err_set(&e, -ENOENT, "open %s", "x") == -ENOENT);
    TEST_CHECK(e.code == -ENOENT);
    TEST_CHECK(strcmp(e.msg, "open x") == 0);
}

static void wrapping_puts_context_before_and_keeps_the_code(void)
{
    struct err e = ERR_NONE;
    (void)err_set(&e, -ENOENT, "open x");
    TEST_CHECK(err_wrap(&e, "sandbox %d", 7) == -ENOENT);
    TEST_CHECK(strcmp(e.msg, "sandbox 7: open x") == 0);
}

static void the_message_itself_may_be_an_argument(void)
{
    struct err e = ERR_NONE;
    (void)err_set(&e, -EIO, "abc");
    (void)err_set(&e, -EPERM, "<%s>", e.msg);
    TEST_CHECK(strcmp(e.msg, "<abc>") == 0);
    TEST_CHECK(e.code == -EPERM);
}

static void without_a_place_for_it_only_the_code_is_kept(void)
{
    TEST_CHECK(err_set(NULL, -EIO, "x") == -EIO);
    TEST_CHECK(err_wrap(NULL, "x") == -EINVAL);
}

/* Every length around the cut, so that it falls on every byte of the last character. */
static void a_long_message_is_cut_between_characters(void)
{
    static const char *const characters[] = {"a", "\u00e9", "\u20ac", "\U0001f600"};
    for (size_t c = 0; c < 4; c++) {
        for (size_t pad = 0; pad < 5; pad++) {
            char text[700] = "xxxx";
            text[pad < 4 ? pad : 4] = '\0';
            for (size_t n = strlen(text); n < 600; n = strlen(text))
                strcat(text, characters[c]);
            struct err e = ERR_NONE;
            (void)err_set(&e, -EIO, "%s", text);
            size_t n = strlen(e.msg);
            TEST_CASE_("width %zu, moved by %zu", strlen(characters[c]), pad);
            TEST_CHECK(utf8_valid(e.msg, n));
            TEST_CHECK(n >= sizeof e.msg - strlen(characters[c]) && n < sizeof e.msg);
            TEST_CHECK(strncmp(text, e.msg, n) == 0);
            (void)err_wrap(&e, "%s", text);
            TEST_CHECK(utf8_valid(e.msg, strlen(e.msg)));
        }
    }
}

static void of_long_words_the_end_is_kept(void)
{
    char words[1000];
    struct err e = ERR_NONE;
    TEST_CHECK(err_set_words(&e, -EIO, "it wrote: ", "all of it\n\n") == -EIO);
    TEST_CHECK(strcmp(e.msg, "it wrote: all of it") == 0);
    memset(words, 'x', sizeof words);
    memcpy(words + sizeof words - sizeof "end", "end", sizeof "end");
    (void)err_set_words(&e, -EIO, "it wrote: ", words);
    TEST_CHECK(strncmp(e.msg, "it wrote: …xx", strlen("it wrote: …xx")) == 0);
    TEST_CHECK(strlen(e.msg) == sizeof e.msg - 1 && strstr(e.msg, "xend"));
    words[700] = '\n';
    (void)err_set_words(&e, -EIO, "it wrote: ", words);
    TEST_CHECK(strlen(e.msg) == strlen("it wrote: …") + sizeof words - 1 - 701);
    for (size_t i = 0; i + 4 < sizeof words; i += 2)
        memcpy(words + i, "ä", 2);
    (void)err_set_words(&e, -EIO, "", words);
    TEST_CHECK(strncmp(e.msg, "…ä", strlen("…ä")) == 0 && strlen(e.msg) >= sizeof e.msg - 2);
}

TEST_LIST = {
    {"an error is its code and its sentence", an_error_is_its_code_and_its_sentence},
    {"wrapping puts context before and keeps the code",
     wrapping_puts_context_before_and_keeps_the_code},
    {"the message itself may be an argument", the_message_itself_may_be_an_argument},
    {"without a place for it only the code is kept", without_a_place_for_it_only_the_code_is_kept},
    {"a long message is cut between characters", a_long_message_is_cut_between_characters},
    {"of long words the end is kept", of_long_words_the_end_is_kept},
    {NULL, NULL},
};
