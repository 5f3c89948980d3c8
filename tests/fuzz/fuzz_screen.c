/* SPDX-License-Identifier: Apache-2.0
 *
 * The terminal of a cell's output. Fed in two pieces it shows what it shows of the whole; text
 * without control characters comes out as it went in. The first byte chooses the cut. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"
#include "output/screen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SHOWN_MAX = 64 << 20 };

static void on_out(void *ctx, const char *text, size_t n)
{
    (void)buf_add(ctx, text, n);
}

static void show(struct buf *shown, const char *text, size_t n, size_t cut)
{
    struct screen s;
    screen_init(&s, on_out, shown);
    screen_write(&s, text, cut);
    screen_write(&s, text + cut, n - cut);
    screen_flush(&s);
    screen_done(&s);
}

static bool is_plain(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\r' || text[i] == '\b' || text[i] == '\033')
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const char *text = (const char *)data + 1;
    size_t n = size - 1, cut = n > 0 ? data[0] % n : 0;
    if (!utf8_valid(text, n))
        return 0;
    while (cut > 0 && ((unsigned char)text[cut] & 0xC0) == 0x80)
        cut--;
    drop_buf struct buf whole = BUF_INIT(SHOWN_MAX), pieces = BUF_INIT(SHOWN_MAX);
    show(&whole, text, n, 0);
    show(&pieces, text, n, cut);
    if (whole.len != pieces.len || memcmp(buf_text(&whole), buf_text(&pieces), whole.len) != 0)
        abort();
    if (is_plain(text, n) && (whole.len != n || memcmp(buf_text(&whole), text, n) != 0))
        abort();
    return 0;
}
