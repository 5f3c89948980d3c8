/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/limits/holdings.h - what the processes below this one hold by descriptors alone: memory
 * that nobody need have mapped, files on a disk that have no name any more, sockets and pipes. Each
 * counts once, however many descriptors there are.
 * Sees:    memfds, what is open in /dev/shm, every file that is open and was removed, sockets,
 *          pipes without a name, and how many descriptors are on their way through their sockets.
 * Not:     what these are, and what is mapped and no longer open: shared.h knows how much memory
 *          there is of it.
 * Caller:  as for proctree.h.
 * Cost:    one readlink(2) for each open descriptor; 32 bytes for each file that counts, at most
 *          HOLDINGS_MAX of them: more count each time that they are met. */
#ifndef SANDBOX_LIMITS_HOLDINGS_H
#define SANDBOX_LIMITS_HOLDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HOLDINGS_MAX (1 << 20)

struct holding { /* a file; of sockets and pipes the kind is in place of the device */
    dev_t dev;
    ino_t ino; /* 0: an empty place */
};

struct holding_set {
    struct holding *table;
    size_t size, count; /* the former a power of two */
};

struct holdings {
    uint64_t memory, unnamed; /* bytes in memory; on disks, of files without a name */
    bool unseen;              /* a process did not let itself be looked at */
    struct holding_set files; /* those in memory and those without a name */
    struct holding_set ends;  /* sockets, and pipes */
    size_t sockets, pipes;    /* how many of each */
    uint64_t in_flight;       /* descriptors on their way through them */
};

#define HOLDINGS_NONE ((struct holdings){0})
void holdings_take(struct holdings *ret);
void holdings_done(struct holdings *holdings);
bool holdings_has(const struct holdings *holdings, dev_t dev, ino_t ino);
bool holdings_has_socket(const struct holdings *holdings, uint64_t inode);
/* The same of the processes that are not below this one, as far as they can be looked at: only
 * their sockets and pipes are taken. */
void holdings_of_others(struct holdings *ret);

#define drop_holdings __attribute__((cleanup(holdings_done)))

#endif
