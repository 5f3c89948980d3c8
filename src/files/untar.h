/* SPDX-License-Identifier: Apache-2.0
 *
 * files/untar.h - the members of an archive become files below a folder, as the bytes come.
 * Takes:   files, folders, symbolic links that stay in the folder, hard links to files in it. The
 *          rest is an error, as is a path that is absolute or has "..", and one that leads through
 *          a symbolic link.
 * Loses:   nothing: a member takes the place of a file or a link of its own name, never of a
 *          folder, and files are there whole or not at all. What came before an error stays.
 * Keeps:   the permissions less the umask and without set-id bits; a folder's owner can always
 *          write into it. Times of files. Owners are those of the server.
 * Links:   the text of a symbolic link is ".." as often as the folder allows, then names: so no
 *          chain of them leads out, whatever the others are.
 * Errors:  "MEMBER: what is wrong", with the errno of a failed call, -EBADMSG for a bad archive. */
#ifndef FILES_UNTAR_H
#define FILES_UNTAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define UNTAR_MEMBERS_MAX (4 << 20)

struct untar_counts {
    uint64_t files, folders, links, bytes;
};

struct untar;
/* folder: an open one, which is taken over. */
struct untar *untar_open(int folder);
/* Asked of each member and of what a hard link leads to, by where they really are. What is refused
 * ends the archive there with -EACCES. Borrowed. */
struct spot_rules; /* spot.h */
void untar_judge(struct untar *u, const struct spot_rules *rules);
struct untar *untar_close(struct untar *u); /* NULL in, NULL out; a half file is gone */

MUST_CHECK int untar_feed(struct untar *u, const char *bytes, size_t n, struct err *e);
/* The bytes are over. */
MUST_CHECK int untar_end(struct untar *u, struct untar_counts *ret, struct err *e);
const struct untar_counts *untar_so_far(const struct untar *u);

#endif
