/* SPDX-License-Identifier: Apache-2.0
 *
 * files/tree.h - everything below a folder, one thing at a time, and the end of it.
 * Safety:  each folder is entered by its name in the one above, never through a link, and stays
 *          open while it is read: what others move about meanwhile leads nowhere else.
 * Limits:  TREE_DEPTH_MAX folders are open at once; tree_delete() deletes deeper trees, too. */
#ifndef FILES_TREE_H
#define FILES_TREE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"

#define TREE_DEPTH_MAX 100
#define TREE_DELETE_STEP 256

struct tree_entry {   /* lent until the next call */
    int dir;          /* where it is */
    const char *name; /* in there */
    const char *path; /* from the top */
    struct stat st;   /* of itself, should it be a link */
    bool leaving;     /* a folder that was entered is over */
};

struct tree;
struct spot_rules; /* spot.h */
/* folder: opened for reading; taken over, also on failure. */
MUST_CHECK int tree_open(int folder, struct tree **ret);
/* Asked of each folder that is to be entered, and of all that tree_delete() deletes; borrowed. */
void tree_judge(struct tree *t, const struct spot_rules *rules);
struct tree *tree_close(struct tree *t); /* NULL in, NULL out */

/* 1: *ret is there; 0: it is over; or a negative errno. What has vanished meanwhile is left out. */
MUST_CHECK int tree_next(struct tree *t, struct tree_entry *ret);

/* Goes on in the folder that was returned last. -E2BIG: too deep; SPOT_REFUSED. */
MUST_CHECK int tree_enter(struct tree *t);

/* Deletes what is below, at most TREE_DELETE_STEP things. 1: nothing is left; 0: call it again; or
 * a negative errno and the path of what could not be deleted, until the next call. */
MUST_CHECK int tree_delete(struct tree *t, const char **ret_path);

#endif
