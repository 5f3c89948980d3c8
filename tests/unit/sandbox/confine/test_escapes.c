/* SPDX-License-Identifier: Apache-2.0
 *
 * Known tricks, each beside the same act where it is allowed. */
#include "unit/sandbox/brokertest.h"

#include <linux/fs.h>
#include <sched.h>

enum { NONSENSE = 20000, THREADS = 2, ROUNDS = 1500, SHARED_FD = 40, STACK = 1 << 16 };

static const struct lists env_denied = {.deny_read = "[\".env\",\"**/*.key\"]",
                                        .deny_write = "[\"fixed\"]"};

static void make_workspace(void)
{
    make_place_anew();
    write_file("@w/a.txt", "a");
    write_file("@w/.env", "secret");
    write_file("@w/fixed", "fixed");
    make_dir("@w/sub");
}

static void play(void (*fn)(void))
{
    make_workspace();
    act(&env_denied, fn);
}

/* --- descriptors ------------------------------------------------------------------------------ */

static void use_handle(const char *name, int reads, int writes)
{
    char by_self[64], by_number[64], by_thread[80];
    int fd = open(name, O_PATH | O_CLOEXEC);
    HOLDS(fd >= 0);
    (void)snprintf(by_self, sizeof by_self, "/dev/fd/%d", fd);
    (void)snprintf(by_number, sizeof by_number, "/proc/%d/fd/%d", (int)getpid(), fd);
    (void)snprintf(by_thread, sizeof by_thread, "/proc/self/task/%d/fd/%d", (int)getpid(), fd);
    GETS(opens(by_self, O_RDONLY), reads);
    GETS(opens(by_number, O_RDONLY), reads);
    GETS(opens(by_thread, O_RDWR), writes);
    GETS(linkat(fd, "", AT_FDCWD, "by-handle", AT_EMPTY_PATH), writes);
    GETS(linkat(AT_FDCWD, by_self, AT_FDCWD, "by-name", AT_SYMLINK_FOLLOW), writes);
    (void)unlink("by-handle");
    (void)unlink("by-name");
    GETS(truncate(by_number, 0), writes);
    GETS(chmod(by_thread, 0600), writes);
    GETS(utimensat(fd, "", NULL, AT_EMPTY_PATH), writes);
    GETS(fchownat(fd, "", getuid(), getgid(), AT_EMPTY_PATH), writes);
    GETS(ftruncate(fd, 0), EBADF);
    HOLDS(mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED && errno == EBADF);
    (void)close(fd);
}

static void use_handles(void)
{
    use_handle("a.txt", 0, 0);
    use_handle(".env", EPERM, EPERM);
    use_handle("fixed", 0, EPERM);
}

static void a_descriptor_that_reads_nothing_is_no_handle_on_a_denied_file(void)
{
    play(use_handles);
}

static void name_the_nameless(void)
{
    int fd = open("sub", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    HOLDS(fd >= 0);
    GETS(linkat(fd, "", AT_FDCWD, full("@/outside"), AT_EMPTY_PATH), EPERM);
    GETS(linkat(fd, "", AT_FDCWD, "sub/x.key", AT_EMPTY_PATH), EPERM);
    GETS(linkat(fd, "", AT_FDCWD, "sub/x", AT_EMPTY_PATH), 0);
}

static void a_file_without_a_name_gets_one_where_names_may_be_made(void)
{
    play(name_the_nameless);
    TEST_CHECK(access(full("@/outside"), F_OK) < 0 && access(full("@w/sub/x"), F_OK) == 0);
}

/* Its modes and names are tried on as they are, for a failure would harm the machine. */
static void take_a_device(void)
{
    struct stat st;
    GETS(opens("/dev/null", O_WRONLY), 0);
    drop_fd int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    HOLDS(fstat(fd, &st) == 0 && S_ISCHR(st.st_mode));
    GETS(fchmod(fd, st.st_mode & 07777), EPERM);
    GETS(chmod("/dev/null", st.st_mode & 07777), EPERM);
    GETS(fchown(fd, st.st_uid, st.st_gid), EPERM);
    GETS(utimensat(AT_FDCWD, "/dev/null", NULL, 0), EPERM);
    GETS(syscall(SYS_renameat2, AT_FDCWD, "/dev/null", AT_FDCWD, "/dev/zero", RENAME_NOREPLACE),
         EPERM);
    GETS(unlinkat(AT_FDCWD, "/dev/null", AT_REMOVEDIR), EPERM); /* it is no directory */
    GETS(chmod("a.txt", 0600), 0);
    GETS(rename("a.txt", "b.txt"), 0);
}

static void a_device_that_all_write_to_stays_as_it_is(void)
{
    play(take_a_device);
}

/* --- tasks that share ------------------------------------------------------------------------- */

static volatile bool over;

/* Another process, with the same working directory, descriptors and memory. */
static int change_all(void *arg)
{
    const int *dirs = arg;
    for (unsigned i = 0; !over; i++) {
        (void)!fchdir(dirs[i & 1]);
        (void)dup3(dirs[i >> 1 & 1], SHARED_FD, O_CLOEXEC);
    }
    return 0;
}

static int secrets;

static void try_at(int dir, const char *name)
{
    char text[16] = "";
    drop_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof text - 1) > 0)
        secrets += strcmp(text, "secret") == 0;
    drop_fd int made = openat(dir, "made", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static void share_all(void)
{
    static char stack[STACK] __attribute__((aligned(16)));
    int dirs[] = {open(".", O_PATH | O_DIRECTORY | O_CLOEXEC),
                  open("..", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    GETS(dup3(dirs[0], SHARED_FD, O_CLOEXEC), 0);
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD;
    pid_t other = clone(change_all, stack + sizeof stack, flags, dirs);
    HOLDS(other > 0);
    for (int i = 0; i < ROUNDS; i++) {
        try_at(AT_FDCWD, ".env");
        try_at(SHARED_FD, ".env");
        try_at(AT_FDCWD, "../w/.env");
        try_at(AT_FDCWD, "/proc/self/cwd/.env");
    }
    over = true;
    HOLDS(waitpid(other, NULL, 0) == other);
    HOLDS(secrets == 0);
}

static void who_shares_directory_and_descriptors_with_another_reads_no_secret(void)
{
    play(share_all);
    TEST_CHECK(access(full("@/made"), F_OK) < 0 && access(full("@w/made"), F_OK) == 0);
}

/* --- nonsense --------------------------------------------------------------------------------- */

static const int calls[] = {
    SYS_openat,    SYS_openat2,   SYS_mkdirat,   SYS_unlinkat, SYS_renameat2,   SYS_linkat,
    SYS_symlinkat, SYS_mknodat,   SYS_truncate,  SYS_fchmodat, SYS_fchownat,    SYS_utimensat,
    SYS_setxattr,  SYS_fsetxattr, SYS_lsetxattr, SYS_fchmod,   SYS_removexattr, SYS_fchown,
};
static const char *const paths[] = {
    ".env", "a.txt", "",     "/",    "..", "sub/", "/proc/self/fd/3", "/proc/thread-self/cwd",
    "new",  "/dev",  "a//b", "link", ".",  "x/..", "/proc/1/mem",     "gone (deleted)"};
static char *page; /* the one behind it is not there */

static long random_argument(unsigned *seed)
{
    unsigned r = (unsigned)rand_r(seed);
    char *at = page + 256L * (r >> 8 & 7);
    switch (r & 7) {
    case 0:
        return (long)(~0UL << (r >> 3 & 63));
    case 1:
        return r >> 3 & 7;
    case 2:
        return AT_FDCWD;
    case 3:
        return (long)(uintptr_t)page + 4096 - (r >> 3 & 7);
    case 4:
        return (long)r << (r >> 3 & 31);
    default:
        (void)strcpy(at, paths[(r >> 3) % (sizeof paths / sizeof *paths)]);
        return (long)(uintptr_t)at;
    }
}

static void *talk_nonsense(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    for (int i = 0; i < NONSENSE; i++) {
        long a[6];
        for (int j = 0; j < 6; j++)
            a[j] = random_argument(&seed);
        int call = calls[(unsigned)rand_r(&seed) % (sizeof calls / sizeof *calls)];
        if (call == SYS_openat)
            a[2] |= O_NONBLOCK;
        long fd = syscall(call, a[0], a[1], a[2], a[3], a[4], a[5]);
        if (fd > STDERR_FILENO)
            (void)close((int)fd);
    }
    return NULL;
}

static void all_talk_nonsense(void)
{
    pthread_t threads[THREADS];
    drop_fd int file = open("a.txt", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        GETS(dup2(file, fd), 0); /* what they were is not ours to play with */
    page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)munmap(page + 4096, 4096);
    for (uintptr_t i = 0; i < THREADS; i++)
        HOLDS(pthread_create(&threads[i], NULL, talk_nonsense, (void *)(i + 1)) == 0);
    for (int i = 0; i < THREADS; i++)
        HOLDS(pthread_join(threads[i], NULL) == 0);
    (void)chmod(full("@w"), 0755); /* nonsense may have taken that away */
    GETS(opens(".env", O_RDONLY), EPERM);
    GETS(opens("sub-judice", O_WRONLY | O_CREAT), 0);
}

static void a_broker_that_was_told_nonsense_still_judges(void)
{
    play(all_talk_nonsense);
}

TEST_LIST = {
    {"a descriptor that reads nothing is no handle on a denied file",
     a_descriptor_that_reads_nothing_is_no_handle_on_a_denied_file},
    {"a file without a name gets one where names may be made",
     a_file_without_a_name_gets_one_where_names_may_be_made},
    {"a device that all write to stays as it is", a_device_that_all_write_to_stays_as_it_is},
    {"who shares directory and descriptors with another reads no secret",
     who_shares_directory_and_descriptors_with_another_reads_no_secret},
    {"a broker that was told nonsense still judges", a_broker_that_was_told_nonsense_still_judges},
    {NULL, NULL},
};
