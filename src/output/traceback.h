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
    char *file;           /* after failure_fit(): has the whole of it; NULL: nothing is left out */
};

void failure_init(struct cell_failure *f, size_t traceback_max);
void failure_done(struct cell_failure *f);
void failure_clear(struct cell_failure *f);

/* Takes ename, evalue and traceback out of an error message or an error reply. Terminal escapes
 * are dropped, and the calls that IPython makes of `!command` and `%%magic` are written as the
 * user wrote them. */
void failure_set(struct cell_failure *f, const struct json *content);

/* How many characters an answer with it has. */
size_t failure_chars(const struct cell_failure *f);

/* Cuts it to max_chars. What is left out, here or in the kernel (`whole`; NULL: nothing there), is
 * in a file in the workspace, if one can be made. */
void failure_fit(struct cell_failure *f, const char *whole, const char *workspace,
                 size_t max_chars);

#endif
