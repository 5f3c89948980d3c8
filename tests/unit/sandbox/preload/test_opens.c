/* SPDX-License-Identifier: Apache-2.0
 *
 * The mark of an open, and the library that sets it: open() and its kind are those of
 * src/sandbox/preload/opens.c here. Behind the walls of the first half nobody listens, so what is
 * notified is ENOSYS; behind those of the second there is a broker. */
#include "unit/sandbox/wallstest.h"

#include "unit/sandbox/brokertest.h"

#include <dirent.h>

#include "fakes/fake_net.h"
#include "sandbox/preload/opens_mark.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

enum { ASKED = ENOSYS };

int open64(const char *path, int flags, ...);
int openat64(int dirfd, const char *path, int flags, ...);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);

static const struct filter_wants reads = {.listener = true, .reads = true, .open_network = true};
static const struct filter_wants marks = {
    .listener = true, .reads = true, .marks = true, .open_network = true};

/* --- the filter ------------------------------------------------------------------------------- */

static long args[6];

static int make_call(void)
{
    return call_result(syscall(SYS_openat, args[0], args[1], args[2], args[3], args[4], args[5]));
}

static int opened(const struct filter_wants *wants, long flags, long fifth, long sixth)
{
    const long these[] = {AT_FDCWD, (long)(uintptr_t)"/", flags, 0, fifth, sixth};
    memcpy(args, these, sizeof args);
    return run(make_call, &(struct wall){wants, -1});
}

static const int only_reading[] = {0,          O_CLOEXEC,  O_DIRECTORY,     O_NOCTTY,
                                   O_NOFOLLOW, O_NONBLOCK, OPENS_LARGEFILE, OPENS_FLAGS};

static void a_marked_open_that_only_reads_asks_nobody(void)
{
    for (size_t i = 0; i < COUNT(only_reading); i++) {
        TEST_CASE_("%#o", (unsigned)only_reading[i]);
        TEST_CHECK(opened(&marks, only_reading[i], OPENS_MARK_5TH, OPENS_MARK_6TH) == 0);
        TEST_CHECK(opened(&marks, only_reading[i], 0, 0) == ASKED);
    }
}

static void a_mark_means_nothing_where_no_floor_judges(void)
{
    for (size_t i = 0; i < COUNT(only_reading); i++)
        TEST_CHECK(opened(&reads, only_reading[i], OPENS_MARK_5TH, OPENS_MARK_6TH) == ASKED);
    static const struct filter_wants alone = {.listener = true, .writes = true, .marks = true};
    TEST_CHECK(opened(&alone, O_WRONLY, OPENS_MARK_5TH, OPENS_MARK_6TH) == ASKED);
    TEST_CHECK(opened(&alone, O_RDONLY, 0, 0) == 0);
}

static void a_mark_lets_no_other_open_pass(void)
{
    static const int others[] = {
        O_WRONLY,  O_RDWR, O_ACCMODE, O_CREAT,   O_TRUNC, O_TMPFILE | O_RDWR,
        O_TMPFILE, O_PATH, O_APPEND,  O_NOATIME, O_SYNC,  1 << 30};
    for (size_t i = 0; i < COUNT(others); i++) {
        TEST_CASE_("%#o", (unsigned)others[i]);
        TEST_CHECK(opened(&marks, others[i], OPENS_MARK_5TH, OPENS_MARK_6TH) == ASKED);
        TEST_CHECK(opened(&marks, others[i] | O_CLOEXEC, OPENS_MARK_5TH, OPENS_MARK_6TH) == ASKED);
    }
}

static void half_a_mark_is_none(void)
{
    static const long pairs[][2] = {{OPENS_MARK_5TH, 0},
                                    {0, OPENS_MARK_6TH},
                                    {OPENS_MARK_6TH, OPENS_MARK_5TH},
                                    {OPENS_MARK_5TH, OPENS_MARK_6TH + 1},
                                    {OPENS_MARK_5TH ^ 1, OPENS_MARK_6TH}};
    for (size_t i = 0; i < COUNT(pairs); i++)
        TEST_CHECK(opened(&marks, O_RDONLY, pairs[i][0], pairs[i][1]) == ASKED);
}

static int open_otherwise(void)
{
#ifdef SYS_open
    if (syscall(SYS_open, "/", O_RDONLY, 0, 0, OPENS_MARK_5TH, OPENS_MARK_6TH) >= 0 ||
        errno != ASKED)
        return EDOM;
#endif
    static const uint64_t how[3];
    return call_result(
        syscall(SYS_openat2, AT_FDCWD, "/", how, sizeof how, OPENS_MARK_5TH, OPENS_MARK_6TH));
}

static void other_calls_have_no_mark(void)
{
    TEST_CHECK(run(open_otherwise, &(struct wall){&marks, -1}) == ASKED);
}

/* --- the library, where nobody answers -------------------------------------------------------- */

static const char *path;
static int flags;

static int result(int fd)
{
    return fd < 0 ? errno : close(fd);
}

static int do_open(void)
{
    return result(open(path, flags | O_CLOEXEC, 0600));
}

static int do_open64(void)
{
    return result(open64(path, flags | O_CLOEXEC, 0600));
}

static int do_openat(void)
{
    return result(openat(AT_FDCWD, path, flags | O_CLOEXEC, 0600));
}

static int do_openat64(void)
{
    return result(openat64(AT_FDCWD, path, flags | O_CLOEXEC, 0600));
}

static int do_open_2(void)
{
    return result(__open_2(path, flags));
}

static int do_open64_2(void)
{
    return result(__open64_2(path, flags));
}

static int do_openat_2(void)
{
    return result(__openat_2(AT_FDCWD, path, flags));
}

static int do_openat64_2(void)
{
    return result(__openat64_2(AT_FDCWD, path, flags));
}

static int do_opendir(void)
{
    DIR *dir = opendir(path);
    return dir ? closedir(dir) : errno;
}

static int answer(act_fn fn, const char *to_open, int with)
{
    path = to_open;
    flags = with;
    return run(fn, &(struct wall){&marks, -1});
}

static const act_fn all[] = {do_open,     do_openat,   do_open64,     do_openat64, do_open_2,
                             do_open64_2, do_openat_2, do_openat64_2, do_opendir};

static void every_function_that_only_reads_sets_the_mark(void)
{
    for (size_t i = 0; i < COUNT(all); i++) {
        TEST_CASE_("function %zu", i);
        TEST_CHECK(answer(all[i], "/", O_RDONLY) == 0);
        TEST_CHECK(answer(all[i], "/missing", O_RDONLY) == ENOENT);
        TEST_CHECK(answer(all[i], "/bin/true/x", O_RDONLY) == ENOTDIR);
        TEST_CHECK(answer(all[i], "", O_RDONLY) == ENOENT);
        TEST_CHECK(answer(all[i], (const char *)16, O_RDONLY) == EFAULT);
        if (all[i] != do_opendir)
            TEST_CHECK(answer(all[i], "/", O_WRONLY) == ASKED);
    }
    TEST_CHECK(answer(do_opendir, "/bin/true", 0) == ENOTDIR);
}

static void what_checked_programs_may_not_do_ends_them(void)
{
    TEST_CHECK(answer(do_open_2, "/missing", O_CREAT | O_WRONLY) > ENDED_BY_SIGNAL);
    TEST_CHECK(answer(do_openat_2, "/", O_TMPFILE | O_WRONLY) > ENDED_BY_SIGNAL);
}

static int open_in_etc(void)
{
    return chdir("/etc") < 0 ? errno : do_open();
}

static void what_the_broker_makes_up_is_asked_of_it_by_any_path(void)
{
    TEST_CHECK(answer(do_open, "/etc/hosts", O_RDONLY) == ASKED);
    TEST_CHECK(answer(do_openat, "/etc/resolv.conf", O_RDONLY) == ASKED);
    TEST_CHECK(answer(do_open, "//etc/../etc/hosts", O_RDONLY) == ASKED);
    TEST_CHECK(answer(do_open, "/proc/self/root/etc/hosts", O_RDONLY) == ASKED);
    TEST_CHECK(answer(open_in_etc, "hosts", O_RDONLY) == ASKED);
    TEST_CHECK(answer(do_open, "/missing/hosts", O_RDONLY) == ASKED);
    TEST_CHECK(answer(do_open, "/etc/passwd", O_RDONLY) == 0);
    TEST_CHECK(answer(open_in_etc, "passwd", O_RDONLY) == 0);
    TEST_CHECK(answer(do_open, "/etc/hostsx", O_RDONLY) == ENOENT);
}

/* --- with ruleset and broker --------------------------------------------------------------------
 * */

static const struct lists lists = {.deny_read = "[\".env\",\"*.key\"]"};

static void make_workspace(void)
{
    make_place_anew();
    write_file("@w/a.txt", "a");
    write_file("@w/b.txt", "b");
    write_file("@w/.env", "secret");
    make_dir("@w/safe");
    write_file("@w/safe/c.txt", "c");
    make_link("@w/to-env", "@w/.env");
    make_link("@w/safe/to-env", "@w/.env");
}

static int count_names(const char *dir)
{
    DIR *list = opendir(dir);
    int n = 0;
    while (list && readdir(list))
        n++;
    return list && closedir(list) == 0 ? n : -1;
}

static void use_library(void)
{
    struct stat st;
    errno = EDOM;
    HOLDS(has_text("safe/c.txt", "c"));
    HOLDS(has_text("a.txt", "a"));
    HOLDS(errno == EDOM);
    HOLDS(count_names(".") == 7 && count_names("safe") == 4);
    HOLDS(has_text(full("@w/a.txt"), "a"));
    GETS(opens(".env", O_RDONLY), EPERM);
    GETS(opens("safe/to-env", O_RDONLY), EPERM);
    GETS(opens("safe/to-env", O_RDONLY | O_NOFOLLOW), ELOOP);
    GETS(opens("missing", O_RDONLY), ENOENT);
    GETS(opens("a.txt/x", O_RDONLY), ENOTDIR);
    GETS(opens("a.txt", O_RDONLY | O_DIRECTORY), ENOTDIR);
    HOLDS(has_text(FAKE_NET_PATH, FAKE_NET_TEXT));
    GETS(opens("new", O_WRONLY | O_CREAT | O_EXCL), 0);
    GETS(stat("new", &st), 0);
    HOLDS((st.st_mode & 07777) == 0644);
    GETS(opens("/etc/passwd", O_RDWR), EPERM);
    GETS(opens(".", O_RDWR | O_TMPFILE), 0);
}

static void what_the_floor_refuses_is_asked_of_the_broker(void)
{
    make_workspace();
    act(&lists, use_library);
    TEST_CHECK(was_refused("openat", "@w/.env"));
    TEST_CHECK(refusals.count == 3);
    make_workspace();
    act_alone(&lists, use_library);
}

static int marked(int dirfd, const char *name, int with)
{
    int fd =
        (int)syscall(SYS_openat, dirfd, name, with | O_CLOEXEC, 0, OPENS_MARK_5TH, OPENS_MARK_6TH);
    return fd < 0 ? -1 : close(fd);
}

/* Somebody outside makes what may not be read, after the rules were made. */
static void come_later(void)
{
    write_file("@w/late.key", "secret");
    TEST_ASSERT(rename(full("@w/b.txt"), full("@w/b.key")) == 0);
}

static void use_marks(void)
{
    GETS(marked(AT_FDCWD, "safe/c.txt", O_RDONLY), 0);
    GETS(marked(AT_FDCWD, full("@w/safe/c.txt"), O_RDONLY), 0);
    static const char *const names[] = {".env",     "./safe/../.env", "to-env", "safe/to-env",
                                        "late.key", "b.key",          "a.txt",  "."};
    for (size_t i = 0; i < COUNT(names); i++)
        GETS(marked(AT_FDCWD, names[i], O_RDONLY), EACCES);
    drop_fd int here = openat(AT_FDCWD, ".", O_PATH | O_CLOEXEC);
    drop_fd int safe = openat(AT_FDCWD, "safe", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    drop_fd int secret = openat(AT_FDCWD, ".env", O_PATH | O_CLOEXEC);
    char by_number[40];
    (void)snprintf(by_number, sizeof by_number, "/proc/self/fd/%d", secret);
    HOLDS(here >= 0 && safe >= 0 && secret >= 0);
    GETS(marked(here, ".env", O_RDONLY), EACCES);
    GETS(marked(safe, "../.env", O_RDONLY), EACCES);
    GETS(marked(safe, "c.txt", O_RDONLY), 0);
    GETS(marked(AT_FDCWD, by_number, O_RDONLY), EACCES);
    GETS(opens(by_number, O_RDONLY), EPERM);
    GETS(opens("late.key", O_RDONLY), EPERM);
    GETS(opens("b.key", O_RDONLY), EPERM);
    GETS(rename("a.txt", "a.key"), EPERM);
    GETS(link("a.txt", "a.key"), EPERM);
    GETS(marked(AT_FDCWD, "/etc/passwd", O_RDONLY), 0);
    GETS(marked(AT_FDCWD, "/etc/passwd", O_RDWR), EPERM);
    GETS(marked(AT_FDCWD, "safe/c.txt", O_RDWR), 0);
}

static void a_mark_opens_nothing_that_the_broker_would_refuse(void)
{
    make_workspace();
    start_stage(&(struct stage){.lists = &lists, .ready = come_later, .child = use_marks});
    end_stage();
    TEST_CHECK(was_refused("openat", "@w/late.key") && was_refused("openat", "@w/b.key"));
}

TEST_LIST = {
    {"a marked open that only reads asks nobody", a_marked_open_that_only_reads_asks_nobody},
    {"a mark means nothing where no ruleset judges", a_mark_means_nothing_where_no_floor_judges},
    {"a mark lets no other open pass", a_mark_lets_no_other_open_pass},
    {"half a mark is none", half_a_mark_is_none},
    {"other calls have no mark", other_calls_have_no_mark},
    {"every function that only reads sets the mark", every_function_that_only_reads_sets_the_mark},
    {"what checked programs may not do ends them", what_checked_programs_may_not_do_ends_them},
    {"what the broker makes up is asked of it by any path",
     what_the_broker_makes_up_is_asked_of_it_by_any_path},
    {"what the ruleset refuses is asked of the broker",
     what_the_floor_refuses_is_asked_of_the_broker},
    {"a mark opens nothing that the broker would refuse",
     a_mark_opens_nothing_that_the_broker_would_refuse},
    {NULL, NULL},
};
