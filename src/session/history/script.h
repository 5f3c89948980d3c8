/* SPDX-License-Identifier: Apache-2.0
 *
 * session/history/script.h - a cell's code as Python that a script may hold: what only IPython
 * reads (magics, !commands, ?help) becomes calls of get_ipython(), as nbconvert writes them.
 * Where:   at the beginning of a statement, or behind the `=` of one, outside of brackets, strings
 *          and continued lines. A cell that begins with %%magic is one call.
 * Not:     a judge of Python: what is wrong in the cell is as wrong in the script. */
#ifndef SESSION_HISTORY_SCRIPT_H
#define SESSION_HISTORY_SCRIPT_H

#include "base/buf.h"

void script_put_code(struct buf *out, const char *code, size_t n);

#endif
