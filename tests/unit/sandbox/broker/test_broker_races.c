/* SPDX-License-Identifier: Apache-2.0
 *
 * Attacks that change, between the broker's look and the act, what the look was at. Each is made
 * against the broker with the kernel's rules below it and against the broker alone, TRIES times.
 * IPYBOX_RACE_MS says for how long instead; then it is made against a broker, too, that looks and
 * lets the kernel go on: that one has to leak, or the attack proves nothing about the others. */
#include "unit/sandbox/brokertest.h"

#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdatomic.h>

#include "sandbox/preload/opens_mark.h"

enum { ALLOWED, DENIED, LEAKED, TRIES = 2000 };

static const struct lists lists = {.deny_read = "[\".env\"]", .deny_write = "[\"fixed\"]"};

static atomic_bool over;
static bool is_naive;

static void make_workspace(void)
{
    make_place_anew();
    write_file("@w/aenv", "open");
    write_file("@w/.env", "secret");
    write_file("@w/fixed", "fixed");
    write_file("@w/loose", "loose");
    make_dir("@w/.git/hooks");
    make_dir("@w/dir");
    make_dir("@w/safe");
    write_file("@w/safe/.env", "open");
    make_link("@w/to-open", "@w/aenv");
    make_link("@w/to-secret", "@w/.env");
    make_link("@w/to-hooks", "@w/.git/hooks");
}

/* Runs `flip` in a second thread while `attempt` is made again and again. */
struct attack {
    void *(*flip)(void *unused);
    int (*attempt)(void); /* ALLOWED, DENIED, LEAKED */
};

static const struct attack *the_attack;

/* Longer where the machine left no time to see both. */
static bool has_tried(int tries, int64_t ms)
{
    const volatile int *n = shared->numbers;
    if (is_naive)
        return n[LEAKED] > 0;
    if (n[ALLOWED] == 0 || n[DENIED] == 0)
        return false;
    return race_ms() > 0 ? ms >= race_ms() : tries >= TRIES;
}

static void run_attack(void)
{
    pthread_t flipper;
    HOLDS(pthread_create(&flipper, NULL, the_attack->flip, NULL) == 0);
    const int64_t from = clock_ms();
    int64_t ms = 0;
    for (int tries = 0; ms < GUARD_MS && !has_tried(tries, ms); tries++) {
        shared->numbers[the_attack->attempt()]++;
        ms = clock_ms() - from;
    }
    atomic_store(&over, true);
    (void)pthread_join(flipper, NULL);
}

static void run_against(const struct stage *stage, const char *name)
{
    make_workspace();
    is_naive = stage->naive;
    start_stage(stage);
    end_stage();
    const int *n = shared->numbers;
    if (stage->naive)
        TEST_CHECK_(n[LEAKED] > 0, "%s: %d allowed, %d denied, %d leaked", name, n[ALLOWED],
                    n[DENIED], n[LEAKED]);
    else
        TEST_CHECK_(n[LEAKED] == 0 && n[ALLOWED] > 0 && n[DENIED] > 0,
                    "%s: %d allowed, %d denied, %d leaked", name, n[ALLOWED], n[DENIED], n[LEAKED]);
}

static void attack_all(const struct attack *attack)
{
    the_attack = attack;
    run_against(&(struct stage){.lists = &lists, .child = run_attack}, "broker and ruleset");
    run_against(&(struct stage){.lists = &lists, .child = run_attack, .no_floor = true}, "broker");
    if (race_ms() > 0)
        run_against(&(struct stage){.lists = &lists, .child = run_attack, .naive = true}, "naive");
}

/* What an open for reading gave. */
static int judge_text(int fd)
{
    char text[16] = "";
    if (fd < 0)
        return DENIED;
    ssize_t n = read(fd, text, sizeof text - 1);
    (void)close(fd);
    return n > 0 && strcmp(text, "secret") == 0 ? LEAKED : ALLOWED;
}

/* --- the bytes of a path ---------------------------------------------------------------------- */

static volatile char path[] = "aenv";

static void *flip_bytes(void *unused)
{
    while (!atomic_load(&over))
        path[0] = path[0] == 'a' ? '.' : 'a';
    return unused;
}

static int open_path(void)
{
    return judge_text((int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0));
}

static void a_path_whose_bytes_change_leads_to_no_secret(void)
{
    attack_all(&(struct attack){flip_bytes, open_path});
}

/* --- a symbolic link -------------------------------------------------------------------------- */

static int exchange(const char *a, const char *b)
{
    return (int)syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

static void *flip_link(void *unused)
{
    while (!atomic_load(&over))
        (void)exchange("to-open", "to-secret");
    return unused;
}

static int open_link(void)
{
    return judge_text(open("to-open", O_RDONLY | O_CLOEXEC));
}

static void a_link_that_changes_leads_to_no_secret(void)
{
    attack_all(&(struct attack){flip_link, open_link});
}

/* --- the directory above ---------------------------------------------------------------------- */

static void *flip_parent(void *unused)
{
    while (!atomic_load(&over))
        (void)exchange("dir", "to-hooks");
    return unused;
}

static int create_in_parent(void)
{
    int fd = open("dir/hook", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    struct stat st;
    if (stat(".git/hooks/hook", &st) == 0)
        return LEAKED;
    if (fd >= 0)
        (void)close(fd);
    return fd < 0 ? DENIED : ALLOWED;
}

static void a_directory_that_becomes_a_link_takes_no_file_to_a_protected_place(void)
{
    attack_all(&(struct attack){flip_parent, create_in_parent});
}

static int make_in_parent(void)
{
    int r = mkdir("dir/made", 0755);
    struct stat st;
    if (stat(".git/hooks/made", &st) == 0)
        return LEAKED;
    (void)rmdir("dir/made");
    (void)rmdir("to-hooks/made");
    return r < 0 ? DENIED : ALLOWED;
}

static void a_directory_that_becomes_a_link_takes_no_directory_to_a_protected_place(void)
{
    attack_all(&(struct attack){flip_parent, make_in_parent});
}

/* --- flags in memory -------------------------------------------------------------------------- */

static volatile struct open_how how = {.flags = O_RDONLY | O_CLOEXEC};

static void *flip_flags(void *unused)
{
    while (!atomic_load(&over))
        how.flags ^= O_WRONLY;
    return unused;
}

static int open_by_how(void)
{
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, "fixed", &how, sizeof how);
    if (fd < 0)
        return DENIED;
    int access = fcntl(fd, F_GETFL) & O_ACCMODE;
    (void)close(fd);
    return access == O_WRONLY ? LEAKED : ALLOWED;
}

static void flags_that_change_open_nothing_for_writing(void)
{
    attack_all(&(struct attack){flip_flags, open_by_how});
}

/* --- the number of a descriptor --------------------------------------------------------------- */

enum { NUMBER = 100 };

static void *flip_descriptor(void *unused)
{
    int loose = open("loose", O_RDONLY | O_CLOEXEC), fixed = open("fixed", O_RDONLY | O_CLOEXEC);
    for (bool odd = false; !atomic_load(&over); odd = !odd)
        (void)dup2(odd ? loose : fixed, NUMBER);
    return unused;
}

static int change_mode(void)
{
    struct stat st;
    int r = fchmod(NUMBER, 0666);
    if (stat("fixed", &st) == 0 && (st.st_mode & 0777) == 0666)
        return LEAKED;
    return r < 0 ? DENIED : ALLOWED;
}

static void a_descriptor_that_changes_gives_no_protected_file_another_mode(void)
{
    attack_all(&(struct attack){flip_descriptor, change_mode});
}

/* --- the directory that a path begins at ------------------------------------------------------ */

static void *flip_base(void *unused)
{
    int safe = open("safe", O_PATH | O_CLOEXEC), here = open(".", O_PATH | O_CLOEXEC);
    for (bool odd = false; !atomic_load(&over); odd = !odd)
        (void)dup2(odd ? safe : here, NUMBER);
    return unused;
}

static int open_at_base(void)
{
    return judge_text(openat(NUMBER, ".env", O_RDONLY | O_CLOEXEC));
}

static void a_directory_descriptor_that_changes_leads_to_no_secret(void)
{
    attack_all(&(struct attack){flip_base, open_at_base});
}

/* --- the same three past the broker, where the ruleset lets them --------------------------------
 * */

static int open_marked(int base, const volatile char *name)
{
    int fd = (int)syscall(SYS_openat, base, name, O_RDONLY | O_CLOEXEC, 0, OPENS_MARK_5TH,
                          OPENS_MARK_6TH);
    if (fd < 0 && errno == EACCES)
        fd = (int)syscall(SYS_openat, base, name, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    return judge_text(fd);
}

static int open_path_marked(void)
{
    return open_marked(AT_FDCWD, path);
}

static int open_link_marked(void)
{
    return open_marked(AT_FDCWD, "to-open");
}

static int open_at_base_marked(void)
{
    return open_marked(NUMBER, ".env");
}

static void a_marked_open_of_what_changes_leads_to_no_secret(void)
{
    attack_all(&(struct attack){flip_bytes, open_path_marked});
    attack_all(&(struct attack){flip_link, open_link_marked});
    attack_all(&(struct attack){flip_base, open_at_base_marked});
}

TEST_LIST = {
    {"a path whose bytes change leads to no secret", a_path_whose_bytes_change_leads_to_no_secret},
    {"a link that changes leads to no secret", a_link_that_changes_leads_to_no_secret},
    {"a directory that becomes a link takes no file to a protected place",
     a_directory_that_becomes_a_link_takes_no_file_to_a_protected_place},
    {"a directory that becomes a link takes no directory to a protected place",
     a_directory_that_becomes_a_link_takes_no_directory_to_a_protected_place},
    {"flags that change open nothing for writing", flags_that_change_open_nothing_for_writing},
    {"a descriptor that changes gives no protected file another mode",
     a_descriptor_that_changes_gives_no_protected_file_another_mode},
    {"a directory descriptor that changes leads to no secret",
     a_directory_descriptor_that_changes_leads_to_no_secret},
    {"a marked open of what changes leads to no secret",
     a_marked_open_of_what_changes_leads_to_no_secret},
    {NULL, NULL},
};
