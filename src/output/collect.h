/* SPDX-License-Identifier: Apache-2.0
 *
 * output/collect.h - what a kernel's messages add to a cell's output. */
#ifndef OUTPUT_COLLECT_H
#define OUTPUT_COLLECT_H

#include <stdbool.h>

#include "output/output.h"
#include "wire/jupyter_msg.h"

/* A stream, result or display message of a cell; what it adds as text also goes to
 * `text` (may be NULL). Other messages add nothing. */
void collect(struct output *o, const struct jupyter_msg *m,
             void (*text)(void *ctx, const char *text, size_t n), void *ctx);

/* The payload of an execute_reply: pager text (`object?`) is output like any other. True: the code
 * called exit(). */
bool collect_payload(struct output *o, const struct json *reply);

#endif
