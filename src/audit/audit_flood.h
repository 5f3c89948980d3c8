/* SPDX-License-Identifier: Apache-2.0
 *
 * audit/audit_flood.h - limits the audit records that code in cells can cause, for each session
 * (private to session/; docs/audit.md).
 * Bounded: calls of tools and their approvals, cells that a kernel tells of, logins that were
 *          refused. What clients do with a right token has a record each, however much it is.
 * Limits:  AUDIT_FLOOD_RECORDS and AUDIT_FLOOD_BYTES at once, then a few each second. Further
 *          records are counted by kind, server, tool and outcome; after AUDIT_FLOOD_GROUPS of these
 *          by kind and outcome alone. Nothing is lost from the numbers.
 * Memory:  AUDIT_FLOOD_SOURCES sources; more of them share one. */
#ifndef AUDIT_AUDIT_FLOOD_H
#define AUDIT_AUDIT_FLOOD_H

#include "audit/audit.h"

#define AUDIT_FLOOD_RECORDS 2000
#define AUDIT_FLOOD_RECORDS_PER_S 20
#define AUDIT_FLOOD_BYTES ((int64_t)1 << 20)
#define AUDIT_FLOOD_BYTES_PER_S ((int64_t)16 << 10)
#define AUDIT_FLOOD_TELL_MS 10000
#define AUDIT_FLOOD_SOURCES 128
#define AUDIT_FLOOD_GROUPS 12

struct audit_flood;
struct audit_flood *audit_flood_new(void);
struct audit_flood *audit_flood_free(struct audit_flood *flood); /* NULL in, NULL out */

/* True: the record, of n bytes, may be written. False: it is counted. */
bool audit_flood_pass(struct audit_flood *flood, const struct audit_event *event, size_t n,
                      int64_t now_ms);

/* The next count that is to be told, as an event that is borrowed until the next call; false: no
 * more. session: only of this one; NULL: of all. */
bool audit_flood_take(struct audit_flood *flood, const char *session, int64_t now_ms,
                      struct audit_event *ret);

#endif
