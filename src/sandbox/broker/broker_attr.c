/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that change what a file says of itself: length, mode, owner, times, extended attributes.
 * Landlock knows of the first alone, so all others are carried out here, always. */
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "base/alloc.h"
#include "sandbox/broker/broker_internal.h"
#include "sandbox/paths/lexical.h"

enum { NO_ARG = -1 };

struct attr {
    int call;
    int dirfd, path, flags; /* which arguments; without a path, dirfd is the file itself */
    bool nofollow;
    void (*act)(struct notice *notice, int object, const uint64_t *args); /* behind the path */
};

static void attr_asked(struct notice *notice);

static void done(struct notice *notice, long r)
{
    notice->error = r < 0 ? errno : 0;
}

/* A lease of somebody's makes this wait: found out without waiting, as in broker_open.c. */
static void set_file_length(struct notice *notice, int object, const uint64_t *args)
{
    struct stat st = {0};
    if (fstat(object, &st) < 0 || !S_ISREG(st.st_mode)) {
        notice->error = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        return;
    }
    int wait = notice->deferred ? 0 : O_NONBLOCK;
    drop_fd int fd = open(fd_path(object).text, O_WRONLY | O_CLOEXEC | wait);
    if (fd < 0 && errno == EAGAIN && !notice->deferred)
        notice_defer(notice, attr_asked);
    else if (fd < 0)
        notice->error = errno == EINTR ? NOTICE_RESTART : errno;
    else
        done(notice, ftruncate(fd, (off_t)args[0]));
}

static void set_mode(struct notice *notice, int object, const uint64_t *args)
{
    done(notice, chmod(fd_path(object).text, (mode_t)args[0] & 01777));
}

static void set_owner(struct notice *notice, int object, const uint64_t *args)
{
    done(notice, fchownat(object, "", (uid_t)args[0], (gid_t)args[1], AT_EMPTY_PATH));
}

static void set_times(struct notice *notice, int object, const struct timespec *times)
{
    done(notice, utimensat(AT_FDCWD, fd_path(object).text, times, 0));
}

static void set_times_ns(struct notice *notice, int object, const uint64_t *args)
{
    struct timespec times[2];
    int r = args[0] ? target_bytes(notice, args[0], times, sizeof times) : 0;
    if (r < 0)
        notice->error = -r;
    else
        set_times(notice, object, args[0] ? times : NULL);
}

#ifdef SYS_utimes
static void set_times_us(struct notice *notice, int object, const uint64_t *args)
{
    struct timeval given[2];
    struct timespec times[2];
    int r = args[0] ? target_bytes(notice, args[0], given, sizeof given) : 0;
    for (int i = 0; r == 0 && args[0] && i < 2; i++) {
        if (given[i].tv_usec < 0 || given[i].tv_usec >= 1000000)
            r = -EINVAL;
        else
            times[i] = (struct timespec){given[i].tv_sec, given[i].tv_usec * 1000};
    }
    if (r < 0)
        notice->error = -r;
    else
        set_times(notice, object, args[0] ? times : NULL);
}

static void set_times_s(struct notice *notice, int object, const uint64_t *args)
{
    struct utimbuf given = {0, 0};
    int r = args[0] ? target_bytes(notice, args[0], &given, sizeof given) : 0;
    struct timespec times[2] = {{.tv_sec = given.actime}, {.tv_sec = given.modtime}};
    if (r < 0)
        notice->error = -r;
    else
        set_times(notice, object, args[0] ? times : NULL);
}
#endif

/* The name of an attribute; 0 or negative errno. */
static int read_attribute_name(const struct notice *notice, uint64_t address,
                               char name[static XATTR_NAME_MAX + 1])
{
    int r = target_text(notice, address, name, XATTR_NAME_MAX + 1);
    return r == 0 || r == -ENAMETOOLONG ? -ERANGE : r < 0 ? r : 0;
}

static void set_xattr(struct notice *notice, int object, const uint64_t *args)
{
    char name[XATTR_NAME_MAX + 1];
    size_t size = args[2];
    int r = size > XATTR_SIZE_MAX ? -E2BIG : read_attribute_name(notice, args[0], name);
    char *value = r == 0 ? try_realloc(NULL, size + 1) : NULL;
    if (r == 0 && !value)
        r = -ENOMEM;
    if (r == 0 && size > 0)
        r = target_bytes(notice, args[1], value, size);
    if (r < 0)
        notice->error = -r;
    else
        done(notice, setxattr(fd_path(object).text, name, value, size, (int)args[3]));
    xfree(value);
}

static void remove_xattr(struct notice *notice, int object, const uint64_t *args)
{
    char name[XATTR_NAME_MAX + 1];
    int r = read_attribute_name(notice, args[0], name);
    if (r < 0)
        notice->error = -r;
    else
        done(notice, removexattr(fd_path(object).text, name));
}

static const struct attr attrs[] = {
    {SYS_truncate, NO_ARG, 0, NO_ARG, false, set_file_length},
    {SYS_fchmod, 0, NO_ARG, NO_ARG, false, set_mode},
    {SYS_fchmodat, 0, 1, NO_ARG, false, set_mode},
    {SYS_fchmodat2, 0, 1, 3, false, set_mode},
    {SYS_fchown, 0, NO_ARG, NO_ARG, false, set_owner},
    {SYS_fchownat, 0, 1, 4, false, set_owner},
    {SYS_utimensat, 0, 1, 3, false, set_times_ns},
    {SYS_setxattr, NO_ARG, 0, NO_ARG, false, set_xattr},
    {SYS_lsetxattr, NO_ARG, 0, NO_ARG, true, set_xattr},
    {SYS_fsetxattr, 0, NO_ARG, NO_ARG, false, set_xattr},
    {SYS_removexattr, NO_ARG, 0, NO_ARG, false, remove_xattr},
    {SYS_lremovexattr, NO_ARG, 0, NO_ARG, true, remove_xattr},
    {SYS_fremovexattr, 0, NO_ARG, NO_ARG, false, remove_xattr},
#ifdef SYS_chmod
    {SYS_chmod, NO_ARG, 0, NO_ARG, false, set_mode},
    {SYS_chown, NO_ARG, 0, NO_ARG, false, set_owner},
    {SYS_lchown, NO_ARG, 0, NO_ARG, true, set_owner},
    {SYS_utime, NO_ARG, 0, NO_ARG, false, set_times_s},
    {SYS_utimes, NO_ARG, 0, NO_ARG, false, set_times_us},
    {SYS_futimesat, 0, 1, NO_ARG, false, set_times_us},
#endif
};

static const struct attr *find_attr(int call)
{
    for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++)
        if (attrs[i].call == call)
            return &attrs[i];
    return NULL;
}

static bool ruleset_grants_length(const struct notice *notice, const struct attr *attr,
                                  const char *path)
{
    const struct landlock_ruleset *ruleset = notice->broker->config.ruleset;
    char full[PATH_MAX];
    return attr->act == set_file_length && ruleset && notice->broker->landlock_abi >= 3 &&
           !notice->deferred && !lexical_climbs(path) &&
           path_lexical(notice, AT_FDCWD, path, full) == 0 && ruleset_grants_write(ruleset, full) &&
           path_is_plain(full);
}

static bool takes_no_path(const struct notice *notice, const struct attr *attr)
{
    bool times = attr->act == set_times_ns;
#ifdef SYS_utimes
    times |= attr->act == set_times_us;
#endif
    return attr->path == NO_ARG || (times && attr->dirfd != NO_ARG && !notice->args[attr->path]);
}

/* The object, O_PATH; or -1 when the notice has its answer. */
static int find_object(struct notice *notice, const struct attr *attr)
{
    int dirfd = attr->dirfd == NO_ARG ? AT_FDCWD : (int)notice->args[attr->dirfd];
    int flags = attr->flags == NO_ARG ? 0 : (int)notice->args[attr->flags], r = 0;
    char path[PATH_MAX];
    if (takes_no_path(notice, attr))
        r = dirfd < 0 ? -EBADF : target_base(notice, dirfd);
    else if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
        r = -EINVAL;
    else
        r = target_text(notice, notice->args[attr->path], path, sizeof path);
    if (r >= 0 && !takes_no_path(notice, attr)) {
        notice->go_on = ruleset_grants_length(notice, attr, path);
        if (notice->go_on)
            return -1;
        bool nofollow = attr->nofollow || flags & AT_SYMLINK_NOFOLLOW;
        r = path_look_at(notice, dirfd, path,
                         (nofollow ? LOOK_NOFOLLOW : 0) | (flags & AT_EMPTY_PATH ? LOOK_EMPTY : 0));
    }
    if (r >= 0)
        return r;
    notice->error = -r;
    return -1;
}

/* A device belongs to all, whoever may write to it: as root, a sandbox could take /dev/null away
 * from the others. */
static bool may_change_attributes(const struct notice *notice, int object, const char *full)
{
    const struct policy *policy = notice_policy(notice);
    struct stat st;
    if (!policy_may_write(policy, full) || policy_gives(policy, full))
        return false;
    return fstat(object, &st) == 0 && !S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode);
}

static void attr_asked(struct notice *notice)
{
    const struct attr *attr = find_attr(notice->call);
    char full[PATH_MAX];
    drop_fd int object = find_object(notice, attr);
    if (object < 0)
        return;
    int nameless = path_canonical(object, full);
    if (nameless < 0)
        notice->error = -nameless;
    else if (!nameless && !may_change_attributes(notice, object, full))
        notice_refuse_write(notice, full);
    else if (!notice_naive(notice))
        attr->act(notice, object,
                  notice->args + (attr->path == NO_ARG ? attr->dirfd : attr->path) + 1);
}

notice_fn broker_attr_call(int call)
{
    return find_attr(call) ? attr_asked : NULL;
}
