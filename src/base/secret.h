/* SPDX-License-Identifier: Apache-2.0
 *
 * base/secret.h - comparing what must not be guessed byte by byte. */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stdbool.h>

/* The time depends on the length of `given` alone, not on where it differs. NULL equals nothing. */
bool secret_equal(const char *secret, const char *given);

#endif
