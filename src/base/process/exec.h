/* SPDX-License-Identifier: Apache-2.0
 *
 * base/process/exec.h - the only place where this program executes another one.
 * Rule:    what is executed inherits the descriptors that are named, beside 0, 1 and 2, and no
 *          other. All others are closed by range: that what we open is close-on-exec from birth is
 *          not enough, for libraries open descriptors that are not (libzmq its epolls). A program
 *          that holds such an epoll can write into the memory of the one that made it.
 * Errors:  descriptors are closed by the exec itself, so that a caller whose exec fails still has
 *          the pipe on which it tells that.
 * Thread:  system calls on the stack alone: also in a child that shares its parent's memory.
 * Not here: the programs that code in a cell executes (sandbox/preload/), which are the cell's. */
#ifndef BASE_PROCESS_EXEC_H
#define BASE_PROCESS_EXEC_H

#include <stddef.h>

#include "base/err.h"

struct exec_call {
    const char *program; /* without a slash it is looked up in our PATH */
    char *const *argv;
    char *const *envp;
    const int *kept; /* in rising order, all above 2 */
    size_t kept_count;
};

/* Returns only when it has failed: a negative errno. */
int exec_alone(const struct exec_call *call);

/* As a user's shell would: the program is named on our command line, and what our own caller has
 * left open for it goes on to it. Nothing that comes from elsewhere is started so. */
int exec_with_all(const char *program, char *const *argv);

/* From now on an exec closes all descriptors above 2 but those that are kept, which stay as they
 * are. 0 or -errno. */
MUST_CHECK int exec_keep(const int *kept, size_t count);

#endif
