/* SPDX-License-Identifier: Apache-2.0
 *
 * What a connection begins with, at a port of two wires. The first byte is the length of the base
 * that comes before it. Bytes that come later change no answer. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "front/gateway/sorter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || data[0] >= size)
        return 0;
    drop_str char *base = xstrndup((const char *)data + 1, data[0]);
    const char *bytes = (const char *)data + 1 + data[0];
    size_t n = size - 1 - data[0];
    enum sorter_whose before = SORTER_UNCLEAR;
    for (size_t i = 0; i <= n && i <= SORTER_LINE_MAX + 1; i++) {
        char *part = xcalloc(1, i + 1);
        memcpy(part, bytes, i);
        enum sorter_whose whose = sorter_whose(part, i, base);
        xfree(part);
        if (before != SORTER_UNCLEAR && whose != before)
            abort();
        if (i >= SORTER_LINE_MAX && whose == SORTER_UNCLEAR)
            abort();
        before = whose;
    }
    return 0;
}
