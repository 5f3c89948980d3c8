/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/holdings.h - what the processes below this one hold by descriptors alone: memory that
 * nobody need have mapped, and files on a disk that have no name any more. Each counts once,
 * however many descriptors there are.
 * Sees:    memfds, what is open in /dev/shm, and every file that is open and was removed.
 * Not:     what is on its way through a Unix socket, or mapped and no longer open.
 * Caller:  as for proctree.h.
 * Cost:    one readlink(2) for each open descriptor; 32 bytes for each file that counts, at most
 *          HOLDINGS_MAX of them: more count each time that they are met. */
#ifndef SANDBOX_HOLDINGS_H
#define SANDBOX_HOLDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HOLDINGS_MAX (1 << 20)

struct holding { /* a file */
    dev_t dev;
    ino_t ino; /* 0: an empty place */
};

struct holdings {
    uint64_t memory, unnamed; /* bytes in memory; on disks, of files without a name */
    bool unseen;              /* a process did not let itself be looked at */
    struct holding *table;    /* those in memory and those without a name */
    size_t size, count;       /* of the table; a power of two */
};

#define HOLDINGS_NONE ((struct holdings){0})
void holdings_take(struct holdings *ret);
void holdings_done(struct holdings *holdings);
bool holdings_has(const struct holdings *holdings, dev_t dev, ino_t ino);

#define drop_holdings __attribute__((cleanup(holdings_done)))

#endif
