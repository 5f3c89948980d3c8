/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that make, move or remove names. The directory is held by a descriptor, its path and the
 * name are judged, and the act is done through that descriptor: whoever swaps a directory for a
 * link meanwhile changes nothing. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/broker/broker_internal.h"
#include "sandbox/paths/lexical.h"

enum { NO_ARG = -1 };

struct tree_change {
    int call;
    int dirfd, path; /* which arguments; NO_ARG: the working directory */
    bool makes;      /* a name, else it removes one */
    int (*act)(const struct notice *notice, const struct place *place); /* 0 or negative errno */
};

static int dirfd_of(const struct notice *notice, int arg)
{
    return arg == NO_ARG ? AT_FDCWD : (int)notice->args[arg];
}

static int result(long r)
{
    return r < 0 ? -errno : 0;
}

/* --- what the kernel may do itself ------------------------------------------------------------ */

/* A name that Landlock grants to make and remove, in a directory that it grants. */
static bool ruleset_grants_name(const struct notice *notice, int dirfd, const char *path)
{
    const struct landlock_ruleset *ruleset = notice->broker->config.ruleset;
    char full[PATH_MAX];
    if (!ruleset || lexical_climbs(path) || path_lexical(notice, dirfd, path, full) < 0)
        return false;
    if (!ruleset_grants_write(ruleset, full))
        return false;
    char *slash = strrchr(full, '/');
    if (!slash || slash == full)
        return false;
    *slash = '\0';
    return ruleset_grants_write(ruleset, full) && path_is_plain(full);
}

/* --- one name --------------------------------------------------------------------------------- */

static int broker_make_directory(const struct notice *notice, const struct place *place)
{
    uint64_t mode = notice->args[notice->call == SYS_mkdirat ? 2 : 1];
    return result(
        mkdirat(place->dir, place->name, (mode_t)mode & 01777 & ~(mode_t)target_umask(notice)));
}

static int remove_name(const struct notice *notice, const struct place *place)
{
    int flags = notice->call == SYS_unlinkat ? (int)notice->args[2] : 0;
#ifdef SYS_rmdir
    if (notice->call == SYS_rmdir)
        flags = AT_REMOVEDIR;
#endif
    return result(unlinkat(place->dir, place->name, flags));
}

static int make_symlink(const struct notice *notice, const struct place *place)
{
    char text[PATH_MAX];
    int r = target_text(notice, notice->args[0], text, sizeof text);
    return r < 0 ? r : result(symlinkat(text, place->dir, place->name));
}

static int make_node(const struct notice *notice, const struct place *place)
{
    int arg = notice->call == SYS_mknodat ? 2 : 1;
    mode_t mode = (mode_t)notice->args[arg] & (S_IFMT | 01777) & ~(mode_t)target_umask(notice);
    if (S_ISCHR(mode) || S_ISBLK(mode))
        return -EPERM; /* whatever the kernel thinks of it */
    return result(mknodat(place->dir, place->name, mode, 0));
}

static const struct tree_change changes[] = {
    {SYS_mkdirat, 0, 1, true, broker_make_directory},
    {SYS_unlinkat, 0, 1, false, remove_name},
    {SYS_symlinkat, 1, 2, true, make_symlink},
    {SYS_mknodat, 0, 1, true, make_node},
#ifdef SYS_mkdir
    {SYS_mkdir, NO_ARG, 0, true, broker_make_directory},
    {SYS_rmdir, NO_ARG, 0, false, remove_name},
    {SYS_unlink, NO_ARG, 0, false, remove_name},
    {SYS_symlink, NO_ARG, 1, true, make_symlink},
    {SYS_mknod, NO_ARG, 0, true, make_node},
#endif
};

static const struct tree_change *find_change(int call)
{
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (changes[i].call == call)
            return &changes[i];
    return NULL;
}

/* What the kernel would say before it asks who may write here: mkdir -p and its like need it. */
static int check_presence(const struct tree_change *change, const struct place *place)
{
    struct stat st;
    if (place->special)
        return 0;
    bool there = fstatat(place->dir, place->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (change->makes)
        return there ? -EEXIST : 0;
    return there ? 0 : -errno;
}

/* A link in the place of a directory above a protected path would lead the world elsewhere. */
static bool may_change_entry(const struct notice *notice, const struct tree_change *change,
                             const char *path)
{
    const struct policy *policy = notice_policy(notice);
    bool replaces = !change->makes || change->act == make_symlink;
    return policy_may_write(policy, path) && !(replaces && policy_pins(policy, path));
}

static int change_place(struct notice *notice, const struct tree_change *change,
                        const struct place *place)
{
    int r = check_presence(change, place);
    if (r < 0)
        return r;
    if (!place->special && !may_change_entry(notice, change, place->full)) {
        notice_refuse_write(notice, place->full);
        return 0;
    }
    if (notice_naive(notice))
        return 0;
    return change->act(notice, place);
}

static bool asks_for_setuid(const struct notice *notice, const struct tree_change *change)
{
    return change->act == make_node && notice->args[change->path + 1] & (S_ISUID | S_ISGID);
}

static void change_one(struct notice *notice)
{
    const struct tree_change *change = find_change(notice->call);
    int dirfd = dirfd_of(notice, change->dirfd);
    char path[PATH_MAX];
    struct place place;
    int r = target_text(notice, notice->args[change->path], path, sizeof path);
    if (r >= 0 && !asks_for_setuid(notice, change) && ruleset_grants_name(notice, dirfd, path)) {
        notice->go_on = true;
        return;
    }
    if (r >= 0)
        r = place_find(notice, dirfd, path, &place);
    if (r >= 0) {
        r = change_place(notice, change, &place);
        place_done(&place);
    }
    if (r < 0)
        notice->error = -r;
}

/* --- two names -------------------------------------------------------------------------------- */

struct pair {
    int dirfd[2];
    char path[2][PATH_MAX];
    unsigned flags;
};

static int read_pair(const struct notice *notice, struct pair *pair)
{
    const uint64_t *args = notice->args;
    bool at = notice->call == SYS_renameat2 || notice->call == SYS_linkat;
    pair->flags = at ? (unsigned)args[4] : 0;
#ifdef SYS_renameat
    at |= notice->call == SYS_renameat;
#endif
    for (int i = 0; i < 2; i++) {
        pair->dirfd[i] = at ? (int)args[2 * i] : AT_FDCWD;
        int r = target_text(notice, args[at ? 2 * i + 1 : i], pair->path[i], PATH_MAX);
        if (r < 0)
            return r;
    }
    return 0;
}

/* REFER: before it, Landlock refuses every move from one directory to another. */
static bool ruleset_grants_pair(const struct notice *notice, const struct pair *pair)
{
    return notice->broker->landlock_abi >= 2 &&
           ruleset_grants_name(notice, pair->dirfd[0], pair->path[0]) &&
           ruleset_grants_name(notice, pair->dirfd[1], pair->path[1]);
}

/* Both ends may be written, are not above a protected path, and bring nothing to one. */
static bool may_move(const struct notice *notice, const struct place *from, const struct place *to)
{
    const struct policy *policy = notice_policy(notice);
    struct stat st;
    if (fstatat(from->dir, from->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return true; /* an exchange with nothing: the kernel has an error for it */
    return policy_may_write(policy, from->full) && !policy_pins(policy, from->full) &&
           (!S_ISDIR(st.st_mode) || policy_may_move_dir(policy, from->full, to->full));
}

static int move_place(struct notice *notice, const struct place *from, const struct place *to,
                      unsigned flags)
{
    const struct policy *policy = notice_policy(notice);
    struct stat st;
    if (!from->special && !to->special) {
        if (fstatat(from->dir, from->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return -errno;
        bool to_may = policy_may_write(policy, to->full) && !policy_pins(policy, to->full);
        bool back = !(flags & RENAME_EXCHANGE) || may_move(notice, to, from);
        if (!may_move(notice, from, to) || !to_may || !back) {
            notice_refuse_write(notice, to_may && back ? from->full : to->full);
            return 0;
        }
    }
    if (notice_naive(notice))
        return 0;
    return result(syscall(SYS_renameat2, from->dir, from->name, to->dir, to->name, flags));
}

static void move_name(struct notice *notice)
{
    struct pair pair;
    struct place from, to;
    int r = read_pair(notice, &pair);
    if (r == 0 && pair.flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE))
        r = -EINVAL;
    if (r == 0 && ruleset_grants_pair(notice, &pair)) {
        notice->go_on = true;
        return;
    }
    if (r == 0)
        r = place_find(notice, pair.dirfd[0], pair.path[0], &from);
    if (r == 0) {
        r = place_find(notice, pair.dirfd[1], pair.path[1], &to);
        if (r == 0) {
            r = move_place(notice, &from, &to, pair.flags);
            place_done(&to);
        }
        place_done(&from);
    }
    if (r < 0)
        notice->error = -r;
}

/* A second name of a file that must not be written would be a way to write it. */
static int link_object(struct notice *notice, int object, const struct place *to)
{
    const struct policy *policy = notice_policy(notice);
    char full[PATH_MAX];
    struct stat st;
    int nameless = path_canonical(object, full);
    if (nameless < 0)
        return nameless;
    if (fstatat(to->dir, to->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return -EEXIST;
    if (fstat(object, &st) < 0)
        return -errno;
    bool from = (nameless || policy_may_write(policy, full)) && !policy_hides_object(policy, &st);
    if (!from || !policy_may_write(policy, to->full)) {
        notice_refuse_write(notice, from ? to->full : full);
        return 0;
    }
    if (notice_naive(notice))
        return 0;
    return result(linkat(AT_FDCWD, fd_path(object).text, to->dir, to->name, AT_SYMLINK_FOLLOW));
}

static void link_name(struct notice *notice)
{
    struct pair pair;
    struct place to;
    int r = read_pair(notice, &pair);
    if (r == 0 && pair.flags & ~(unsigned)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
        r = -EINVAL;
    if (r == 0 && !pair.flags && ruleset_grants_pair(notice, &pair)) {
        notice->go_on = true;
        return;
    }
    if (r < 0) {
        notice->error = -r;
        return;
    }
    unsigned how = (pair.flags & AT_SYMLINK_FOLLOW ? 0 : LOOK_NOFOLLOW) |
                   (pair.flags & AT_EMPTY_PATH ? LOOK_EMPTY : 0);
    drop_fd int object = path_look_at(notice, pair.dirfd[0], pair.path[0], how);
    r = object < 0 ? object : place_find(notice, pair.dirfd[1], pair.path[1], &to);
    if (r == 0) {
        r = link_object(notice, object, &to);
        place_done(&to);
    }
    if (r < 0)
        notice->error = -r;
}

notice_fn broker_change_call(int call)
{
    switch (call) {
#ifdef SYS_rename
    case SYS_rename:
#endif
#ifdef SYS_renameat
    case SYS_renameat:
#endif
    case SYS_renameat2:
        return move_name;
#ifdef SYS_link
    case SYS_link:
#endif
    case SYS_linkat:
        return link_name;
    default:
        return find_change(call) ? change_one : NULL;
    }
}
