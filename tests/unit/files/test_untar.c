/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include <signal.h>
#include <sys/resource.h>

#include "files/untar.h"
#include "tarmake.h"

static struct buf archive = {.cap = (size_t)16 << 20};
static struct untar_counts counts;

/* Unpacks what was gathered, `step` bytes at a time, and says what was wrong. */
static const char *unpack_in(size_t step)
{
    static struct err e;
    struct untar *u = untar_open(fcntl(w, F_DUPFD_CLOEXEC, 0));
    int r = 0;
    e = ERR_NONE;
    for (size_t at = 0; at < archive.len && r == 0; at += step)
        r = untar_feed(u, archive.data + at, archive.len - at < step ? archive.len - at : step, &e);
    if (r == 0)
        r = untar_end(u, &counts, &e);
    (void)untar_close(u);
    return r < 0 ? e.msg : "";
}

static const char *unpack(void)
{
    tar_put_end(&archive);
    const char *text = unpack_in(100000);
    buf_clear(&archive);
    return text;
}

static void check_refused(char type, const char *name, const char *text, const char *why)
{
    (void)unlinkat(w, "before", 0);
    (void)unlinkat(w, "after", 0);
    add_member(&archive, '0', "before", "b");
    add_member(&archive, type, name, text);
    add_member(&archive, '0', "after", "a");
    const char *said = unpack();
    TEST_CHECK(strstr(said, name) == said && strstr(said, why) != NULL);
    TEST_MSG("%s %s: %s", name, text, said);
    TEST_CHECK(is_there(w, "before") && !is_there(w, "after"));
    TEST_CHECK(strcmp(text_at(w, "../secret"), "secret") == 0);
}

static void members_become_files(void)
{
    open_place();
    (void)umask(022);
    add_member(&archive, '5', "./", "");
    add_member(&archive, '5', "./d/", "");
    add_member(&archive, '0', "./d/f", "hello");
    add_member(&archive, '0', "no/folder/before", "x");
    add_member(&archive, '2', "d/s", "../no/folder/before");
    add_member(&archive, '1', "d/h", "d/f");
    tar_put_end(&archive);
    for (size_t step = 1; step < 2000; step += 333)
        TEST_CHECK(strcmp(unpack_in(step), "") == 0);
    buf_clear(&archive);
    struct stat st, hard;
    TEST_CHECK(fstatat(w, "d/f", &st, 0) == 0 && fstatat(w, "d/h", &hard, 0) == 0);
    TEST_CHECK((st.st_mode & 07777) == 0644 && st.st_mtime == 1000000000);
    TEST_CHECK(st.st_ino == hard.st_ino);
    TEST_CHECK(strcmp(text_at(w, "d/f"), "hello") == 0 && strcmp(text_at(w, "d/s"), "x") == 0);
    TEST_CHECK(counts.files == 2 && counts.folders == 1 && counts.links == 2 && counts.bytes == 6);
    TEST_CHECK(count_names(w) == 2);
    close_place();
}

static void nothing_leads_out(void)
{
    open_place();
    check_refused('0', "/abs", "x", "absolute");
    check_refused('0', "../secret", "x", "..");
    check_refused('0', "a/../../secret", "x", "..");
    check_refused('5', "..", "", "..");
    check_refused('2', "s1", "/etc/passwd", "lead out");
    check_refused('2', "s2", "../secret", "lead out");
    check_refused('2', "d/s3", "../../secret", "lead out");
    check_refused('2', "s4", "a/../../secret", "lead out");
    check_refused('2', "s5", "a/..", "lead out");
    check_refused('2', "s6", "", "lead out");
    check_refused('1', "h1", "/etc/passwd", "leads out");
    check_refused('1', "h2", "../secret", "leads out");
    check_refused('1', "h3", "", "leads out");
    check_refused('3', "dev", "", "device");
    check_refused('4', "dev2", "", "device");
    check_refused('6', "pipe", "", "FIFO");
    check_refused('0', ".", "", "without a name");
    TEST_CHECK(symlinkat("..", w, "up") == 0 && symlinkat("../secret", w, "to-secret") == 0);
    check_refused('0', "up/secret", "x", "symbolic link is on the way");
    check_refused('5', "up/evil", "", "symbolic link is on the way");
    check_refused('1', "h4", "up/secret", "");
    check_refused('1', "h5", "to-secret", "no file to link to");
    TEST_CHECK(!is_there(w, "../evil") && !is_there(w, "h4") && !is_there(w, "h5"));
    close_place();
}

static void a_link_of_the_archive_is_not_a_way_for_it(void)
{
    open_place();
    TEST_CHECK(mkdirat(w, "d", 0755) == 0);
    put_at(w, "d/f", "mine");
    add_member(&archive, '2', "l", "d");
    add_member(&archive, '0', "l/f", "yours");
    TEST_CHECK(strstr(unpack(), "l/f: a symbolic link is on the way") != NULL);
    TEST_CHECK(strcmp(text_at(w, "d/f"), "mine") == 0);
    close_place();
}

static void nothing_is_lost_but_by_its_name(void)
{
    open_place();
    put_at(w, "file", "old");
    put_at(w, "other", "old");
    put_at(w, "target", "old");
    TEST_CHECK(mkdirat(w, "folder", 0755) == 0 && symlinkat("target", w, "link") == 0);
    TEST_CHECK(symlinkat("folder", w, "to-folder") == 0);
    check_refused('0', "folder", "x", "a folder is there");
    check_refused('2', "folder", "other", "a folder is there");
    check_refused('1', "folder", "other", "a folder is there");
    check_refused('5', "file", "", "not a folder is there");
    check_refused('5', "to-folder", "", "not a folder is there");
    check_refused('0', "file/x", "", "not a folder is on the way");
    TEST_CHECK(strcmp(text_at(w, "file"), "old") == 0);
    add_member(&archive, '0', "link", "new");
    add_member(&archive, '0', "file", "new");
    TEST_CHECK(strcmp(unpack(), "") == 0);
    TEST_CHECK(strcmp(text_at(w, "target"), "old") == 0);
    TEST_CHECK(strcmp(text_at(w, "file"), "new") == 0);
    TEST_CHECK(strcmp(text_at(w, "link"), "new") == 0);
    add_head(&archive, '0', "file", "", 1000, USTAR);
    (void)buf_adds(&archive, "half");
    TEST_CHECK(strstr(unpack_in(100), "file: the archive ends inside of it") != NULL);
    buf_clear(&archive);
    TEST_CHECK(strcmp(text_at(w, "file"), "new") == 0 && count_names(w) == 7);
    close_place();
}

static void set_id_bits_are_left_out_and_folders_stay_open(void)
{
    open_place();
    struct tar_member m = {.path = "suid", .link = "", .mode = 06755};
    tar_put_member(&archive, &m);
    m = (struct tar_member){.type = TAR_FOLDER, .path = "closed/", .link = "", .mode = 01500};
    tar_put_member(&archive, &m);
    add_member(&archive, '0', "closed/f", "f");
    TEST_CHECK(strcmp(unpack(), "") == 0);
    struct stat st;
    TEST_CHECK(fstatat(w, "suid", &st, 0) == 0 && (st.st_mode & 07000) == 0);
    TEST_CHECK(fstatat(w, "closed", &st, 0) == 0 && (st.st_mode & 07777) == 0700);
    close_place();
}

static void a_full_disk_names_the_member(void)
{
    open_place();
    (void)signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {1000, 1000};
    TEST_ASSERT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    static char text[2000];
    memset(text, 'x', sizeof text - 1);
    add_member(&archive, '0', "small", "s");
    add_member(&archive, '0', "large", text);
    TEST_CHECK(strstr(unpack(), "large: the file is larger") != NULL);
    TEST_CHECK(count_names(w) == 1);
    close_place();
}

#define T(name) {#name, name}
TEST_LIST = {
    T(members_become_files),
    T(nothing_leads_out),
    T(a_link_of_the_archive_is_not_a_way_for_it),
    T(nothing_is_lost_but_by_its_name),
    T(set_id_bits_are_left_out_and_folders_stay_open),
    T(a_full_disk_names_the_member),
    {NULL, NULL},
};
