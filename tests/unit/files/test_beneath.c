/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "files/spot.h"

static struct beneath b;

static void open_it(bool walk)
{
    open_place();
    b = beneath_of(fcntl(w, F_DUPFD_CLOEXEC, 0));
    b.walk |= walk;
}

static void close_it(void)
{
    beneath_close(&b);
    close_place();
}

static const char *name_of(int error)
{
    static const struct {
        int error;
        const char *name;
    } names[] = {{EXDEV, "EXDEV"},     {ELOOP, "ELOOP"},   {ENOENT, "ENOENT"}, {ENXIO, "ENXIO"},
                 {ENOTDIR, "ENOTDIR"}, {EISDIR, "EISDIR"}, {EAGAIN, "EAGAIN"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].error == error)
            return names[i].name;
    }
    return "another error";
}

static const char *read_path(const char *path)
{
    static char text[64];
    int fd = beneath_at(&b, path, O_RDONLY, BENEATH_FOLLOW);
    if (fd < 0)
        return name_of(-fd);
    ssize_t n = read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    (void)fd_close(fd);
    return n < 0 ? name_of(errno) : text;
}

static void make_things(void)
{
    put_at(w, "f", "f");
    TEST_CHECK(mkdirat(w, "d", 0755) == 0 && mkdirat(w, "d/e", 0755) == 0);
    put_at(w, "d/e/g", "g");
    static const char *const links[][2] = {
        {"f", "to-f"},
        {"d/e", "to-e"},
        {"to-e/g", "to-g"},
        {"../../f", "d/e/up"},
        {"../secret", "out"},
        {"d/../../secret", "out2"},
        {"/etc/passwd", "abs"},
        {"loop2", "loop"},
        {"loop", "loop2"},
        {"./d/./e//g", "dots"},
        {"absent", "dangles"},
        {"..", "d/parent"},
        {"d/parent/d/parent/f", "winding"},
        {"../w/f", "out-and-in"},
        {"to-e/../..", "sly"},
    };
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        TEST_CHECK(symlinkat(links[i][0], w, links[i][1]) == 0);
    TEST_CHECK(mkfifoat(w, "fifo", 0644) == 0);
}

static void check_paths(void)
{
    static const char *const cases[][2] = {
        {"f", "f"},          {"d/e/g", "g"},    {"to-f", "f"},           {"to-e/g", "g"},
        {"to-g", "g"},       {"d/e/up", "f"},   {"out", "EXDEV"},        {"out2", "EXDEV"},
        {"abs", "EXDEV"},    {"loop", "ELOOP"}, {"dots", "g"},           {"dangles", "ENOENT"},
        {"winding", "f"},    {"fifo", "ENXIO"}, {"f/x", "ENOTDIR"},      {"absent/x", "ENOENT"},
        {"d", "EISDIR"},     {"", "EISDIR"},    {"out-and-in", "EXDEV"}, {"to-f/x", "ENOTDIR"},
        {"d/parent/f", "f"}, {"sly", "EISDIR"},
    };
    make_things();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CHECK(strcmp(read_path(cases[i][0]), cases[i][1]) == 0);
        TEST_MSG("%s: %s, not %s", cases[i][0], read_path(cases[i][0]), cases[i][1]);
    }
    static const char *const linked[] = {"to-f", "to-e/g", "d/e/up", "abs", "d/parent/f"};
    for (size_t i = 0; i < sizeof linked / sizeof *linked; i++) {
        int code = beneath_at(&b, linked[i], O_RDONLY, BENEATH_NO_LINKS);
        TEST_CHECK(code == -ELOOP);
        TEST_MSG("%s: %s", linked[i], code < 0 ? name_of(-code) : "opened");
    }
}

static void links_are_followed_as_long_as_they_stay_inside(void)
{
    open_it(false);
    TEST_CHECK(!b.walk);
    check_paths();
    close_it();
}

static void the_same_holds_without_openat2(void)
{
    open_it(true);
    check_paths();
    close_it();
}

static int make_way(const char *path, unsigned way)
{
    drop_held struct spot spot = SPOT_NONE;
    return spot_find(&b, path, way | SPOT_MAKE_FOLDERS, NULL, SPOT_WRITE, &spot);
}

static void parents_are_made_inside_only(void)
{
    for (int walk = 0; walk < 2; walk++) {
        if (walk)
            memcpy(top, "/tmp/ipybox-test-XXXXXX", sizeof top);
        open_it(walk);
        TEST_CHECK(symlinkat("..", w, "up") == 0 && mkdirat(w, "real", 0755) == 0);
        TEST_CHECK(symlinkat("real", w, "link") == 0);
        TEST_CHECK(make_way("a/b/c", 0) == 0 && is_there(w, "a/b"));
        TEST_CHECK(make_way("link/x/y", 0) == 0 && is_there(w, "real/x"));
        TEST_CHECK(make_way("link/z/y", SPOT_NO_LINKS) == -ELOOP && !is_there(w, "real/z"));
        TEST_CHECK(make_way("up/evil/c", 0) == -EXDEV && !is_there(w, "../evil"));
        close_it();
    }
}

static void paths_are_checked(void)
{
    char clean[BENEATH_PATH_MAX];
    static const struct {
        const char *path;
        int code;
    } cases[] = {
        {"", 0},           {"a", 0},        {"a/b/", 0},         {"...", 0},
        {"/", -EINVAL},    {"/a", -EINVAL}, {"a//b", -EINVAL},   {"a//", -EINVAL},
        {".", -EINVAL},    {"..", -EINVAL}, {"a/.", -EINVAL},    {"a/..", -EINVAL},
        {"../a", -EINVAL}, {"./", -EINVAL}, {"a/../b", -EINVAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CHECK(beneath_clean(cases[i].path, clean) == cases[i].code);
        TEST_MSG("%s", cases[i].path);
    }
    TEST_CHECK(beneath_clean("a/b/", clean) == 0 && strcmp(clean, "a/b") == 0);
    char long_one[BENEATH_PATH_MAX + 8];
    memset(long_one, 'x', sizeof long_one);
    long_one[BENEATH_NAME_MAX + 1] = '\0';
    TEST_CHECK(beneath_clean(long_one, clean) == -ENAMETOOLONG);
    for (size_t i = 0; i < sizeof long_one; i++)
        long_one[i] = i % 2 ? '/' : 'x';
    long_one[BENEATH_PATH_MAX] = '\0';
    TEST_CHECK(beneath_clean(long_one, clean) == -ENAMETOOLONG);
}

static void a_filter_that_says_eperm_leads_to_the_walk(void)
{
    filter_call(SYS_openat2, EPERM);
    open_it(false);
    TEST_CHECK(b.walk);
    check_paths();
    close_it();
}

static void a_kernel_without_the_call_leads_to_the_walk(void)
{
    filter_call(SYS_openat2, ENOSYS);
    open_it(false);
    TEST_CHECK(b.walk);
    check_paths();
    close_it();
}

/* Hostile code: "s" is a folder, then a link that leads out, and so on. */
static atomic_bool stop;
static atomic_long swaps;

static void *swap_about(void *ctx)
{
    (void)ctx;
    while (!atomic_load(&stop)) {
        (void)renameat(w, "s", w, "s-folder");
        (void)try_link("..", "s");
        (void)unlinkat(w, "s", 0);
        (void)try_link("/", "s");
        (void)unlinkat(w, "s", 0);
        (void)unlinkat(w, "s/made", AT_REMOVEDIR); /* made by the other side meanwhile */
        (void)unlinkat(w, "s", AT_REMOVEDIR);
        (void)renameat(w, "s-folder", w, "s");
        atomic_fetch_add(&swaps, 1);
    }
    return NULL;
}

static void swap_and_open(bool walk)
{
    pthread_t thread;
    open_it(walk);
    TEST_CHECK(mkdirat(w, "s", 0755) == 0);
    put_at(w, "s/secret", "mine");
    TEST_CHECK(pthread_create(&thread, NULL, swap_about, NULL) == 0);
    long opened = 0;
    for (long i = 0; i < 2000 || opened == 0 || atomic_load(&swaps) < 100; i++) {
        const char *text = read_path("s/secret");
        opened += strcmp(text, "mine") == 0;
        TEST_CHECK(strcmp(text, "secret") != 0);
        (void)make_way("s/made/x", 0);
        TEST_ASSERT(i < 10000000);
    }
    atomic_store(&stop, true);
    TEST_CHECK(pthread_join(thread, NULL) == 0);
    TEST_CHECK(!is_there(w, "../made") && access("/made", F_OK) < 0);
    close_it();
}

static void a_folder_that_is_swapped_for_a_link_leads_nowhere(void)
{
    swap_and_open(false);
}

static void nor_does_it_without_openat2(void)
{
    swap_and_open(true);
}

#define T(name) {#name, name}
TEST_LIST = {
    T(links_are_followed_as_long_as_they_stay_inside),
    T(the_same_holds_without_openat2),
    T(parents_are_made_inside_only),
    T(paths_are_checked),
    T(a_filter_that_says_eperm_leads_to_the_walk),
    T(a_kernel_without_the_call_leads_to_the_walk),
    T(a_folder_that_is_swapped_for_a_link_leads_nowhere),
    T(nor_does_it_without_openat2),
    {NULL, NULL},
};
