/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/client/merge.h - the parts of a generated module: what was generated, then a line with its
 * digest, then what users have added.
 * Same:    a module whose line has the digest of what would be generated now stays as it is.
 * Else:    the generated part is new, and what stands below the line is kept. Of a module without
 *          the line (of the Python ipybox) that is what stands below its run() and arun().
 * Trust:   text of a server cannot make that line: it stands in docstrings, indented.
 * Pure:    text in, text out. */
#ifndef TOOLS_CLIENT_MERGE_H
#define TOOLS_CLIENT_MERGE_H

#include <stdbool.h>

struct merged {
    char *text;  /* the caller's; NULL: the old one is the same */
    bool added;  /* a part of the users' is in it */
    bool edited; /* the generated part was changed, or cannot be told from the users' */
};

/* old: NULL when there is none. */
void merge_module(const char *fresh, const char *old, struct merged *ret);

/* The module of a tool that is gone; *ret_added: with a part of the users'. False: a user's own. */
bool merge_is_generated(const char *old, bool *ret_added);

#endif
