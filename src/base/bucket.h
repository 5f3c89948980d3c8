/* SPDX-License-Identifier: Apache-2.0
 *
 * base/bucket.h - a token bucket: `burst` at once, `per_s` more each second.
 * Owner:   embedded in its owner, all zero at first: full. Nothing is allocated. */
#ifndef BASE_BUCKET_H
#define BASE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket_rate {
    int64_t per_s, burst;
};

struct bucket {
    int64_t used;  /* thousandths, 0: full */
    int64_t at_ms; /* of the last look */
};

/* True: n were there and are taken. False: nothing is. */
bool bucket_take(struct bucket *b, const struct bucket_rate *rate, int64_t now_ms, int64_t n);

#endif
