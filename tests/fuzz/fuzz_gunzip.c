/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies in gzip. In however many pieces the bytes come, they inflate to the same, and to no more
 * than the limit. The first byte is the size of the pieces. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "wire/gunzip.h"

enum { MOST = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static int on_bytes(void *ctx, const char *bytes, size_t n)
{
    must(n > 0);
    return buf_add(ctx, bytes, n);
}

static int inflate_all(const char *bytes, size_t n, size_t step, struct buf *out)
{
    struct gunzip *g = gunzip_open(MOST, on_bytes, out);
    int r = 0;
    for (size_t at = 0; at < n && r == 0; at += step)
        r = gunzip_feed(g, bytes + at, n - at < step ? n - at : step);
    r = r < 0 ? r : gunzip_end(g);
    (void)gunzip_close(g);
    must(out->len <= MOST);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct buf whole = BUF_INIT(MOST), pieces = BUF_INIT(MOST);
    const char *bytes = (const char *)data + 1;
    int r = inflate_all(bytes, size - 1, size, &whole);
    must(inflate_all(bytes, size - 1, data[0] % 16U + 1, &pieces) == r);
    must(r < 0 || whole.len == pieces.len);
    must(r < 0 || whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0);
    buf_done(&whole);
    buf_done(&pieces);
    return 0;
}
