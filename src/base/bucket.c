/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bucket.h"

enum { THOUSAND = 1000 };

bool bucket_take(struct bucket *b, const struct bucket_rate *rate, int64_t now_ms, int64_t n)
{
    int64_t passed = now_ms > b->at_ms ? now_ms - b->at_ms : 0;
    /* per second and per thousandth: a millisecond brings `per_s` thousandths */
    bool full = b->used == 0 || passed > b->used / rate->per_s;
    b->used = full ? 0 : b->used - passed * rate->per_s;
    b->at_ms = now_ms;
    if (n > rate->burst || b->used > (rate->burst - n) * THOUSAND)
        return false;
    b->used += n * THOUSAND;
    return true;
}
