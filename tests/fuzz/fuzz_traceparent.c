/* SPDX-License-Identifier: Apache-2.0
 *
 * traceparent, then after a line break tracestate. What is taken is in form and reads the same when
 * it was written again; what is refused leaves nothing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/traceparent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *cut = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t n = cut ? (size_t)(cut - data) : size;
    drop_str char *parent = xstrndup(size > 0 ? (const char *)data : "", n);
    drop_str char *state = cut ? xstrndup((const char *)cut + 1, size - n - 1) : NULL;
    struct trace trace = {0}, again = {0};
    char text[TRACEPARENT_LEN + 1];
    if (trace_parse(parent, state, &trace) < 0) {
        must(!trace_is_set(&trace) && trace.state[0] == '\0');
        return 0;
    }
    must(strlen(trace.id) == TRACE_ID_HEX && strlen(trace.span) == TRACE_SPAN_HEX);
    must(trace.flags <= 3 && strlen(trace.state) <= TRACESTATE_MAX &&
         !strpbrk(trace.state, "\r\n"));
    must(trace.state[0] == '\0' || strcmp(trace.state, state) == 0);
    trace_write(&trace, trace.span, text);
    must(trace_parse(text, trace.state, &again) == 0 && memcmp(&trace, &again, sizeof trace) == 0);
    return 0;
}
