/* SPDX-License-Identifier: Apache-2.0 */
#include "jupyter/loading.h"

#include <stdio.h>
#include <string.h>

void loading_take(struct buf *words, char ret[LOADING_PATH_MAX + 1])
{
    size_t kept = 0;
    ret[0] = '\0';
    for (size_t at = 0; at < words->len;) {
        const char *line = words->data + at, *end = memchr(line, '\n', words->len - at);
        const size_t n = end ? (size_t)(end - line) + 1 : words->len - at;
        if (*line == LOADING_NOTE) {
            (void)snprintf(ret, LOADING_PATH_MAX + 1, "%.*s", (int)(n - 1 - (end != NULL)),
                           line + 1);
        } else {
            memmove(words->data + kept, line, n);
            kept += n;
        }
        at += n;
    }
    if (kept < words->len)
        words->data[words->len = kept] = '\0';
}
