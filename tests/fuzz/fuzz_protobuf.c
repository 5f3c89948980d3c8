/* SPDX-License-Identifier: Apache-2.0
 *
 * Fields of a message: they lie in it, one behind the other; a message that is broken stays so; and
 * what was read and is written again reads as the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "front/grpc/protobuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Numbers and bytes are written again; fixed ones as bytes. Returns how the reading ended. */
static int copy_fields(const char *from, size_t n, struct buf *to)
{
    struct protobuf_reader r = {from, n};
    struct protobuf_field f;
    size_t before = n;
    int found;
    while ((found = protobuf_next(&r, &f)) > 0) {
        must(f.number > 0 && r.left < before);
        before = r.left;
        if (f.type == PROTOBUF_NUMBER) {
            protobuf_put_number(to, f.number, f.value);
            continue;
        }
        must(f.data >= from && f.data + f.n <= from + n);
        must(f.type == PROTOBUF_BYTES || f.n == (f.type == PROTOBUF_FIXED64 ? 8 : 4));
        protobuf_put_bytes(to, f.number, f.data, f.n);
    }
    must(found == 0 || protobuf_next(&r, &f) == -EINVAL);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf once = BUF_INIT(2 * size + 64), twice = BUF_INIT(once.cap);
    (void)copy_fields((const char *)data, size, &once);
    must(once.failed == 0);
    must(copy_fields(buf_text(&once), once.len, &twice) == 0);
    must(once.len == twice.len && memcmp(buf_text(&once), buf_text(&twice), once.len) == 0);
    buf_done(&once);
    buf_done(&twice);
    return 0;
}
