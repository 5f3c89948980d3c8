/* SPDX-License-Identifier: Apache-2.0
 *
 * Event streams. In however many pieces the bytes come, they say the same; and no event is larger
 * than the limit. The first byte is the size of the pieces. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "wire/sse.h"

enum { EVENT_MAX = 150, SAID_MAX = 1 << 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void read_stream(const char *bytes, size_t n, size_t step, struct buf *said)
{
    struct sse s = SSE_INIT(EVENT_MAX);
    int r = 0;
    for (size_t at = 0; at < n && r >= 0; at += step) {
        const char *piece = bytes + at;
        size_t left = n - at < step ? n - at : step;
        struct sse_event event;
        while ((r = sse_next(&s, &piece, &left, &event)) > 0) {
            must(event.n <= EVENT_MAX && event.data[event.n] == '\0' && !strpbrk(s.id, "\r\n"));
            (void)buf_addf(said, "%s %s %zu ", event.type, s.id, event.n);
            (void)buf_add(said, event.data, event.n);
        }
        must(r < 0 || left == 0);
    }
    (void)buf_addf(said, "%d %d", r, (int)s.retry_ms);
    sse_done(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct buf whole = BUF_INIT(SAID_MAX), pieces = BUF_INIT(SAID_MAX);
    read_stream((const char *)data + 1, size - 1, size, &whole);
    read_stream((const char *)data + 1, size - 1, data[0] % 16U + 1, &pieces);
    must(whole.len == pieces.len && memcmp(whole.data, pieces.data, whole.len) == 0);
    buf_done(&whole);
    buf_done(&pieces);
    return 0;
}
