/* SPDX-License-Identifier: Apache-2.0
 *
 * wire/traceparent.h - where in a distributed trace a piece of work belongs: the fields traceparent
 * and tracestate.
 * Trust:   both come from peers. A malformed field is treated as absent.
 * Versions: 00 is written. Of a later one the fields of 00 are read, as the specification has it.
 * Limits:  a tracestate over TRACESTATE_MAX bytes, or of more than 32 members, is left out; the
 *          traceparent beside it stays.
 * Source:  W3C Trace Context, levels 1 and 2. */
#ifndef WIRE_TRACEPARENT_H
#define WIRE_TRACEPARENT_H

#include <stdbool.h>

#include "base/err.h"

#define TRACE_ID_HEX 32
#define TRACE_SPAN_HEX 16
#define TRACE_SPAN_BYTES 8
#define TRACEPARENT_LEN 55
#define TRACESTATE_MAX 512

struct trace { /* all zero: none */
    char id[TRACE_ID_HEX + 1];
    char span[TRACE_SPAN_HEX + 1]; /* of who sent it */
    unsigned char flags;           /* those that are known: sampled (1), random id (2) */
    char state[TRACESTATE_MAX + 1];
};

/* state: may be NULL. -EINVAL: parent is none; *ret is untouched then. */
int trace_parse(const char *parent, const char *state, struct trace *ret);

bool trace_is_set(const struct trace *trace);

/* For the next hop, from the span of that id: TRACE_SPAN_HEX lower-case digits, not all 0. */
void trace_write(const struct trace *trace, const char *span, char ret[TRACEPARENT_LEN + 1]);

#endif
