/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/limits/diskuse.h - how much the directories hold that a process of this user can write
 * to.
 * Places:  every directory that the user may write or owns, with all that is below it, and single
 *          files that are mounted; found by walking the whole tree of directories once.
 * Counts:  blocks (holes are none), of a file with several names each name its part, and of every
 *          name DISKUSE_NAME_LEAST at least, so that many small files are seen.
 * Unseen:  what is below a directory that cannot be read, or DISKUSE_DEPTH_MAX deep; `filled` is
 *          the bound for that.
 * Thread:  any; blocks as long as the disks do. Some microseconds for each name. */
#ifndef SANDBOX_LIMITS_DISKUSE_H
#define SANDBOX_LIMITS_DISKUSE_H

#include <stddef.h>
#include <stdint.h>

#define DISKUSE_NAME_LEAST 4096
#define DISKUSE_DEPTH_MAX 100
#define DISKUSE_PLACES_MAX 64 /* more: the root directory, with everything below it */

struct diskuse {           /* in bytes */
    uint64_t disk, memory; /* of files on disks, and in file systems of memory */
    uint64_t filled;       /* of the disks on which the places are, by whomever */
    size_t unseen;         /* directories that were not looked into */
};

/* Lists of places end with NULL; the one that is returned is the caller's. */
char **diskuse_places(void);
char **diskuse_places_free(char **places); /* NULL in, NULL out */

void diskuse_take(const char *const *places, struct diskuse *ret);
uint64_t diskuse_filled(const char *const *places); /* some calls for each place */

#endif
