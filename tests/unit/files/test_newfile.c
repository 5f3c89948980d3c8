/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "files/listing.h"
#include "files/newfile.h"
#include "files/tree.h"

static void a_file_is_there_whole_or_not_at_all(void)
{
    open_place();
    for (int named = 0; named < 2; named++) {
        struct newfile f = NEWFILE_NONE;
        put_at(w, "old", "old");
        TEST_CHECK(newfile_open(w, 0640, named, &f) == 0);
        TEST_CHECK(!named || f.temp[0]); /* not every file system has O_TMPFILE */
        TEST_CHECK(count_names(w) == 1 + (f.temp[0] != '\0'));
        TEST_CHECK(newfile_write(&f, "half", 4) == 0);
        newfile_drop(&f);
        TEST_CHECK(count_names(w) == 1 && strcmp(text_at(w, "old"), "old") == 0);

        TEST_CHECK(newfile_open(w, 0640, named, &f) == 0 && newfile_write(&f, "new", 3) == 0);
        TEST_CHECK(newfile_commit(&f, "old", NEWFILE_NEW, true) == -EEXIST && f.fd < 0);
        TEST_CHECK(newfile_open(w, 0640, named, &f) == 0 && newfile_write(&f, "new", 3) == 0);
        TEST_CHECK(newfile_commit(&f, "old", NEWFILE_REPLACE, true) == 0);
        TEST_CHECK(strcmp(text_at(w, "old"), "new") == 0);

        TEST_CHECK(newfile_open(w, 0640, named, &f) == 0 && newfile_write(&f, "x", 1) == 0);
        TEST_CHECK(newfile_commit(&f, "fresh", NEWFILE_NEW, true) == 0);
        TEST_CHECK(strcmp(text_at(w, "fresh"), "x") == 0);
        TEST_CHECK(count_names(w) == 2 && unlinkat(w, "fresh", 0) == 0);
    }
    close_place();
}

static void a_folder_is_never_replaced(void)
{
    open_place();
    TEST_CHECK(mkdirat(w, "d", 0755) == 0);
    for (int named = 0; named < 2; named++) {
        struct newfile f = NEWFILE_NONE;
        TEST_CHECK(newfile_open(w, 0640, named, &f) == 0);
        TEST_CHECK(newfile_commit(&f, "d", NEWFILE_REPLACE, false) == -EISDIR);
    }
    put_at(w, "f", "f");
    TEST_CHECK(newfile_symlink(w, "d", "f") == -EISDIR);
    drop_fd int file = openat(w, "f", O_PATH | O_NOFOLLOW | O_CLOEXEC);
    TEST_CHECK(newfile_hardlink(w, "d", file) == -EISDIR);
    file = fd_close(file);
    TEST_CHECK(count_names(w) == 2);
    close_place();
}

static void a_link_in_its_place_is_replaced_and_what_it_leads_to_stays(void)
{
    open_place();
    TEST_CHECK(symlinkat("../secret", w, "l") == 0);
    struct newfile f = NEWFILE_NONE;
    TEST_CHECK(newfile_open(w, 0640, false, &f) == 0 && newfile_write(&f, "new", 3) == 0);
    TEST_CHECK(newfile_commit(&f, "l", NEWFILE_REPLACE, false) == 0);
    TEST_CHECK(strcmp(text_at(w, "l"), "new") == 0);
    TEST_CHECK(strcmp(text_at(w, "../secret"), "secret") == 0);
    close_place();
}

static void links_leave_no_second_name(void)
{
    open_place();
    put_at(w, "a", "a");
    drop_fd int file = openat(w, "a", O_PATH | O_NOFOLLOW | O_CLOEXEC);
    TEST_CHECK(newfile_hardlink(w, "b", file) == 0 && newfile_hardlink(w, "b", file) == 0);
    TEST_CHECK(newfile_symlink(w, "c", "a") == 0 && newfile_symlink(w, "c", "b") == 0);
    drop_fd int link = openat(w, "c", O_PATH | O_NOFOLLOW | O_CLOEXEC);
    TEST_CHECK(newfile_hardlink(w, "x", link) == -ENXIO);
    file = fd_close(file);
    link = fd_close(link);
    TEST_CHECK(count_names(w) == 3);
    close_place();
}

static void a_full_disk_is_told_and_leaves_nothing(void)
{
    static char block[100000];
    open_place();
    (void)signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {250000, 250000};
    TEST_ASSERT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    for (int named = 0; named < 2; named++) {
        struct newfile f = NEWFILE_NONE;
        TEST_CHECK(newfile_open(w, 0640, named, &f) == 0);
        TEST_CHECK(newfile_write(&f, block, sizeof block) == 0);
        TEST_CHECK(newfile_write(&f, block, sizeof block) == 0);
        TEST_CHECK(newfile_write(&f, block, sizeof block) == -EFBIG);
        newfile_drop(&f);
        TEST_CHECK(count_names(w) == 0);
    }
    close_place();
}

static void more_than_a_window_arrives_unchanged(void)
{
    static char block[70001];
    open_place();
    struct newfile f = NEWFILE_NONE;
    size_t sum = 0;
    TEST_CHECK(newfile_open(w, 0640, false, &f) == 0);
    for (int i = 0; sum < (size_t)3 * NEWFILE_WINDOW; i++, sum += sizeof block) {
        memset(block, i, sizeof block);
        TEST_CHECK(newfile_write(&f, block, sizeof block) == 0);
    }
    TEST_CHECK(f.size == sum && newfile_commit(&f, "big", NEWFILE_NEW, true) == 0);
    int fd = openat(w, "big", O_RDONLY | O_CLOEXEC);
    for (int i = 0; (size_t)i * sizeof block < sum; i++) {
        TEST_CHECK(read(fd, block, sizeof block) == (ssize_t)sizeof block);
        TEST_CHECK(block[0] == (char)i && block[sizeof block - 1] == (char)i);
    }
    TEST_CHECK(read(fd, block, 1) == 0);
    (void)fd_close(fd);
    close_place();
}

static void a_new_name_overwrites_nothing(void)
{
    open_place();
    put_at(w, "a", "a");
    put_at(w, "b", "b");
    TEST_CHECK(mkdirat(w, "d", 0755) == 0 && mkdirat(w, "e", 0755) == 0);
    TEST_CHECK(rename_to_new(w, "a", w, "b") == -EEXIST);
    TEST_CHECK(rename_to_new(w, "d", w, "e") == -EEXIST);
    TEST_CHECK(rename_to_new(w, "a", w, "c") == 0 && strcmp(text_at(w, "c"), "a") == 0);
    TEST_CHECK(rename_to_new(w, "d", w, "e/d") == 0 && is_there(w, "e/d"));
    TEST_CHECK(rename_to_new(w, "e", w, "e/d/e") == -EINVAL && count_names(w) == 3);
    TEST_CHECK(!is_there(w, "e/d/e"));
    TEST_CHECK(rename_to_new(w, "absent", w, "x") == -ENOENT);
    close_place();
}

static void nor_does_it_without_renameat2(void)
{
    filter_call(SYS_renameat2, ENOSYS);
    a_new_name_overwrites_nothing();
}

/* --- pages and trees -------------------------------------------------------------------------- */

static void pages_are_in_order_and_without_gaps(void)
{
    open_place();
    char name[16], last[16] = "";
    for (int i = 0; i < 57; i++) {
        (void)snprintf(name, sizeof name, "n%02d", (i * 31) % 57);
        put_at(w, name, "");
    }
    int seen = 0;
    for (bool more = true; more;) {
        struct listing *l;
        int r, fd = openat(w, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        TEST_ASSERT(listing_open(fd, last, 10, &l) == 0);
        while ((r = listing_step(l)) == 0)
            ;
        TEST_CHECK(r == 1);
        for (size_t i = 0; i < listing_count(l); i++) {
            (void)snprintf(name, sizeof name, "n%02d", seen++);
            TEST_CHECK(strcmp(listing_name(l, i), name) == 0);
        }
        more = listing_has_more(l);
        memcpy(last, name, sizeof last);
        (void)listing_close(l);
    }
    TEST_CHECK(seen == 57);
    close_place();
}

static int delete_all(int dir)
{
    struct tree *t;
    const char *path;
    int r;
    TEST_ASSERT(tree_open(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), &t) == 0);
    while ((r = tree_delete(t, &path)) == 0)
        ;
    (void)tree_close(t);
    return r;
}

static void deep_trees_are_deleted_and_links_are_not_followed(void)
{
    open_place();
    int at = fcntl(w, F_DUPFD_CLOEXEC, 0);
    for (int i = 0; i < 3 * TREE_DEPTH_MAX + 7; i++) {
        TEST_CHECK(mkdirat(at, "a-longer-name-than-is-needed-for-it", 0755) == 0);
        put_at(at, "f", "f");
        TEST_CHECK(symlinkat("/", at, "root") == 0 && symlinkat("..", at, "up") == 0);
        int below =
            openat(at, "a-longer-name-than-is-needed-for-it", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)fd_close(at);
        at = below;
    }
    (void)fd_close(at);
    TEST_CHECK(delete_all(w) == 1);
    TEST_CHECK(count_names(w) == 0 && strcmp(text_at(w, "../secret"), "secret") == 0);
    close_place();
}

/* Hostile code: below "s" stands a folder, then a link to what must stay, and so on. */
static atomic_bool stop;
static atomic_long swaps;

static void *swap_about(void *ctx)
{
    (void)ctx;
    while (!atomic_load(&stop)) {
        (void)mkdirat(w, "s", 0755);
        (void)mkdirat(w, "s/x", 0755);
        (void)renameat(w, "s/x", w, "s/y");
        (void)try_link("../..", "s/x");
        (void)unlinkat(w, "s/x", 0);
        (void)try_link("../../..", "s/y/z");
        atomic_fetch_add(&swaps, 1);
    }
    return NULL;
}

static void a_tree_that_others_change_is_deleted_inside_only(void)
{
    pthread_t thread;
    open_place();
    TEST_CHECK(mkdirat(w, "../outside", 0755) == 0);
    put_at(w, "../outside/precious", "precious");
    TEST_CHECK(pthread_create(&thread, NULL, swap_about, NULL) == 0);
    for (int i = 0; i < 300 || atomic_load(&swaps) < 300; i++)
        (void)delete_all(w); /* it may say that something was made meanwhile */
    atomic_store(&stop, true);
    TEST_CHECK(pthread_join(thread, NULL) == 0);
    TEST_CHECK(delete_all(w) == 1 && count_names(w) == 0);
    TEST_CHECK(strcmp(text_at(w, "../secret"), "secret") == 0);
    TEST_CHECK(strcmp(text_at(w, "../outside/precious"), "precious") == 0);
    close_place();
}

static void a_tree_is_walked_from_the_top_down(void)
{
    open_place();
    TEST_CHECK(mkdirat(w, "d", 0755) == 0 && mkdirat(w, "d/e", 0755) == 0);
    put_at(w, "d/e/f", "f");
    struct tree *t;
    struct tree_entry entry;
    static const char *const paths[] = {"d", "d/e", "d/e/f", "d/e", "d"};
    TEST_ASSERT(tree_open(openat(w, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), &t) == 0);
    for (int i = 0; i < 5; i++) {
        TEST_ASSERT(tree_next(t, &entry) == 1);
        TEST_CHECK(strcmp(entry.path, paths[i]) == 0 && entry.leaving == (i > 2));
        if (i < 2)
            TEST_CHECK(tree_enter(t) == 0);
    }
    TEST_CHECK(tree_next(t, &entry) == 0);
    (void)tree_close(t);
    close_place();
}

#define T(name) {#name, name}
TEST_LIST = {
    T(a_file_is_there_whole_or_not_at_all),
    T(a_folder_is_never_replaced),
    T(a_link_in_its_place_is_replaced_and_what_it_leads_to_stays),
    T(links_leave_no_second_name),
    T(a_full_disk_is_told_and_leaves_nothing),
    T(more_than_a_window_arrives_unchanged),
    T(a_new_name_overwrites_nothing),
    T(nor_does_it_without_renameat2),
    T(pages_are_in_order_and_without_gaps),
    T(deep_trees_are_deleted_and_links_are_not_followed),
    T(a_tree_that_others_change_is_deleted_inside_only),
    T(a_tree_is_walked_from_the_top_down),
    {NULL, NULL},
};
