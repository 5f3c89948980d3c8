/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <stdbool.h>

#include "base/text/bytes8.h"

static void check_word(const unsigned char text[static 8])
{
    const uint64_t word = bytes8_load((const char *)text);
    bool below = false, high = false, quote = false, escape = false;
    for (int i = 0; i < 8; i++) {
        below |= text[i] < 0x20;
        high |= text[i] >= 0x80;
        quote |= text[i] == '"';
        escape |= text[i] == '\033';
    }
    TEST_CHECK((bytes8_below(word, 0x20) != 0) == below);
    TEST_CHECK((bytes8_not_ascii(word) != 0) == high);
    TEST_CHECK((bytes8_equal(word, '"') != 0) == quote);
    TEST_CHECK((bytes8_equal(word, '\033') != 0) == escape);
}

/* Among neighbours from which something might be borrowed or carried over. */
static void each_byte_is_found_at_each_place(void)
{
    static const unsigned char neighbours[] = {0, 1, 0x1F, 0x20, '"', '#', 'x', 0x7F, 0x80, 0xFF};
    unsigned char text[8];
    for (size_t i = 0; i < sizeof neighbours; i++)
        for (unsigned place = 0; place < 8; place++)
            for (unsigned byte = 0; byte < 256; byte++) {
                memset(text, neighbours[i], sizeof text);
                text[place] = (unsigned char)byte;
                check_word(text);
            }
}

TEST_LIST = {
    {"each_byte_is_found_at_each_place", each_byte_is_found_at_each_place},
    {NULL, NULL},
};
