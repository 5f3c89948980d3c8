/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/proc/neighbour.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/kin.h"
#include "sandbox/proc/procfile.h"

enum { PATH_LEN = 64, STATUS_LEN = 4096 };

static bool end_of(int fd, int (*ask)(int, struct sockaddr *, socklen_t *), struct address *ret)
{
    ret->len = sizeof ret->room;
    return ask(fd, &ret->any, &ret->len) == 0;
}

/* The kernel's word for no_new_privs stands behind the name, 0 or 1. */
static bool gave_up_privileges(pid_t pid)
{
    char path[PATH_LEN], text[STATUS_LEN];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    if (!procfile_read(AT_FDCWD, path, text, sizeof text))
        return true;
    const char *at = strstr(text, "\nNoNewPrivs:");
    return !at || procfile_number(strchr(at, ':') + 1, NULL) != 0;
}

/* Its number may be another's by the time that it was judged: who holds the socket then, too, is
 * who was judged. */
static bool is_free_holder(uint64_t inode, const struct socket_holder *holder)
{
    return socket_is_at(inode, holder) && !kin_below(holder->pid, getpid()) &&
           !gave_up_privileges(holder->pid) && socket_is_at(inode, holder);
}

bool neighbour_is_free(int fd, struct socket_holder *last)
{
    struct address ours, theirs;
    uint64_t inode = 0;
    uid_t uid = 0;
    if (!end_of(fd, getsockname, &ours) || !end_of(fd, getpeername, &theirs) ||
        !address_is_loopback(&ours) || !address_is_loopback(&theirs))
        return false;
    if (!socket_of_connection(&theirs, &ours, &inode, &uid) || uid != geteuid())
        return false;
    return is_free_holder(inode, last) || socket_find(inode, is_free_holder, last);
}
