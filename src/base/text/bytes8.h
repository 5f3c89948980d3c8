/* SPDX-License-Identifier: Apache-2.0
 *
 * base/text/bytes8.h - eight bytes of a text at a time, for loops that look for the few bytes that
 * matter in output that can be a gigabyte. Each test says whether any of the eight is such a byte
 * (not zero: yes), not which one. */
#ifndef BASE_TEXT_BYTES8_H
#define BASE_TEXT_BYTES8_H

#include <stdint.h>
#include <string.h>

#define BYTES8_EACH 0x0101010101010101U /* times a byte: it, eight times */
#define BYTES8_HIGH (0x80 * BYTES8_EACH)

static inline uint64_t bytes8_load(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint64_t bytes8_not_ascii(uint64_t word)
{
    return word & BYTES8_HIGH;
}

/* Below `n`, which is at most 0x80. */
static inline uint64_t bytes8_below(uint64_t word, unsigned char n)
{
    return (word - n * BYTES8_EACH) & ~word & BYTES8_HIGH;
}

static inline uint64_t bytes8_equal(uint64_t word, char c)
{
    return bytes8_below(word ^ (unsigned char)c * BYTES8_EACH, 1);
}

#endif
