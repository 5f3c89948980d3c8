/* SPDX-License-Identifier: Apache-2.0
 *
 * open, creat, openat, openat2. The order of steps and why: docs/sandbox-broker.md. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/broker/broker_parts.h"
#include "sandbox/paths/lexical.h"
#include "sandbox/paths/terminals.h"

enum {
    TRIES = 40,     /* of a name that is a dangling link, or that comes and goes */
    HOW_MAX = 4096, /* of a struct open_how, as in the kernel */
    KEEP = O_APPEND | O_DIRECT | O_NOATIME | O_ASYNC, /* what F_SETFL would take away */
};

struct wish { /* what is to be opened */
    int dirfd;
    int flags;
    mode_t mode;
    uint64_t resolve;
    bool in_memory; /* flags and mode could change under the kernel: openat2 */
    char path[PATH_MAX];
};

static bool is_tmpfile(const struct wish *wish)
{
    return (wish->flags & O_TMPFILE) == O_TMPFILE;
}

static bool open_request_reads(const struct wish *wish)
{
    return (wish->flags & O_ACCMODE) != O_WRONLY;
}

static bool writes(const struct wish *wish)
{
    return (wish->flags & O_ACCMODE) != O_RDONLY || wish->flags & O_TRUNC || is_tmpfile(wish);
}

static bool creates(const struct wish *wish)
{
    return (wish->flags & O_CREAT) != 0;
}

/* --- what the kernel may do itself ------------------------------------------------------------ */

/* Would Landlock look at this again, in all that it does? */
static bool floor_holds(const struct notice *notice, const struct wish *wish)
{
    const struct broker *broker = notice->broker;
    if (wish->in_memory || !broker->config.floor)
        return false;
    if ((creates(wish) || is_tmpfile(wish)) && wish->mode & (S_ISUID | S_ISGID))
        return false;
    return !(wish->flags & O_TRUNC) || broker->landlock_abi >= 3; /* TRUNCATE */
}

static bool floor_grants(const struct notice *notice, const struct wish *wish, const char *path)
{
    const struct floor *floor = notice->broker->config.floor;
    return floor_holds(notice, wish) &&
           (!open_request_reads(wish) || floor_grants_read(floor, path)) &&
           ((!writes(wish) && !creates(wish)) || floor_grants_write(floor, path));
}

static bool give_virtual(struct notice *notice, const struct wish *wish, const char *path)
{
    if (!notice->broker->net || writes(wish) || policy_is_walls(notice_policy(notice)))
        return false;
    int fd = net_virtual_file(notice->broker->net, notice_policy(notice), path);
    if (fd < 0)
        return false;
    notice_give(notice, fd, (wish->flags & O_CLOEXEC) != 0);
    return true;
}

/* By the text of the path alone. True: answered, or the kernel goes on. */
static bool open_by_text(struct notice *notice, const struct wish *wish)
{
    char path[PATH_MAX];
    if (wish->flags & O_PATH) {
        notice->go_on = true; /* such a descriptor reads nothing; opening through it asks again */
        return true;
    }
    if (path_lexical(notice, wish->dirfd, wish->path, path) < 0)
        return false;
    if (give_virtual(notice, wish, path))
        return true;
    notice->go_on =
        floor_grants(notice, wish, path) && !lexical_climbs(wish->path) && path_is_plain(path);
    return notice->go_on;
}

/* --- what is there ---------------------------------------------------------------------------- */

static bool may_open(struct notice *notice, const struct wish *wish, const char *path)
{
    const struct policy *policy = notice_policy(notice);
    bool may_read = !open_request_reads(wish) || policy_may_read(policy, path);
    bool may = may_read && (!writes(wish) || policy_may_write(policy, path));
    if (!may_read)
        notice_refuse(notice, path);
    else if (!may)
        notice_refuse_write(notice, path);
    return may && !notice_naive(notice) && !notice->go_on;
}

static mode_t mode_of(const struct notice *notice, const struct wish *wish)
{
    return wish->mode & 01777 & ~(mode_t)target_umask(notice);
}

static void open_asked(struct notice *notice);

/* A lease of somebody's makes an open of a plain file wait too. That is found out without waiting,
 * and costs one call more. */
static void open_checked_file(struct notice *notice, const struct wish *wish, int object)
{
    int flags = (wish->flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_NOCTTY;
    if (is_tmpfile(wish))
        flags |= wish->flags & O_EXCL;
    bool hurry = !notice->deferred && !(flags & O_NONBLOCK);
    mode_t mode = is_tmpfile(wish) ? mode_of(notice, wish) : 0;
    drop_fd int fd = open(fd_path(object).text, flags | O_CLOEXEC | (hurry ? O_NONBLOCK : 0), mode);
    if (fd < 0 && errno == EAGAIN && hurry)
        notice_defer(notice, open_asked);
    else if (fd < 0)
        notice->error = errno == EINTR ? NOTICE_RESTART : errno;
    else if (hurry && fcntl(fd, F_SETFL, flags & KEEP) < 0)
        notice->error = errno;
    else
        notice_give(notice, fd_take(&fd), (wish->flags & O_CLOEXEC) != 0);
}

/* Kinds of objects that no open gets past, in the kernel's order. 0: none of these. */
static int check_file_kind(const struct wish *wish, const struct stat *st)
{
    mode_t mode = st->st_mode;
    if (S_ISLNK(mode))
        return ELOOP;
    if (S_ISCHR(mode) && st->st_rdev == makedev(5, 0))
        return ENXIO; /* "/dev/tty" would be ours; the floor grants the caller its own */
    if (wish->flags & O_DIRECTORY && !S_ISDIR(mode))
        return ENOTDIR;
    if (S_ISDIR(mode) && !is_tmpfile(wish) && (writes(wish) || creates(wish)))
        return EISDIR;
    return 0;
}

static void open_object(struct notice *notice, const struct wish *wish, int object)
{
    char path[PATH_MAX];
    struct stat st;
    int nameless = path_canonical(object, path);
    if (nameless < 0 || fstat(object, &st) < 0) {
        notice->error = nameless < 0 ? -nameless : errno;
        return;
    }
    if (!nameless && give_virtual(notice, wish, path))
        return;
    if (policy_hides_object(notice_policy(notice), &st)) {
        notice_refuse(notice, path);
        return;
    }
    notice->go_on = !nameless && floor_grants(notice, wish, path);
    notice->error = notice->go_on ? 0 : check_file_kind(wish, &st);
    if (notice->go_on || notice->error)
        return;
    if (!nameless && !may_open(notice, wish, path))
        return;
    bool plain = S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISSOCK(st.st_mode) || nameless;
    if (!plain && !notice->deferred && !(wish->flags & O_NONBLOCK))
        notice_defer(notice, open_asked);
    else if (terminal_is(&st) && !terminal_may_be_opened(notice, &st))
        notice_refuse(notice, path);
    else
        open_checked_file(notice, wish, object);
}

/* --- what is not there ------------------------------------------------------------------------ */

/* 0: answered. -EAGAIN: the name exists by now. */
static int create_file(struct notice *notice, const struct wish *wish, const struct place *place)
{
    if (!policy_may_write(notice_policy(notice), place->full)) {
        notice_refuse_write(notice, place->full);
        return 0;
    }
    if (notice_naive(notice))
        return 0;
    /* O_EXCL: a FIFO or another's file that comes to the name meanwhile is not opened here. */
    int flags = wish->flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY;
    drop_fd int fd = openat(place->dir, place->name, flags | O_CLOEXEC, mode_of(notice, wish));
    if (fd < 0 && errno == EEXIST && !(wish->flags & O_EXCL))
        return -EAGAIN;
    if (fd < 0)
        notice->error = errno;
    else
        notice_give(notice, fd_take(&fd), (wish->flags & O_CLOEXEC) != 0);
    return 0;
}

/* The text of a link, and the directory that it stands in as the base from now on. */
static int through_link(struct place *place, int *base, char path[static PATH_MAX])
{
    ssize_t n = readlinkat(place->dir, place->name, path, PATH_MAX);
    if (n < 0 || n == PATH_MAX)
        return n < 0 ? -errno : -ENAMETOOLONG;
    path[n] = '\0';
    (void)fd_close(*base);
    *base = fd_take(&place->dir);
    return -EAGAIN;
}

static int open_symlink(struct notice *notice, const struct wish *wish, struct place *place,
                        int *base, char path[static PATH_MAX])
{
    if (wish->flags & O_NOFOLLOW || wish->resolve & RESOLVE_NO_SYMLINKS)
        return -ELOOP;
    drop_fd int object = path_look(notice, *base, path, 0, wish->resolve);
    if (object == -ENOENT) /* what it names is what is to be made */
        return wish->resolve ? -ELOOP : through_link(place, base, path);
    if (object < 0)
        return object;
    open_object(notice, wish, object);
    return 0;
}

/* One look at the name: 0 when it is answered, -EAGAIN to look again, else an error. */
static int open_or_create(struct notice *notice, const struct wish *wish, int *base,
                          char path[static PATH_MAX])
{
    struct place place;
    int r = place_find_from(notice, *base, path, wish->resolve, &place);
    if (r < 0)
        return r;
    struct stat st;
    drop_fd int object = openat(place.dir, place.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (place.special || place.name[strlen(place.name) - 1] == '/')
        r = -EISDIR;
    else if (object < 0)
        r = errno == ENOENT ? create_file(notice, wish, &place) : -errno;
    else if (wish->flags & O_EXCL)
        r = -EEXIST;
    else if (fstat(object, &st) == 0 && S_ISLNK(st.st_mode))
        r = open_symlink(notice, wish, &place, base, path);
    else
        open_object(notice, wish, object);
    place_done(&place);
    return r;
}

static void open_creating(struct notice *notice, const struct wish *wish, int base)
{
    char path[PATH_MAX];
    int mine = base < 0 ? base : fcntl(base, F_DUPFD_CLOEXEC, 0), r = -EAGAIN;
    memcpy(path, wish->path, sizeof path);
    for (int i = 0; r == -EAGAIN && i < TRIES; i++)
        r = open_or_create(notice, wish, &mine, path);
    if (r < 0)
        notice->error = r == -EAGAIN ? ELOOP : -r;
    if (mine >= 0)
        (void)close(mine);
}

/* --- the calls -------------------------------------------------------------------------------- */

static void open_wish(struct notice *notice, const struct wish *wish)
{
    if (!*wish->path) {
        notice->error = ENOENT;
        return;
    }
    if (!notice->deferred && open_by_text(notice, wish))
        return;
    drop_fd int base = AT_FDCWD;
    if (*wish->path != '/' || wish->resolve) { /* which may mean "/" to be the base */
        base = target_base(notice, wish->dirfd);
        if (base < 0) {
            notice->error = -base;
            return;
        }
    }
    if (creates(wish)) {
        open_creating(notice, wish, base);
        return;
    }
    unsigned how = (wish->flags & O_NOFOLLOW ? LOOK_NOFOLLOW : 0) |
                   (wish->flags & O_DIRECTORY ? LOOK_DIRECTORY : 0);
    drop_fd int object = path_look(notice, base, wish->path, how, wish->resolve);
    if (object < 0)
        notice->error = -object;
    else
        open_object(notice, wish, object);
}

/* As the kernel reads them: O_PATH lets nothing else stand, and an unknown one is nothing. */
static int flags_of(uint64_t flags)
{
    int known = O_ACCMODE | O_APPEND | O_CLOEXEC | O_CREAT | O_DIRECT | O_DIRECTORY | O_DSYNC |
                O_EXCL | O_LARGEFILE | O_NOATIME | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK | O_PATH |
                O_SYNC | O_TMPFILE | O_TRUNC | O_ASYNC;
    int kept = (int)flags & known;
    return kept & O_PATH ? kept & (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : kept;
}

static int read_how(const struct notice *notice, struct wish *wish)
{
    struct open_how how = {0};
    char more[HOW_MAX];
    size_t size = notice->args[3];
    if (size < sizeof how)
        return -EINVAL;
    if (size > sizeof more)
        return -E2BIG;
    int r = target_bytes(notice, notice->args[2], more, size);
    if (r < 0)
        return r;
    memcpy(&how, more, sizeof how);
    for (size_t i = sizeof how; i < size; i++)
        if (more[i])
            return -E2BIG;
    /* The kernel itself says what it makes of these flags, before it looks at the path. */
    if (syscall(SYS_openat2, AT_FDCWD, "", &how, sizeof how) < 0 && errno != ENOENT)
        return -errno;
    wish->flags = flags_of(how.flags);
    wish->mode = (mode_t)how.mode;
    wish->resolve = how.resolve;
    wish->in_memory = true;
    return 0;
}

static int read_open_request(const struct notice *notice, struct wish *wish)
{
    const uint64_t *args = notice->args;
    int at = 1, r = 0;
    wish->dirfd = (int)args[0];
    wish->flags = flags_of(args[2]);
    wish->mode = (mode_t)args[3];
    if (notice->call == SYS_openat2)
        r = read_how(notice, wish);
    if (r == 0 && wish->in_memory && wish->flags & O_PATH)
        r = -ENOSYS; /* such a descriptor cannot be handed over; openat() does as well */
#ifdef SYS_open
    if (notice->call == SYS_open || notice->call == SYS_creat) {
        bool creat = notice->call == SYS_creat;
        at = 0;
        wish->dirfd = AT_FDCWD;
        wish->flags = creat ? O_CREAT | O_WRONLY | O_TRUNC : flags_of(args[1]);
        wish->mode = (mode_t)(creat ? args[1] : args[2]);
    }
#endif
    return r < 0 ? r : target_text(notice, args[at], wish->path, sizeof wish->path);
}

/* Behind the walls alone: what is no terminal, or cannot be found out, the kernel opens. Landlock
 * refuses it if it turns out to be one. */
static void open_judged_terminal(struct notice *notice, const struct wish *wish)
{
    struct stat st;
    char path[PATH_MAX];
    const unsigned how = wish->flags & O_NOFOLLOW ? LOOK_NOFOLLOW : 0;
    drop_fd int object = path_look_at(notice, wish->dirfd, wish->path, how);
    notice->go_on = object < 0 || fstat(object, &st) < 0 || !terminal_is(&st) ||
                    path_canonical(object, path) != 0;
    if (notice->go_on)
        return;
    if (terminal_may_be_opened(notice, &st))
        open_checked_file(notice, wish, object);
    else
        notice_refuse(notice, path);
}

static void open_asked(struct notice *notice)
{
    struct wish wish = {0};
    int r = read_open_request(notice, &wish);
    if (!notice_policy(notice)) {
        notice->go_on = r < 0 || wish.flags & O_PATH;
        if (!notice->go_on)
            open_judged_terminal(notice, &wish);
    } else if (r < 0) {
        notice->error = -r;
    } else {
        open_wish(notice, &wish);
    }
}

notice_fn broker_open_call(int call)
{
    switch (call) {
#ifdef SYS_open
    case SYS_open:
    case SYS_creat:
#endif
    case SYS_openat:
    case SYS_openat2:
        return open_asked;
    default:
        return NULL;
    }
}
