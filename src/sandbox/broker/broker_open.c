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
#include "sandbox/broker/broker_internal.h"
#include "sandbox/paths/lexical.h"
#include "sandbox/paths/terminals.h"

enum {
    TRIES = 40,     /* of a name that is a dangling link, or that comes and goes */
    HOW_MAX = 4096, /* of a struct open_how, as in the kernel */
    KEEP = O_APPEND | O_DIRECT | O_NOATIME | O_ASYNC, /* what F_SETFL would take away */
};

struct open_request { /* what is to be opened */
    int dirfd;
    int flags;
    mode_t mode;
    uint64_t resolve;
    bool in_memory; /* flags and mode could change under the kernel: openat2 */
    char path[PATH_MAX];
};

static bool is_tmpfile(const struct open_request *request)
{
    return (request->flags & O_TMPFILE) == O_TMPFILE;
}

static bool open_request_reads(const struct open_request *request)
{
    return (request->flags & O_ACCMODE) != O_WRONLY;
}

static bool writes(const struct open_request *request)
{
    return (request->flags & O_ACCMODE) != O_RDONLY || request->flags & O_TRUNC ||
           is_tmpfile(request);
}

static bool creates(const struct open_request *request)
{
    return (request->flags & O_CREAT) != 0;
}

/* --- what the kernel may do itself ------------------------------------------------------------ */

/* Would Landlock look at this again, in all that it does? */
static bool ruleset_holds(const struct notice *notice, const struct open_request *request)
{
    const struct broker *broker = notice->broker;
    if (request->in_memory || !broker->config.ruleset)
        return false;
    if ((creates(request) || is_tmpfile(request)) && request->mode & (S_ISUID | S_ISGID))
        return false;
    return !(request->flags & O_TRUNC) || broker->landlock_abi >= 3; /* TRUNCATE */
}

static bool ruleset_grants(const struct notice *notice, const struct open_request *request,
                           const char *path)
{
    const struct landlock_ruleset *ruleset = notice->broker->config.ruleset;
    return ruleset_holds(notice, request) &&
           (!open_request_reads(request) || ruleset_grants_read(ruleset, path)) &&
           ((!writes(request) && !creates(request)) || ruleset_grants_write(ruleset, path));
}

static bool give_virtual(struct notice *notice, const struct open_request *request,
                         const char *path)
{
    if (!notice->broker->net || writes(request) || policy_is_walls(notice_policy(notice)))
        return false;
    int fd = net_virtual_file(notice->broker->net, notice_policy(notice), path);
    if (fd < 0)
        return false;
    notice_give(notice, fd, (request->flags & O_CLOEXEC) != 0);
    return true;
}

/* By the text of the path alone. True: answered, or the kernel goes on. */
static bool open_by_text(struct notice *notice, const struct open_request *request)
{
    char path[PATH_MAX];
    if (request->flags & O_PATH) {
        notice->go_on = true; /* such a descriptor reads nothing; opening through it asks again */
        return true;
    }
    if (path_lexical(notice, request->dirfd, request->path, path) < 0)
        return false;
    if (give_virtual(notice, request, path))
        return true;
    notice->go_on = ruleset_grants(notice, request, path) && !lexical_climbs(request->path) &&
                    path_is_plain(path);
    return notice->go_on;
}

/* --- what is there ---------------------------------------------------------------------------- */

static bool may_open(struct notice *notice, const struct open_request *request, const char *path)
{
    const struct policy *policy = notice_policy(notice);
    bool may_read = !open_request_reads(request) || policy_may_read(policy, path);
    bool may = may_read && (!writes(request) || policy_may_write(policy, path));
    if (!may_read)
        notice_refuse(notice, path);
    else if (!may)
        notice_refuse_write(notice, path);
    return may && !notice_naive(notice) && !notice->go_on;
}

static mode_t mode_of(const struct notice *notice, const struct open_request *request)
{
    return request->mode & 01777 & ~(mode_t)target_umask(notice);
}

static void open_asked(struct notice *notice);

/* A lease of somebody's makes an open of a plain file wait too. That is found out without waiting,
 * and costs one call more. */
static void open_checked_file(struct notice *notice, const struct open_request *request, int object)
{
    int flags = (request->flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_NOCTTY;
    if (is_tmpfile(request))
        flags |= request->flags & O_EXCL;
    bool hurry = !notice->deferred && !(flags & O_NONBLOCK);
    mode_t mode = is_tmpfile(request) ? mode_of(notice, request) : 0;
    drop_fd int fd = open(fd_path(object).text, flags | O_CLOEXEC | (hurry ? O_NONBLOCK : 0), mode);
    if (fd < 0 && errno == EAGAIN && hurry)
        notice_defer(notice, open_asked);
    else if (fd < 0)
        notice->error = errno == EINTR ? NOTICE_RESTART : errno;
    else if (hurry && fcntl(fd, F_SETFL, flags & KEEP) < 0)
        notice->error = errno;
    else
        notice_give(notice, fd_take(&fd), (request->flags & O_CLOEXEC) != 0);
}

/* Kinds of objects that no open gets past, in the kernel's order. 0: none of these. */
static int check_file_kind(const struct open_request *request, const struct stat *st)
{
    mode_t mode = st->st_mode;
    if (S_ISLNK(mode))
        return ELOOP;
    if (S_ISCHR(mode) && st->st_rdev == makedev(5, 0))
        return ENXIO; /* "/dev/tty" would be ours; the ruleset grants the caller its own */
    if (request->flags & O_DIRECTORY && !S_ISDIR(mode))
        return ENOTDIR;
    if (S_ISDIR(mode) && !is_tmpfile(request) && (writes(request) || creates(request)))
        return EISDIR;
    return 0;
}

static void open_object(struct notice *notice, const struct open_request *request, int object)
{
    char path[PATH_MAX];
    struct stat st;
    int nameless = path_canonical(object, path);
    if (nameless < 0 || fstat(object, &st) < 0) {
        notice->error = nameless < 0 ? -nameless : errno;
        return;
    }
    if (!nameless && give_virtual(notice, request, path))
        return;
    if (policy_hides_object(notice_policy(notice), &st)) {
        notice_refuse(notice, path);
        return;
    }
    notice->go_on = !nameless && ruleset_grants(notice, request, path);
    notice->error = notice->go_on ? 0 : check_file_kind(request, &st);
    if (notice->go_on || notice->error)
        return;
    if (!nameless && !may_open(notice, request, path))
        return;
    bool plain = S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISSOCK(st.st_mode) || nameless;
    if (!plain && !notice->deferred && !(request->flags & O_NONBLOCK))
        notice_defer(notice, open_asked);
    else if (terminal_is(&st) && !terminal_may_be_opened(notice, &st))
        notice_refuse(notice, path);
    else
        open_checked_file(notice, request, object);
}

/* --- what is not there ------------------------------------------------------------------------ */

/* 0: answered. -EAGAIN: the name exists by now. */
static int create_file(struct notice *notice, const struct open_request *request,
                       const struct place *place)
{
    if (!policy_may_write(notice_policy(notice), place->full)) {
        notice_refuse_write(notice, place->full);
        return 0;
    }
    if (notice_naive(notice))
        return 0;
    /* O_EXCL: a FIFO or another's file that comes to the name meanwhile is not opened here. */
    int flags = request->flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY;
    drop_fd int fd = openat(place->dir, place->name, flags | O_CLOEXEC, mode_of(notice, request));
    if (fd < 0 && errno == EEXIST && !(request->flags & O_EXCL))
        return -EAGAIN;
    if (fd < 0)
        notice->error = errno;
    else
        notice_give(notice, fd_take(&fd), (request->flags & O_CLOEXEC) != 0);
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

static int open_symlink(struct notice *notice, const struct open_request *request,
                        struct place *place, int *base, char path[static PATH_MAX])
{
    if (request->flags & O_NOFOLLOW || request->resolve & RESOLVE_NO_SYMLINKS)
        return -ELOOP;
    drop_fd int object = path_look(notice, *base, path, 0, request->resolve);
    if (object == -ENOENT) /* what it names is what is to be made */
        return request->resolve ? -ELOOP : through_link(place, base, path);
    if (object < 0)
        return object;
    open_object(notice, request, object);
    return 0;
}

/* One look at the name: 0 when it is answered, -EAGAIN to look again, else an error. */
static int open_or_create(struct notice *notice, const struct open_request *request, int *base,
                          char path[static PATH_MAX])
{
    struct place place;
    int r = place_find_from(notice, *base, path, request->resolve, &place);
    if (r < 0)
        return r;
    struct stat st;
    drop_fd int object = openat(place.dir, place.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (place.special || place.name[strlen(place.name) - 1] == '/')
        r = -EISDIR;
    else if (object < 0)
        r = errno == ENOENT ? create_file(notice, request, &place) : -errno;
    else if (request->flags & O_EXCL)
        r = -EEXIST;
    else if (fstat(object, &st) == 0 && S_ISLNK(st.st_mode))
        r = open_symlink(notice, request, &place, base, path);
    else
        open_object(notice, request, object);
    place_done(&place);
    return r;
}

static void open_creating(struct notice *notice, const struct open_request *request, int base)
{
    char path[PATH_MAX];
    int mine = base < 0 ? base : fcntl(base, F_DUPFD_CLOEXEC, 0), r = -EAGAIN;
    memcpy(path, request->path, sizeof path);
    for (int i = 0; r == -EAGAIN && i < TRIES; i++)
        r = open_or_create(notice, request, &mine, path);
    if (r < 0)
        notice->error = r == -EAGAIN ? ELOOP : -r;
    if (mine >= 0)
        (void)close(mine);
}

/* --- the calls -------------------------------------------------------------------------------- */

static void open_wish(struct notice *notice, const struct open_request *request)
{
    if (!*request->path) {
        notice->error = ENOENT;
        return;
    }
    if (!notice->deferred && open_by_text(notice, request))
        return;
    drop_fd int base = AT_FDCWD;
    if (*request->path != '/' || request->resolve) { /* which may mean "/" to be the base */
        base = target_base(notice, request->dirfd);
        if (base < 0) {
            notice->error = -base;
            return;
        }
    }
    if (creates(request)) {
        open_creating(notice, request, base);
        return;
    }
    unsigned how = (request->flags & O_NOFOLLOW ? LOOK_NOFOLLOW : 0) |
                   (request->flags & O_DIRECTORY ? LOOK_DIRECTORY : 0);
    drop_fd int object = path_look(notice, base, request->path, how, request->resolve);
    if (object < 0)
        notice->error = -object;
    else
        open_object(notice, request, object);
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

static int read_how(const struct notice *notice, struct open_request *request)
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
    request->flags = flags_of(how.flags);
    request->mode = (mode_t)how.mode;
    request->resolve = how.resolve;
    request->in_memory = true;
    return 0;
}

static int read_open_request(const struct notice *notice, struct open_request *request)
{
    const uint64_t *args = notice->args;
    int at = 1, r = 0;
    request->dirfd = (int)args[0];
    request->flags = flags_of(args[2]);
    request->mode = (mode_t)args[3];
    if (notice->call == SYS_openat2)
        r = read_how(notice, request);
    if (r == 0 && request->in_memory && request->flags & O_PATH)
        r = -ENOSYS; /* such a descriptor cannot be handed over; openat() does as well */
#ifdef SYS_open
    if (notice->call == SYS_open || notice->call == SYS_creat) {
        bool creat = notice->call == SYS_creat;
        at = 0;
        request->dirfd = AT_FDCWD;
        request->flags = creat ? O_CREAT | O_WRONLY | O_TRUNC : flags_of(args[1]);
        request->mode = (mode_t)(creat ? args[1] : args[2]);
    }
#endif
    return r < 0 ? r : target_text(notice, args[at], request->path, sizeof request->path);
}

/* Behind the walls alone: what is no terminal, or cannot be found out, the kernel opens. Landlock
 * refuses it if it turns out to be one. */
static void open_judged_terminal(struct notice *notice, const struct open_request *request)
{
    struct stat st;
    char path[PATH_MAX];
    const unsigned how = request->flags & O_NOFOLLOW ? LOOK_NOFOLLOW : 0;
    drop_fd int object = path_look_at(notice, request->dirfd, request->path, how);
    notice->go_on = object < 0 || fstat(object, &st) < 0 || !terminal_is(&st) ||
                    path_canonical(object, path) != 0;
    if (notice->go_on)
        return;
    if (terminal_may_be_opened(notice, &st))
        open_checked_file(notice, request, object);
    else
        notice_refuse(notice, path);
}

static void open_asked(struct notice *notice)
{
    struct open_request request = {0};
    int r = read_open_request(notice, &request);
    if (!notice_policy(notice)) {
        notice->go_on = r < 0 || request.flags & O_PATH;
        if (!notice->go_on)
            open_judged_terminal(notice, &request);
    } else if (r < 0) {
        notice->error = -r;
    } else {
        open_wish(notice, &request);
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
