/* SPDX-License-Identifier: Apache-2.0
 *
 * Which terminals are whose. All of a container belong to few uids, so their modes do not tell, and
 * the ruleset refuses every one of them. A terminal is the sandbox's if it is the one that controls
 * the caller (which may have it as /dev/tty anyhow), or if a process of the sandbox holds the other
 * end: nobody outside hands that out. The other end says its number in /proc/PID/fdinfo.
 * Why no race: the terminal is held while we look. Once its other end is closed it opens no more,
 * whoever has its number by then. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/broker/broker_internal.h"
#include "sandbox/paths/terminals.h"

enum {
    PEER_REQUEST = 0x5441, /* TIOCGPTPEER */
    PEER_FLAGS = O_ACCMODE | O_NONBLOCK,
    MASTER_MAJOR = 5,
    MASTER_MINOR = 2,
    INFO_MAX = 1024
};

/* --- other ends ------------------------------------------------------------------------------- */

/* The number of the terminal whose other end is descriptor `name` of a process, or -1. proc:
 * /proc/PID. */
static long terminal_number_of(int proc, const char *name)
{
    static const char key[] = "\ntty-index:";
    char path[32], text[INFO_MAX], *end;
    (void)snprintf(path, sizeof path, "fdinfo/%.20s", name);
    drop_fd int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    const char *at = strstr(text, key);
    if (!at)
        return -1;
    at += sizeof key - 1;
    const long number = strtol(at, &end, 10);
    return end == at ? -1 : number;
}

/* A file system of terminals has its own maker of them; that of the machine lies beside it. */
static bool same_mount(int proc, const char *path, const struct stat *end, dev_t where)
{
    char link[PATH_MAX];
    struct stat beside;
    if (end->st_dev == where)
        return true;
    ssize_t n = readlinkat(proc, path, link, sizeof link - 1);
    if (n < 0)
        return false;
    link[n] = '\0';
    return strcmp(link, "/dev/ptmx") == 0 && stat("/dev/pts", &beside) == 0 &&
           beside.st_dev == where;
}

static bool is_other_end(int proc, const char *name, const struct stat *terminal)
{
    char path[32];
    struct stat end;
    (void)snprintf(path, sizeof path, "fd/%.20s", name);
    return fstatat(proc, path, &end, 0) == 0 && S_ISCHR(end.st_mode) &&
           end.st_rdev == makedev(MASTER_MAJOR, MASTER_MINOR) &&
           terminal_number_of(proc, name) == (long)minor(terminal->st_rdev) &&
           same_mount(proc, path, &end, terminal->st_dev);
}

static bool holds_other_end(int proc, const struct stat *terminal)
{
    drop_fd int fd = openat(proc, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        return false;
    (void)fd_take(&fd);
    bool found = false;
    for (const struct dirent *entry; !found && (entry = readdir(dir)) != NULL;)
        found = entry->d_name[0] != '.' && is_other_end(proc, entry->d_name, terminal);
    (void)closedir(dir);
    return found;
}

/* The directory is opened first: it does not lead to who gets the number later. */
static bool ours_holds_other_end(const char *pid, const struct stat *terminal)
{
    char path[32], *end;
    const long number = strtol(pid, &end, 10);
    if (end == pid || *end || number <= 0 || number > INT_MAX)
        return false;
    (void)snprintf(path, sizeof path, "/proc/%ld", number);
    drop_fd int proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return proc >= 0 && tasks_are_ours((pid_t)number) && holds_other_end(proc, terminal);
}

static bool was_made_here(const struct stat *terminal)
{
    if (major(terminal->st_rdev) != TERMINAL_PTS_MAJOR)
        return false;
    DIR *dir = opendir("/proc");
    bool found = false;
    for (const struct dirent *entry; dir && !found && (entry = readdir(dir)) != NULL;)
        found = ours_holds_other_end(entry->d_name, terminal);
    if (dir)
        (void)closedir(dir);
    return found;
}

bool terminal_may_be_opened(const struct notice *notice, const struct stat *st)
{
    return target_terminal(notice) == st->st_rdev || was_made_here(st);
}

/* --- the call --------------------------------------------------------------------------------- */

/* The terminal of the caller's own end, held; -1: it is no such end, or not of /dev/pts. */
static int look_at_peer(const struct notice *notice)
{
    char name[24], path[32];
    struct stat st;
    (void)snprintf(name, sizeof name, "%d", (int)notice->args[0]);
    drop_fd int proc = target_proc(notice, "");
    const long number = proc < 0 ? -1 : terminal_number_of(proc, name);
    if (number < 0)
        return -1;
    (void)snprintf(path, sizeof path, "/dev/pts/%ld", number);
    drop_fd int peer = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (peer < 0 || fstat(peer, &st) < 0 || !terminal_is(&st) || !is_other_end(proc, name, &st))
        return -1;
    return fd_take(&peer);
}

/* What this is not about gets the kernel's own answer. */
static void peer_asked(struct notice *notice)
{
    const int flags = (int)notice->args[2];
    drop_fd int peer = -1;
    if ((uint32_t)notice->args[1] == PEER_REQUEST)
        peer = look_at_peer(notice);
    if (peer < 0) {
        notice->go_on = true;
        return;
    }
    int fd = open(fd_path(peer).text, (flags & PEER_FLAGS) | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        notice->error = errno;
    else
        notice_give(notice, fd, (flags & O_CLOEXEC) != 0);
}

notice_fn broker_terminals_call(int call)
{
    return call == SYS_ioctl ? peer_asked : NULL;
}
