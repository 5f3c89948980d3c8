/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/sandbox/brokertest.h"

#include <linux/fs.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

static const struct lists env_denied = {.deny_read = "[\".env\",\"**/*.key\"]",
                                        .deny_write = "[\"fixed\",\"deep/er/kept\"]"};

static void make_workspace(void)
{
    make_place_anew();
    write_file("@w/a.txt", "a");
    write_file("@w/.env", "secret");
    write_file("@w/fixed", "fixed");
    write_file("@/outside", "outside");
    make_dir("@/dir-outside");
    make_dir("@w/sub");
    make_dir("@w/deep/er");
    write_file("@w/deep/er/kept", "kept");
    make_dir("@w/.git/hooks");
    make_link("@w/to-out", "@/outside");
    make_link("@w/out", "@/");
}

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static int mode_of(const char *path)
{
    struct stat st;
    return lstat(path, &st) < 0 ? -1 : (int)(st.st_mode & 07777);
}

/* --- making and removing ---------------------------------------------------------------------- */

static void make_names(void)
{
    GETS(mkdir("d", 0777), 0);
    HOLDS(mode_of("d") == 0755);
    GETS(mkdirat(AT_FDCWD, "d/e/", 0700), 0);
    GETS(mkdir("d", 0777), EEXIST);
    GETS(mkdir("/", 0777), EEXIST);
    GETS(mkdir("..", 0777), EEXIST);
    GETS(mkdir("", 0777), ENOENT);
    GETS(mkdir("none/x", 0777), ENOENT);
    GETS(mkdir("a.txt/x", 0777), ENOTDIR);
    GETS(mkdir(full("@/new"), 0777), EPERM);
    GETS(mkdir("out/new", 0777), EPERM);
    GETS(mkdir("../new", 0777), EPERM);
    GETS(mkdir("x.key", 0777), EPERM);
    GETS(symlink("anything", "link"), 0);
    GETS(symlinkat("anything", AT_FDCWD, "d/link"), 0);
    GETS(symlink("anything", "out/link"), EPERM);
    GETS(symlink("", "empty"), ENOENT);
    GETS(mknod("fifo", S_IFIFO | 0666, 0), 0);
    HOLDS(mode_of("fifo") == 0644);
    GETS(mknodat(AT_FDCWD, "plain", S_IFREG | 06755, 0), 0);
    HOLDS(mode_of("plain") == 0755);
    GETS(mknod("device", S_IFCHR | 0666, makedev(1, 3)), EPERM);
    GETS(mknod("device", S_IFBLK | 0666, makedev(1, 3)), EPERM);
    GETS(mknod("out/fifo", S_IFIFO | 0666, 0), EPERM);
    GETS(link("a.txt", "hard"), 0);
    HOLDS(has_text("hard", "a"));
    GETS(link("a.txt", "out/hard"), EPERM);
    GETS(link(".env", "hard-env"), EPERM);
    GETS(link("fixed", "hard-fixed"), EPERM);
    GETS(link(full("@/outside"), "hard-outside"), EPERM);
    GETS(linkat(AT_FDCWD, "to-out", AT_FDCWD, "hard-link", 0), 0);
    GETS(linkat(AT_FDCWD, "to-out", AT_FDCWD, "hard-2", AT_SYMLINK_FOLLOW), EPERM);
    GETS(link("a.txt", "hard"), EEXIST);
    GETS(link("sub", "hard-sub"), EPERM);
    GETS(link("a.txt", "x.key"), EPERM);
    GETS(linkat(AT_FDCWD, "a.txt", AT_FDCWD, "h", 1 << 30), EINVAL);
}

static void names_are_made_where_the_policy_says(void)
{
    make_workspace();
    act(&env_denied, make_names);
    TEST_CHECK(was_refused("mkdir", "@/new") && was_refused("link", "@w/.env"));
    make_workspace();
    act_alone(&env_denied, make_names);
}

static void remove_names(void)
{
    GETS(mkdir("d", 0755), 0);
    GETS(unlink("d"), EISDIR);
    GETS(rmdir("d"), 0);
    GETS(mkdir("d", 0755), 0);
    GETS(unlinkat(AT_FDCWD, "d/", AT_REMOVEDIR), 0);
    GETS(unlink("a.txt/"), ENOTDIR);
    GETS(unlink("a.txt"), 0);
    GETS(unlink("a.txt"), ENOENT);
    GETS(rmdir("."), EINVAL);
    GETS(rmdir("sub/.."), ENOTEMPTY);
    GETS(rmdir("/"), EBUSY);
    GETS(unlink(".env"), EPERM);
    GETS(unlink("fixed"), EPERM);
    GETS(unlink("to-out"), 0); /* the link, not what it leads to */
    GETS(unlink(full("@/outside")), EPERM);
    GETS(unlink("out/outside"), EPERM);
    GETS(rmdir("out/dir-outside"), EPERM);
    GETS(unlinkat(AT_FDCWD, "sub", 1 << 30), EINVAL);
}

static void names_are_removed_where_the_policy_says(void)
{
    make_workspace();
    act(&env_denied, remove_names);
    TEST_CHECK(was_refused("rmdir", "@/dir-outside") && was_refused("unlink", "@w/.env"));
    make_workspace();
    act_alone(&env_denied, remove_names);
}

/* --- moving ----------------------------------------------------------------------------------- */

static int rename2(const char *from, const char *to, unsigned flags)
{
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags);
}

static void move_names(void)
{
    GETS(rename("a.txt", "b.txt"), 0);
    GETS(renameat(AT_FDCWD, "b.txt", AT_FDCWD, "sub/c.txt"), 0);
    HOLDS(has_text("sub/c.txt", "a"));
    GETS(rename("none", "b"), ENOENT);
    GETS(rename("sub/", "sub2/"), 0);
    GETS(rename("sub2", "sub"), 0);
    GETS(rename("sub/c.txt", "x.key"), EPERM);
    GETS(rename("sub/c.txt", "fixed"), EPERM);
    GETS(rename("fixed", "loose"), EPERM);
    GETS(rename(".env", "loose"), EPERM);
    GETS(rename("sub/c.txt", "out/c.txt"), EPERM);
    GETS(rename("out/outside", "mine"), EPERM);
    GETS(rename(".", "b"), EBUSY);
    GETS(opens("one", O_WRONLY | O_CREAT), 0);
    GETS(rename2("one", "sub/c.txt", RENAME_NOREPLACE), EEXIST);
    GETS(rename2("one", "sub/c.txt", RENAME_EXCHANGE), 0);
    HOLDS(has_text("one", "a") && has_text("sub/c.txt", ""));
    GETS(rename2("one", "fixed", RENAME_EXCHANGE), EPERM);
    GETS(rename2("one", "b", RENAME_WHITEOUT), EINVAL);
    HOLDS(has_text("fixed", "fixed"));
}

static void files_are_moved_where_the_policy_says_at_both_ends(void)
{
    make_workspace();
    act(&env_denied, move_names);
    TEST_CHECK(was_refused("rename", "@w/fixed") && was_refused("rename", "@/c.txt"));
    make_workspace();
    act_alone(&env_denied, move_names);
}

static void move_above(void)
{
    GETS(rename("deep", "deep2"), EPERM);
    GETS(rename("deep/er", "er"), EPERM);
    GETS(rename(".git", "git2"), EPERM);
    GETS(rename(".git/hooks", ".git/h2"), EPERM);
    GETS(rename2("deep", "sub", RENAME_EXCHANGE), EPERM);
    GETS(rename2("sub", ".git", RENAME_EXCHANGE), EPERM);
    GETS(rename(full("@w"), full("@/other")), EPERM);
    GETS(opens(".git/hooks/pre-commit", O_WRONLY | O_CREAT), EPERM);
    GETS(opens(".git/HEAD", O_WRONLY | O_CREAT), 0);
    GETS(opens("deep/er/other", O_WRONLY | O_CREAT), 0);
    GETS(rename("deep/er/other", "other"), 0);
    GETS(mkdir("fresh", 0755), 0);
    GETS(rename("fresh", "fresh2"), 0);
    GETS(rmdir("fresh2"), 0);
    HOLDS(exists("deep/er/kept") && exists(".git/hooks"));
}

static void what_is_above_a_protected_path_stays_where_it_is(void)
{
    make_workspace();
    act(&env_denied, move_above);
    make_workspace();
    act_alone(&env_denied, move_above);
}

static void take_the_place(void)
{
    GETS(mkdir("g2", 0755), 0);
    GETS(mkdir("g2/hooks", 0755), 0);
    GETS(symlink("g2", ".git"), EPERM);
    GETS(rename("g2", ".git"), EPERM);
    GETS(mkdir(".git", 0755), 0); /* as git init does */
    GETS(rmdir(".git"), EPERM);
}

static void nothing_takes_the_place_above_a_protected_path_that_is_not_there_yet(void)
{
    make_place();
    static const struct lists lists = {.deny_write = "[\".git/hooks\"]"};
    act(&lists, take_the_place);
}

static void bring_along(void)
{
    GETS(mkdir("t", 0755), 0);
    GETS(mkdir("t/sub", 0755), 0);
    GETS(mkdir("other", 0755), 0);
    GETS(opens("t/sub/conf", O_WRONLY | O_CREAT), 0); /* no pattern matches it here */
    GETS(rename("t/sub", "moved"), EPERM);
    GETS(rename2("t/sub", "other", RENAME_EXCHANGE), EPERM);
    GETS(rename2("other", "t/sub", RENAME_EXCHANGE), EPERM);
    GETS(rename("other", "other2"), 0);
    GETS(rename("t/sub", "t/sub2"), 0);
    GETS(rename("t/sub2/conf", "a.txt"), 0);
    HOLDS(!exists("moved") && !exists("other/conf"));
}

static void a_directory_brings_no_names_to_where_a_pattern_denies_them(void)
{
    static const struct lists lists = {.deny_write = "[\"*/conf\",\"**/.env\"]"};
    make_place();
    act(&lists, bring_along);
    make_place();
    act_alone(&lists, bring_along);
}

/* --- what a file says of itself --------------------------------------------------------------- */

static bool has_fchmodat2; /* call 452; a container's profile may not know it */

static int with_fchmodat2(int error)
{
    return has_fchmodat2 ? error : ENOSYS;
}

static void change_modes(void)
{
    GETS(chmod("a.txt", 0600), 0);
    HOLDS(mode_of("a.txt") == 0600);
    GETS(chmod("a.txt", 06755), 0);
    HOLDS(mode_of("a.txt") == 0755);
    GETS(fchmodat(AT_FDCWD, "a.txt", 0640, 0), 0);
    HOLDS(mode_of("a.txt") == 0640);
    GETS((int)syscall(452, AT_FDCWD, "a.txt", 0644, 0), with_fchmodat2(0));
    HOLDS(mode_of("a.txt") == (has_fchmodat2 ? 0644 : 0640));
    GETS((int)syscall(452, AT_FDCWD, "to-out", 0644, AT_SYMLINK_NOFOLLOW),
         with_fchmodat2(EOPNOTSUPP));
    GETS((int)syscall(452, AT_FDCWD, "a.txt", 0644, 1 << 30), with_fchmodat2(EINVAL));
    GETS(chmod(".env", 0666), EPERM);
    GETS(chmod("fixed", 0666), EPERM);
    GETS(chmod("to-out", 0666), EPERM);
    GETS(chmod("none", 0666), ENOENT);
    int fd = open("a.txt", O_RDONLY | O_CLOEXEC), other = open("to-out", O_RDONLY | O_CLOEXEC);
    GETS(fchmod(fd, 0604), 0);
    HOLDS(mode_of("a.txt") == 0604);
    GETS((int)syscall(452, fd, "", 0644, AT_EMPTY_PATH), with_fchmodat2(0));
    GETS(fchmod(other, 0666), EPERM);
    GETS(fchmod(1000, 0666), EBADF);
    GETS(fchmod(AT_FDCWD, 0666), EBADF);
}

static void change_the_rest(void)
{
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 2000, .tv_nsec = 5}};
    struct timeval micros[2] = {{.tv_sec = 1}, {.tv_sec = 3000}};
    struct utimbuf seconds = {.actime = 1, .modtime = 4000};
    struct stat st;
    GETS(utimensat(AT_FDCWD, "a.txt", times, 0), 0);
    HOLDS(stat("a.txt", &st) == 0 && st.st_mtim.tv_sec == 2000 && st.st_mtim.tv_nsec == 5);
    GETS(utimes("a.txt", micros), 0);
    HOLDS(stat("a.txt", &st) == 0 && st.st_mtim.tv_sec == 3000);
    GETS(utime("a.txt", &seconds), 0);
    HOLDS(stat("a.txt", &st) == 0 && st.st_mtim.tv_sec == 4000);
    GETS(utimensat(AT_FDCWD, "to-out", times, AT_SYMLINK_NOFOLLOW), 0);
    GETS(utimensat(AT_FDCWD, "to-out", times, 0), EPERM);
    GETS(utimes("fixed", NULL), EPERM);
    drop_fd int fd = open("a.txt", O_RDONLY | O_CLOEXEC);
    GETS(futimens(fd, times), 0);
    HOLDS(stat("a.txt", &st) == 0 && st.st_mtim.tv_sec == 2000);
    GETS(chown("a.txt", getuid(), getgid()), 0);
    GETS(fchown(fd, (uid_t)-1, (gid_t)-1), 0);
    GETS(lchown("to-out", getuid(), getgid()), 0);
    GETS(fchownat(AT_FDCWD, "a.txt", getuid(), getgid(), 0), 0);
    GETS(chown("a.txt", 12345, 12345), EPERM);
    GETS(chown("to-out", getuid(), getgid()), EPERM);
    GETS(truncate("a.txt", 5), 0);
    HOLDS(stat("a.txt", &st) == 0 && st.st_size == 5);
    GETS(truncate("fixed", 0), EPERM);
    GETS(truncate("to-out", 0), EPERM);
    GETS(truncate("sub", 0), EISDIR);
    GETS(truncate("a.txt", -1), EINVAL);
    HOLDS(has_text("fixed", "fixed"));
}

static void change_attributes(void)
{
    char value[8] = "";
    drop_fd int fd = open("a.txt", O_RDONLY | O_CLOEXEC);
    if (setxattr("a.txt", "user.x", "1", 1, 0) < 0 && errno == EOPNOTSUPP)
        return; /* a file system that has none */
    HOLDS(getxattr("a.txt", "user.x", value, sizeof value) == 1 && value[0] == '1');
    GETS(setxattr("a.txt", "user.x", "1", 1, XATTR_CREATE), EEXIST);
    GETS(fsetxattr(fd, "user.y", "2", 1, 0), 0);
    GETS(setxattr("a.txt", "user.empty", "", 0, 0), 0);
    GETS(removexattr("a.txt", "user.x"), 0);
    GETS(removexattr("a.txt", "user.x"), ENODATA);
    GETS(fremovexattr(fd, "user.y"), 0);
    GETS(lsetxattr("to-out", "user.x", "1", 1, 0), EPERM); /* by the kernel: links have none */
    GETS(setxattr("fixed", "user.x", "1", 1, 0), EPERM);
    GETS(setxattr("to-out", "user.x", "1", 1, 0), EPERM);
    GETS(removexattr(".env", "user.x"), EPERM);
    GETS(setxattr("a.txt", "", "1", 1, 0), ERANGE);
    volatile size_t much = 1 << 20;
    GETS(setxattr("a.txt", "user.x", value, much, 0), E2BIG);
}

static void modes_owners_times_and_attributes_are_changed_where_files_may_be_written(void)
{
    has_fchmodat2 = syscall(452, -1, "", 0, 0) < 0 && errno != ENOSYS;
    make_workspace();
    act(&env_denied, change_modes);
    act(&env_denied, change_the_rest);
    act(&env_denied, change_attributes);
    make_workspace();
    act_alone(&env_denied, change_modes);
    act_alone(&env_denied, change_the_rest);
    act_alone(&env_denied, change_attributes);
}

static void change_own(void)
{
    int fd = memfd_create("mine", MFD_CLOEXEC), ends[2];
    struct stat st;
    GETS(fchmod(fd, 0600), 0);
    HOLDS(fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0600);
    GETS(ftruncate(fd, 100), 0);
    GETS(pipe2(ends, O_CLOEXEC), 0);
    GETS(fchmod(ends[0], 0600), 0);
    GETS(futimens(fd, NULL), 0);
    int gone = open("gone", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    GETS(unlink("gone"), 0);
    GETS(fchmod(gone, 0600), 0);
}

static void files_without_a_name_are_their_owners(void)
{
    make_workspace();
    act(&env_denied, change_own);
}

static void use_directories(void)
{
    int dir = open("sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    GETS(mkdirat(dir, "d", 0755), 0);
    GETS(symlinkat("x", dir, "l"), 0);
    GETS(renameat(dir, "d", AT_FDCWD, "moved"), 0);
    GETS(unlinkat(dir, "../moved", AT_REMOVEDIR), 0);
    GETS(unlinkat(dir, "../fixed", 0), EPERM);
    GETS(unlinkat(dir, "../../outside", 0), EPERM);
    GETS(mkdirat(1000, "d", 0755), EBADF);
    GETS(fchmodat(dir, "../a.txt", 0600, 0), 0);
    GETS(rename("sub", "sub2"), 0);
    GETS(mkdirat(dir, "after", 0755), 0);
    HOLDS(exists("sub2/after"));
    GETS(fchdir(dir), 0);
    GETS(mkdir("here", 0755), 0);
    GETS(mkdir("../../up", 0755), EPERM);
    HOLDS(exists("../sub2/here"));
}

static void names_relative_to_directories_are_judged_where_these_are_now(void)
{
    make_workspace();
    act(&env_denied, use_directories);
}

static void change_under_another_error(void)
{
    GETS(mkdir("../up", 0755), EROFS);
    GETS(mkdir("below", 0755), 0);
    GETS(unlink("fixed"), EROFS);
    GETS(rename("a.txt", "../up"), EROFS);
    GETS(link("fixed", "hard"), EROFS);
    GETS(chmod("fixed", 0600), EROFS);
    GETS(truncate("fixed", 0), EROFS);
    GETS(opens("../up", O_WRONLY | O_CREAT), EROFS);
    GETS(opens("../up", O_RDONLY | O_CREAT), EROFS);
    GETS(opens("fixed", O_RDWR), EROFS);
    GETS(opens("fixed", O_RDONLY), 0);
    GETS(opens(".env", O_RDONLY), EPERM);
    GETS(opens(".env", O_RDWR), EPERM);
    GETS(mknod("device", S_IFCHR | 0666, makedev(1, 3)), EPERM);
}

static void refused_changes_have_the_error_that_was_asked_for(void)
{
    make_workspace();
    struct stage stage = {
        .lists = &env_denied, .write_error = EROFS, .child = change_under_another_error};
    start_stage(&stage);
    end_stage();
    TEST_CHECK(was_refused("mkdir", "@/up") && was_refused("chmod", "@w/fixed"));
}

TEST_LIST = {
    {"names are made where the policy says", names_are_made_where_the_policy_says},
    {"names are removed where the policy says", names_are_removed_where_the_policy_says},
    {"files are moved where the policy says, at both ends",
     files_are_moved_where_the_policy_says_at_both_ends},
    {"what is above a protected path stays where it is",
     what_is_above_a_protected_path_stays_where_it_is},
    {"nothing takes the place above a protected path that is not there yet",
     nothing_takes_the_place_above_a_protected_path_that_is_not_there_yet},
    {"a directory brings no names to where a pattern denies them",
     a_directory_brings_no_names_to_where_a_pattern_denies_them},
    {"modes, owners, times and attributes are changed where files may be written",
     modes_owners_times_and_attributes_are_changed_where_files_may_be_written},
    {"files without a name are their owner's", files_without_a_name_are_their_owners},
    {"names relative to directories are judged where these are now",
     names_relative_to_directories_are_judged_where_these_are_now},
    {"refused changes have the error that was asked for, refused reads have their own",
     refused_changes_have_the_error_that_was_asked_for},
    {NULL, NULL},
};
