/* SPDX-License-Identifier: Apache-2.0 */
#include "base/secret.h"

#include <stddef.h>
#include <string.h>

bool secret_equal(const char *secret, const char *given)
{
    if (!secret || !given)
        return false;
    size_t n = strlen(secret), m = strlen(given);
    volatile unsigned char differs = n != m;
    for (size_t i = 0; i < m; i++)
        differs |= (unsigned char)(given[i] ^ secret[n > 0 ? i % n : 0]);
    return !differs;
}
