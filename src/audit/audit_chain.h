/* SPDX-License-Identifier: Apache-2.0
 *
 * audit/audit_chain.h - the lines of an audit log and how they hold together (docs/audit.md).
 * Line:    a JSON object {"seq":N,…,"prev":"<64 hex>","hash":"<64 hex>"} and a line feed. `hash`
 *          is the SHA-256 of the line's bytes before `,"hash":"`, `prev` the hash of the record
 *          before, 64 zeros in the first. So a line cannot be changed, taken out, put in or moved
 *          without another hash at the end.
 * Torn:    what a crash leaves of a line stays; the next start names its bytes and their SHA-256.
 * Memory:  none is kept between calls; lines over AUDIT_LINE_MAX are no records. */
#ifndef AUDIT_AUDIT_CHAIN_H
#define AUDIT_AUDIT_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hmac.h"

#define AUDIT_LINE_MAX ((size_t)16 << 10)
#define AUDIT_TORN_MAX (4 * AUDIT_LINE_MAX) /* of several starts that were torn, too */

struct audit_link { /* where a chain stands; all zero but the hash before the first record */
    uint64_t seq;
    char hash[HMAC_HEX + 1];
};
#define AUDIT_FIRST                                                                                \
    (struct audit_link){.hash = "0000000000000000000000000000000000000000000000000000000000000000"}

/* `line` holds an object without its last brace: adds what makes it a record, the line feed too,
 * and moves the link on. */
void audit_seal(struct buf *line, struct audit_link *link);

/* What a line says of itself. -EBADMSG: it is no record, or not the one that was written. */
struct audit_record {
    struct audit_link link;
    char prev[HMAC_HEX + 1];
    bool names_torn; /* it is a start behind a torn line */
    uint64_t torn_bytes;
    char torn_sha256[HMAC_HEX + 1];
};

struct audit_verdict {
    struct audit_link last;
    uint64_t lines;      /* that were looked at */
    uint64_t torn;       /* places where a start names a torn line */
    uint64_t torn_bytes; /* behind the last record: a crash, and no start since */
    bool known;          /* the hash that was asked for is that of a record … */
    uint64_t known_seq;  /* … which is this one */
};
/* The whole file from where it stands. `hash`: one that was kept elsewhere, or NULL. -EBADMSG: the
 * message names the first bad line; otherwise what read(2) says. */
MUST_CHECK int audit_verify(int fd, const char *hash, struct audit_verdict *ret, struct err *e);

/* The last record of a file and what stands behind it. tail[0..n): its last bytes, `whole` when
 * that is all of it. *ret_torn is a part of the tail. -EBADMSG: it cannot be gone on with. */
MUST_CHECK int audit_find_end(const char *tail, size_t n, bool whole, struct audit_link *ret,
                              const char **ret_torn, size_t *ret_torn_n, struct err *e);

#endif
