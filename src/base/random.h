/* SPDX-License-Identifier: Apache-2.0
 *
 * base/random.h - unguessable names from the kernel's random source (getrandom(2)). */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>

/* Writes 2*bytes lower-case hex digits and a final 0 into `out` (2*bytes+1 long, bytes <= 64). */
void random_hex(char *out, size_t bytes);

#endif
