/* SPDX-License-Identifier: Apache-2.0
 *
 * output/traceback.h - the exception that ended a cell, as text for its reader. */
#ifndef OUTPUT_TRACEBACK_H
#define OUTPUT_TRACEBACK_H

#include "base/buf.h"
#include "base/json/json.h"

struct cell_failure {
    char *ename, *evalue; /* NULL: nothing was raised */
    struct buf traceback; /* its entries, a line break between two */
};

void failure_init(struct cell_failure *f, size_t traceback_max);
void failure_done(struct cell_failure *f);
void failure_clear(struct cell_failure *f);

/* Takes ename, evalue and traceback out of an error message or an error reply. Terminal escapes
 * are dropped, and the calls that IPython makes of `!command` and `%%magic` are written as the
 * user wrote them. */
void failure_set(struct cell_failure *f, const struct json *content);

#endif
