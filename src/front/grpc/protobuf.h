/* SPDX-License-Identifier: Apache-2.0
 *
 * front/grpc/protobuf.h - the wire format of protocol buffers (protobuf.dev, "Encoding"), field by
 * field, without I/O and without a schema: who reads knows the numbers.
 * Not:     groups, which proto3 does not have. */
#ifndef FRONT_GRPC_PROTOBUF_H
#define FRONT_GRPC_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum protobuf_type {
    PROTOBUF_NUMBER = 0, /* int32, uint32, bool, enum, … */
    PROTOBUF_FIXED64 = 1,
    PROTOBUF_BYTES = 2, /* bytes, string, a message, packed numbers */
    PROTOBUF_FIXED32 = 5,
};

struct protobuf_reader {
    const char *at;
    size_t left;
};

struct protobuf_field {
    uint32_t number;
    enum protobuf_type type;
    uint64_t value;   /* of a number */
    const char *data; /* of bytes, borrowed */
    size_t n;
};

/* 1: the next field; 0: there is none; -EINVAL: the message is broken, and so it stays. */
MUST_CHECK int protobuf_next(struct protobuf_reader *r, struct protobuf_field *ret);

/* A failure stays in `out`. */
void protobuf_put_number(struct buf *out, uint32_t number, uint64_t value);
void protobuf_put_bytes(struct buf *out, uint32_t number, const char *data, size_t n);

#endif
