/* SPDX-License-Identifier: Apache-2.0 */
#include "base/kin.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

enum {
    STAT_MAX = 2048,
    NAME_MAX_BYTES = 64,
    START_FIELD = 22, /* of /proc/PID/stat, see proc(5); the state is the third */
    STATE_FIELD = 3,
    PARENT_FIELD = 4,
    TRIES = 8, /* processes come and go while they are looked at */
};

struct kin_process {
    pid_t ppid;
    unsigned long long start;
    char name[NAME_MAX_BYTES];
};

static bool parse_kin(const char *text, struct kin_process *ret)
{
    const char *open = strchr(text, '('), *at = strrchr(text, ')');
    if (!open || !at || at < open || at[1] != ' ')
        return false;
    (void)snprintf(ret->name, sizeof ret->name, "%.*s", (int)(at - open - 1), open + 1);
    at += 2;
    for (int field = STATE_FIELD; field <= START_FIELD; field++) {
        const char *next = strchr(at, ' ');
        char *end = NULL;
        if (field == PARENT_FIELD)
            ret->ppid = (pid_t)strtol(at, &end, 10);
        else if (field == START_FIELD)
            ret->start = strtoull(at, &end, 10);
        if (!next || (end && end != next))
            return false;
        at = next + 1;
    }
    return ret->ppid >= 0;
}

static bool look_at_kin(pid_t pid, struct kin_process *ret)
{
    char path[40], text[STAT_MAX];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    drop_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return parse_kin(text, ret);
}

/* The parent of *process, in its place. False: it has gone meanwhile, and with it *process has
 * another parent by now. */
static bool step_up_kin(struct kin_process *process)
{
    struct kin_process parent;
    if (!look_at_kin(process->ppid, &parent) || parent.start > process->start)
        return false;
    *process = parent;
    return true;
}

/* --- below ------------------------------------------------------------------------------------ */

/* 1: below, 0: not, -1: the tree has changed meanwhile. */
static int walk_kin(pid_t pid, pid_t ancestor)
{
    struct kin_process process;
    if (!look_at_kin(pid, &process))
        return -1;
    for (int depth = 0; depth < KIN_DEPTH_MAX; depth++) {
        if (process.ppid == ancestor)
            return 1;
        if (process.ppid == 0)
            return 0;
        if (!step_up_kin(&process))
            return -1;
    }
    return 1;
}

bool kin_below(pid_t pid, pid_t ancestor)
{
    int r = -1;
    for (int i = 0; i < TRIES && r < 0; i++)
        r = walk_kin(pid, ancestor);
    return r != 0;
}

bool kin_peer_below(int fd)
{
    struct ucred peer;
    socklen_t n = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
        return true;
    if (peer.pid == 0)
        return false;
    drop_fd int process = -1;
    n = sizeof process;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &process, &n) < 0 && errno != ENOPROTOOPT)
        return true; /* it has ended */
    if (kin_below(peer.pid, getpid()))
        return true;
    struct pollfd end = {process, POLLIN, 0};
    return process >= 0 && poll(&end, 1, 0) != 0; /* its number may be another's by now */
}

/* --- the server, seen from outside ----------------------------------------------------------- */

/* As walk_kin(): whether the uppermost process of this name is `pid` or its parent. */
static int is_uppermost(pid_t pid, const char *name)
{
    struct kin_process process;
    int found = -1; /* steps up to the uppermost so far */
    if (!look_at_kin(pid, &process))
        return -1;
    for (int depth = 0; depth < KIN_DEPTH_MAX; depth++) {
        if (strcmp(process.name, name) == 0)
            found = depth;
        if (process.ppid == 0)
            return found == 0 || found == 1;
        if (!step_up_kin(&process))
            return -1;
    }
    return 0;
}

int kin_check_listener(int fd, const char *name, struct err *e)
{
    struct ucred peer;
    socklen_t n = sizeof peer;
    int r = -1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
        return err_set(e, -errno, "SO_PEERCRED: %s", strerror(errno));
    for (int i = 0; i < TRIES && r < 0 && peer.pid > 0; i++)
        r = is_uppermost(peer.pid, name);
    if (r == 1)
        return 0;
    return err_set(e, -EPERM, "process %d listens there, which is not the server%s", (int)peer.pid,
                   peer.pid == 0 ? " of this container" : "");
}
