/* SPDX-License-Identifier: Apache-2.0
 *
 * wire/tar.h - tar archives in pieces of any size, in and out, without I/O.
 * Reads:   ustar, pax and GNU names (long names and links, numbers in base 256), and what came
 *          before them. Not: sparse files, several volumes, compressed archives: these are errors
 *          that say so. What is a danger to a file system (absolute paths, "..", devices) is told
 *          as it is: the caller decides.
 * Writes:  ustar; pax where a name, a link or a size does not fit.
 * Memory:  of constant size, but for one pax header of at most TAR_PAX_MAX bytes.
 * Source:  POSIX.1-2024 pax, "ustar Interchange Format" and "pax Interchange Format"; GNU tar
 *          manual, "Basic Tar Format". */
#ifndef WIRE_TAR_H
#define WIRE_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define TAR_BLOCK 512
#define TAR_NAME_MAX 4096 /* of a path or a link's text, with its 0 */
#define TAR_PAX_MAX (256 << 10)

enum tar_type { TAR_FILE, TAR_FOLDER, TAR_SYMLINK, TAR_HARDLINK, TAR_FIFO, TAR_DEVICE };

struct tar_member {
    enum tar_type type;
    const char *path; /* as it is written there, without NUL */
    const char *link; /* of the two kinds of links, else "" */
    uint64_t size;    /* of what follows; 0 unless it is a file */
    unsigned mode;    /* 07777 */
    int64_t mtime;    /* seconds since 1970 */
};

struct tar_event {
    enum { TAR_MEMBER, TAR_BYTES, TAR_MEMBER_END, TAR_END } what;
    struct tar_member member; /* TAR_MEMBER; lent until the next call */
    const char *bytes;        /* TAR_BYTES; part of what was given */
    size_t n;
};

struct tar_reader {
    uint64_t members; /* begun so far */
    /* private */
    int state;
    char block[TAR_BLOCK];
    size_t have;
    uint64_t left, padding;
    struct buf extended; /* of a pax header or a long name that is being read */
    char extended_type;
    char path[TAR_NAME_MAX], link[TAR_NAME_MAX]; /* of the member that comes or is there */
    bool has_path, has_link, has_size, has_mtime;
    uint64_t size;
    int64_t mtime;
};

void tar_reader_init(struct tar_reader *t);
void tar_reader_done(struct tar_reader *t);

/* Takes bytes from *bytes, *n. 1: *ret is there. 0: all is taken. -EBADMSG: not an archive that can
 * be read, and nothing more can be asked of it; -ENOMEM. What comes behind TAR_END is ignored. */
MUST_CHECK int tar_next(struct tar_reader *t, const char **bytes, size_t *n, struct tar_event *ret,
                        struct err *e);

/* At the end of the bytes: -EBADMSG when the archive has not ended before. */
MUST_CHECK int tar_ended(const struct tar_reader *t, struct err *e);

/* Adds the blocks before a member's content. path and link are below TAR_NAME_MAX. */
void tar_put_member(struct buf *out, const struct tar_member *m);
void tar_put_padding(struct buf *out, uint64_t size); /* after a content of this size */
void tar_put_end(struct buf *out);

#endif
