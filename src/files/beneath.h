/* SPDX-License-Identifier: Apache-2.0
 *
 * files/beneath.h - names below a folder that never lead out of it.
 * Why:     code in a kernel owns the same files and may swap any of them for a link at any moment.
 *          So a name is resolved by the kernel under RESOLVE_BENEATH (openat2(2)), or, where that
 *          call is absent or filtered, component by component with O_NOFOLLOW; and what is done
 *          afterwards is done to the descriptor that came out of it, never to the name again.
 * Links:   are followed as long as they stay below the root; absolute ones do not.
 * Special: a FIFO, a device or a socket is never opened but with O_PATH.
 * Errors:  negative errno. -EXDEV: the name leaves the root. -ELOOP: a link where none may be, or
 *          too many of them. */
#ifndef FILES_BENEATH_H
#define FILES_BENEATH_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"

#define BENEATH_PATH_MAX 4096 /* bytes with the final 0 */
#define BENEATH_NAME_MAX 255
#define BENEATH_LINKS_MAX 40

struct beneath {
    int root;  /* owned */
    bool walk; /* without openat2(2) */
};

#define BENEATH_NONE (struct beneath){.root = -1}

MUST_CHECK int beneath_open(const char *folder, struct beneath *ret, struct err *e);
/* The same for an open folder, which is taken over. */
struct beneath beneath_of(int folder);
void beneath_close(struct beneath *b);

/* Copies `path` without a final slash. "" is the root itself. -EINVAL: it begins with a slash or
 * has a component that is empty, "." or ".."; -ENAMETOOLONG. */
MUST_CHECK int beneath_clean(const char *path, char ret[BENEATH_PATH_MAX]);

enum beneath_links { BENEATH_FOLLOW, BENEATH_NO_LINKS };

/* All of these take a clean path. O_CLOEXEC, O_NOCTTY and O_NONBLOCK are always added. Without
 * O_PATH in flags: only regular files and folders; anything else is -ENXIO. O_CREAT is not for
 * here: new files are made by newfile.h, folders by spot.h. */
MUST_CHECK int beneath_at(const struct beneath *b, const char *path, int flags,
                          enum beneath_links links);

#define BENEATH_REAL_MAX (PATH_MAX + BENEATH_PATH_MAX)

/* Where what is open really is, absolute. false: that has no name. */
bool beneath_real_of(int fd, char ret[PATH_MAX]);

#endif
