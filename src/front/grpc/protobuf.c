/* SPDX-License-Identifier: Apache-2.0 */
#include "front/grpc/protobuf.h"

enum { VARINT_MAX = 10, BITS = 7, TYPE_BITS = 3, FIXED64 = 8, FIXED32 = 4 };

static int break_reader(struct protobuf_reader *r)
{
    r->left = 1; /* the next call fails, too */
    r->at = "\xFF";
    return -EINVAL;
}

static int read_varint(struct protobuf_reader *r, uint64_t *ret)
{
    uint64_t value = 0;
    for (size_t i = 0; i < VARINT_MAX && i < r->left; i++) {
        unsigned char byte = (unsigned char)r->at[i];
        if (i == VARINT_MAX - 1 && byte > 1)
            return -EINVAL;
        value |= (uint64_t)(byte & 0x7F) << (BITS * i);
        if (byte & 0x80)
            continue;
        r->at += i + 1;
        r->left -= i + 1;
        *ret = value;
        return 0;
    }
    return -EINVAL;
}

static int take_bytes(struct protobuf_reader *r, uint64_t n, struct protobuf_field *ret)
{
    if (n > r->left)
        return -EINVAL;
    ret->data = r->at;
    ret->n = (size_t)n;
    r->at += n;
    r->left -= (size_t)n;
    return 0;
}

static int read_value(struct protobuf_reader *r, struct protobuf_field *ret)
{
    uint64_t n;
    switch ((int)ret->type) {
    case PROTOBUF_NUMBER:
        return read_varint(r, &ret->value);
    case PROTOBUF_FIXED64:
        return take_bytes(r, FIXED64, ret);
    case PROTOBUF_FIXED32:
        return take_bytes(r, FIXED32, ret);
    case PROTOBUF_BYTES:
        return read_varint(r, &n) < 0 ? -EINVAL : take_bytes(r, n, ret);
    default:
        return -EINVAL;
    }
}

int protobuf_next(struct protobuf_reader *r, struct protobuf_field *ret)
{
    struct protobuf_field field = {0};
    uint64_t tag;
    if (r->left == 0)
        return 0;
    if (read_varint(r, &tag) < 0 || tag > UINT32_MAX || tag >> TYPE_BITS == 0)
        return break_reader(r);
    field.number = (uint32_t)(tag >> TYPE_BITS);
    field.type = (enum protobuf_type)(tag & ((1 << TYPE_BITS) - 1));
    if (read_value(r, &field) < 0)
        return break_reader(r);
    *ret = field;
    return 1;
}

static void put_varint(struct buf *out, uint64_t value)
{
    for (; value > 0x7F; value >>= BITS)
        (void)buf_addc(out, (char)(0x80 | (value & 0x7F)));
    (void)buf_addc(out, (char)value);
}

void protobuf_put_number(struct buf *out, uint32_t number, uint64_t value)
{
    put_varint(out, (uint64_t)number << TYPE_BITS | PROTOBUF_NUMBER);
    put_varint(out, value);
}

void protobuf_put_bytes(struct buf *out, uint32_t number, const char *data, size_t n)
{
    put_varint(out, (uint64_t)number << TYPE_BITS | PROTOBUF_BYTES);
    put_varint(out, n);
    (void)buf_add(out, data, n);
}
