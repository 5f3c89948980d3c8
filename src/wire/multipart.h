/* SPDX-License-Identifier: Apache-2.0
 *
 * wire/multipart.h - a multipart/form-data body (RFC 7578) as it comes, in pieces of any size,
 * without I/O.
 * Memory:  of constant size: a part's content is handed on as it comes, never collected.
 * Limits:  MULTIPART_PARTS_MAX parts, MULTIPART_HEAD_MAX bytes of the header lines of one,
 *          MULTIPART_BOUNDARY_MAX of the boundary, MULTIPART_NAME_MAX of a name.
 * Names:   of a field and of a file as they are sent, quoted or not; %22, %0D and %0A of one that
 *          is quoted are put back, as browsers and SDKs escape these three. A file's name may be a
 *          path; it is the caller's to judge. One with a NUL is an error.
 * Errors:  -EBADMSG: no body of this form; -EMSGSIZE: over a limit. */
#ifndef WIRE_MULTIPART_H
#define WIRE_MULTIPART_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define MULTIPART_BOUNDARY_MAX 200
#define MULTIPART_HEAD_MAX (16 << 10)
#define MULTIPART_NAME_MAX 4096 /* bytes with the final 0 */
#define MULTIPART_PARTS_MAX 1000

struct multipart_events { /* each returns 0, or a negative errno that ends the reading */
    /* A part begins. filename: NULL when it has none. Both are lent for the call. */
    int (*begin)(void *ctx, const char *name, const char *filename);
    int (*content)(void *ctx, const char *bytes, size_t n);
    int (*end)(void *ctx); /* of this part */
};

struct multipart;

/* content_type: the whole header. -EINVAL: it has no boundary, or is of another type. */
MUST_CHECK int multipart_open(const char *content_type, const struct multipart_events *events,
                              void *ctx, struct multipart **ret);
struct multipart *multipart_close(struct multipart *m); /* NULL in, NULL out */

MUST_CHECK int multipart_feed(struct multipart *m, const char *bytes, size_t n);
/* The bytes are over. -EBADMSG: before the last boundary. */
MUST_CHECK int multipart_end(const struct multipart *m);

#endif
