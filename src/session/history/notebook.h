/* SPDX-License-Identifier: Apache-2.0
 *
 * session/history/notebook.h - a history as one document: a Jupyter notebook (nbformat 4.5), or a
 * Python script (script.h).
 * Gone:    where entries are no longer kept, a line of text stands that says how many.
 * Cost:    one pass over what is kept (history.h says how much that is), in memory. */
#ifndef SESSION_HISTORY_NOTEBOOK_H
#define SESSION_HISTORY_NOTEBOOK_H

#include "base/buf.h"
#include "session/history/history.h"

#define NOTEBOOK_MAX ((size_t)64 << 20)
#define NOTEBOOK_TYPE "application/x-ipynb+json"
#define NOTEBOOK_SCRIPT_TYPE "text/x-python; charset=utf-8"

/* session: its id, for the document's head. h: NULL gives an empty one. out->failed: it did not
 * fit. */
void notebook_put(struct buf *out, struct history *h, const char *session);
void notebook_put_script(struct buf *out, struct history *h, const char *session);

#endif
