/* SPDX-License-Identifier: Apache-2.0
 *
 * Base64. decode(encode(x)) is x; whatever decodes is encoded again to a text that decodes to the
 * same bytes, and nothing is appended on failure or past the cap. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/base64.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_there_and_back(const void *bytes, size_t n)
{
    struct buf text = BUF_INIT(n * 2 + 4);
    struct buf back = BUF_INIT(n);
    must(base64_encode(&text, bytes, n) == 0 && text.len == (n + 2) / 3 * 4);
    must(base64_decode(&back, text.data, text.len) == 0 && back.len == n);
    must(n == 0 || memcmp(back.data, bytes, n) == 0);
    buf_done(&text);
    buf_done(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_there_and_back(data, size);
    struct buf bytes = BUF_INIT(size);
    if (base64_decode(&bytes, (const char *)data, size) == 0) {
        must(bytes.len <= size / 4 * 3);
        check_there_and_back(bytes.data, bytes.len);
        struct buf less = BUF_INIT(bytes.len ? bytes.len - 1 : 0);
        int r = base64_decode(&less, (const char *)data, size);
        must(bytes.len == 0 || (r == -EMSGSIZE && less.len == 0));
        buf_done(&less);
    } else {
        must(bytes.len == 0);
    }
    buf_done(&bytes);
    return 0;
}
