/* SPDX-License-Identifier: Apache-2.0
 *
 * jupyter/loading.h - the user's file that a kernel was loading when it ended or got stuck.
 * Form:    notes among what it writes to standard error while it starts, each a line of its own
 *          behind LOADING_NOTE: a path, or nothing when all is loaded (ipybox_kernel/launch.py).
 * Trust:   a kernel writes them, and code of the user may: they are words for people. */
#ifndef JUPYTER_LOADING_H
#define JUPYTER_LOADING_H

#include "base/buf.h"

#define LOADING_NOTE '\x1e'
#define LOADING_PATH_MAX 250

/* Takes the notes out of the words. ret: the path in the last one, cut to LOADING_PATH_MAX bytes;
 * "": there is none. */
void loading_take(struct buf *words, char ret[LOADING_PATH_MAX + 1]);

#endif
