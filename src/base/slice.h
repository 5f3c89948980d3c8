/* SPDX-License-Identifier: Apache-2.0
 *
 * base/slice.h - bytes that belong to somebody else, with their length. */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stddef.h>

struct slice {
    char *data;
    size_t len;
};

#endif
