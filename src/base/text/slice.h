/* SPDX-License-Identifier: Apache-2.0
 *
 * base/text/slice.h - bytes that belong to somebody else, with their length. */
#ifndef BASE_TEXT_SLICE_H
#define BASE_TEXT_SLICE_H

#include <stddef.h>

struct slice {
    char *data;
    size_t len;
};

#endif
