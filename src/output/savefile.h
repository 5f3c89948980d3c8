/* SPDX-License-Identifier: Apache-2.0
 *
 * output/savefile.h - files that the server makes in the workspace: <folder>/<8 hex>.<extension>.
 * Safety:  code in a kernel owns the workspace too and may swap folders for links, also for ones to
 *          where it may not write itself; so no link is followed (files/spot.h).
 * Mode:    as the umask says; the name is new each time, nothing is overwritten. */
#ifndef OUTPUT_SAVEFILE_H
#define OUTPUT_SAVEFILE_H

#include <stddef.h>
#include <sys/stat.h>

#include "base/err.h"

/* *ret_path is absolute and owned by the caller (xfree), *ret_fd is open for writing. */
MUST_CHECK int savefile_open(const char *workspace, const char *folder, const char *extension,
                             char **ret_path, int *ret_fd, struct err *e);

/* The whole content at once; a file that could not be finished is removed again. */
MUST_CHECK int savefile_write(const char *workspace, const char *folder, const char *extension,
                              const char *bytes, size_t n, char **ret_path, struct err *e);

/* By a path that one of them returned: the file, opened for reading, or a negative errno; and its
 * end. */
MUST_CHECK int savefile_read(const char *path, struct stat *ret_st);
void savefile_remove(const char *path);

#endif
