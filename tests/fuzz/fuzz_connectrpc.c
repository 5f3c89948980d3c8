/* SPDX-License-Identifier: Apache-2.0
 *
 * Envelopes of Connect. In however many pieces the bytes come, they say the same; no message is
 * larger than the limit; and what was read is written as it came. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "wire/connectrpc.h"

enum { MESSAGE_MAX = 300, SAID_MAX = 1 << 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Returns how the reading ended; the frames are written again. */
static int read_frames(const char *bytes, size_t n, size_t step, struct buf *said)
{
    struct connect_reader c = CONNECT_READER(MESSAGE_MAX);
    struct connect_frame frame;
    int r = 0;
    for (size_t at = 0; at < n && r >= 0; at += step) {
        const char *piece = bytes + at;
        size_t left = n - at < step ? n - at : step, begin;
        while ((r = connect_next(&c, &piece, &left, &frame)) > 0) {
            must(frame.n <= MESSAGE_MAX && (frame.n == 0 || frame.data[frame.n] == '\0'));
            connect_begin(said, &begin);
            (void)buf_add(said, frame.data, frame.n);
            connect_finish(said, begin, frame.last ? CONNECT_LAST : 0);
        }
        must(r < 0 || left == 0);
    }
    r = r < 0 ? r : connect_end(&c);
    connect_done(&c);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *bytes = (const char *)data + 1;
    struct buf whole = BUF_INIT(SAID_MAX), pieces = BUF_INIT(SAID_MAX);
    int r = read_frames(bytes, size - 1, size, &whole);
    must(read_frames(bytes, size - 1, data[0] % 16U + 1, &pieces) == r);
    must(whole.len == pieces.len && whole.len <= size - 1);
    must(whole.len == 0 || (memcmp(whole.data, pieces.data, whole.len) == 0 &&
                            memcmp(whole.data, bytes, whole.len) == 0));
    must(r < 0 || whole.len == size - 1);
    buf_done(&whole);
    buf_done(&pieces);
    return 0;
}
