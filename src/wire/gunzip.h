/* SPDX-License-Identifier: Apache-2.0
 *
 * wire/gunzip.h - a body in gzip (RFC 1952) as it comes, in pieces of any size, without I/O.
 * Memory:  some 50 KiB, however much it inflates to: what is read is handed on in pieces.
 * Limits:  `most` bytes inflated, of all members together.
 * Errors:  -EBADMSG: no gzip, or broken; -EMSGSIZE: it inflates to more than `most`. */
#ifndef WIRE_GUNZIP_H
#define WIRE_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Bytes that were inflated. 0, or a negative errno that ends the reading. */
typedef int (*gunzip_fn)(void *ctx, const char *bytes, size_t n);

struct gunzip;
struct gunzip *gunzip_open(uint64_t most, gunzip_fn fn, void *ctx);
struct gunzip *gunzip_close(struct gunzip *g); /* NULL in, NULL out */

MUST_CHECK int gunzip_feed(struct gunzip *g, const char *bytes, size_t n);
/* The bytes are over. -EBADMSG: before the end. */
MUST_CHECK int gunzip_end(const struct gunzip *g);
/* Not so: an error was its own, and not that of the one who took the bytes. */
bool gunzip_is_good(const struct gunzip *g);

#endif
