/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#include <stdlib.h>
#include <sys/random.h>

void random_hex(char *out, size_t bytes)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char raw[64];
    if (bytes > sizeof raw || getrandom(raw, bytes, 0) != (ssize_t)bytes)
        abort(); /* a predictable key would be worse than no server */
    for (size_t i = 0; i < bytes; i++) {
        out[2 * i] = digits[raw[i] >> 4];
        out[2 * i + 1] = digits[raw[i] & 15];
    }
    out[2 * bytes] = '\0';
}
