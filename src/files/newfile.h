/* SPDX-License-Identifier: Apache-2.0
 *
 * files/newfile.h - a file that is there whole, or not at all.
 * How:     written without a name (O_TMPFILE) in the folder where it will be, and linked there when
 *          it is complete; where the file system cannot do that, under a name of its own that
 *          newfile_is_temporary() tells. In the first case the server's death leaves nothing.
 * Blocks:  for as long as the disk takes for NEWFILE_WINDOW bytes: what is written is on its way
 *          to the disk before more is, so the final fsync(2) has little left to do.
 * Errors:  negative errno; -ENOSPC, -EDQUOT and -EFBIG: there is no room. */
#ifndef FILES_NEWFILE_H
#define FILES_NEWFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define NEWFILE_WINDOW (2 << 20)
#define NEWFILE_TEMP_MAX 32

struct newfile { /* NEWFILE_NONE: none */
    int dir, fd; /* owned */
    uint64_t size;
    char temp[NEWFILE_TEMP_MAX]; /* "": it has no name */
};
#define NEWFILE_NONE (struct newfile){.dir = -1, .fd = -1}

enum newfile_how {
    NEWFILE_REPLACE, /* whatever has the name but a folder */
    NEWFILE_NEW      /* -EEXIST when there is anything */
};

/* dir: borrowed. mode: less the umask. named: do without O_TMPFILE. */
MUST_CHECK int newfile_open(int dir, mode_t mode, bool named, struct newfile *ret);
MUST_CHECK int newfile_write(struct newfile *f, const char *bytes, size_t n);
/* The bytes are on the disk. */
MUST_CHECK int newfile_sync(const struct newfile *f);
/* sync: the name, too; behind newfile_sync() the file outlasts a loss of power. Afterwards f is as
 * NEWFILE_NONE, also on failure. */
MUST_CHECK int newfile_commit(struct newfile *f, const char *name, enum newfile_how how, bool sync);
void newfile_drop(struct newfile *f); /* nothing stays of it */

bool newfile_is_temporary(const char *name);

/* A link: the same rule. hard: to what is open, which must be a regular file; -ENXIO. */
MUST_CHECK int newfile_symlink(int dir, const char *name, const char *target);
MUST_CHECK int newfile_hardlink(int dir, const char *name, int file);

/* rename(2) that overwrites nothing, also on a file system that has no such call. */
MUST_CHECK int rename_to_new(int dir, const char *name, int to_dir, const char *to_name);

#endif
