/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/limits/unnamed_memory.h - what the processes below this one hold by descriptors alone:
 * memory that nobody need have mapped, files on a disk that have no name any more, sockets and
 * pipes. Each counts once, however many descriptors there are.
 * Sees:    memfds, what is open in /dev/shm, every file that is open and was removed, sockets,
 *          pipes without a name, and how many descriptors are on their way through their sockets.
 * Not:     what these are, and what is mapped and no longer open: shared.h knows how much memory
 *          there is of it.
 * Caller:  as for proctree.h.
 * Cost:    one readlink(2) for each open descriptor; 32 bytes for each file that counts, at most
 *          UNNAMED_MEMORY_MAX of them: more count each time that they are met. */
#ifndef SANDBOX_LIMITS_UNNAMED_MEMORY_H
#define SANDBOX_LIMITS_UNNAMED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define UNNAMED_MEMORY_MAX (1 << 20)

struct unnamed_block { /* a file; of sockets and pipes the kind is in place of the device */
    dev_t dev;
    ino_t ino; /* 0: an empty place */
};

struct unnamed_set {
    struct unnamed_block *table;
    size_t size, count; /* the former a power of two */
};

struct unnamed_memory {
    uint64_t memory, unnamed; /* bytes in memory; on disks, of files without a name */
    bool unseen;              /* a process did not let itself be looked at */
    struct unnamed_set files; /* those in memory and those without a name */
    struct unnamed_set ends;  /* sockets, and pipes */
    size_t sockets, pipes;    /* how many of each */
    uint64_t in_flight;       /* descriptors on their way through them */
};

#define UNNAMED_MEMORY_NONE ((struct unnamed_memory){0})
void unnamed_memory_take(struct unnamed_memory *ret);
void unnamed_memory_done(struct unnamed_memory *unnamed);
bool unnamed_memory_has(const struct unnamed_memory *unnamed, dev_t dev, ino_t ino);
bool unnamed_memory_has_socket(const struct unnamed_memory *unnamed, uint64_t inode);
/* The same of the processes that are not below this one, as far as they can be looked at: only
 * their sockets and pipes are taken. */
void unnamed_memory_of_others(struct unnamed_memory *ret);

#define drop_unnamed_memory __attribute__((cleanup(unnamed_memory_done)))

#endif
