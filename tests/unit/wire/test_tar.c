/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "unit/files/tarmake.h"

static struct buf archive = {.cap = (size_t)16 << 20}, said = {.cap = (size_t)16 << 20};

/* Everything that the archive says, as text; the bytes come `step` at a time. */
static const char *read_all(size_t step)
{
    struct tar_reader t;
    struct tar_event event;
    struct err e = ERR_NONE;
    static const char types[] = {'f', 'd', 'l', 'h', 'p', 'c'};
    int r = 0;
    tar_reader_init(&t);
    buf_clear(&said);
    for (size_t at = 0; at < archive.len && r >= 0; at += step) {
        const char *bytes = archive.data + at;
        size_t n = archive.len - at < step ? archive.len - at : step;
        while ((r = tar_next(&t, &bytes, &n, &event, &e)) > 0) {
            const struct tar_member *m = &event.member;
            if (event.what == TAR_MEMBER)
                (void)buf_addf(&said, "%c %s>%s %llu %o %lld:", types[m->type], m->path, m->link,
                               (unsigned long long)m->size, m->mode, (long long)m->mtime);
            else if (event.what == TAR_BYTES)
                (void)buf_add(&said, event.bytes, event.n);
            else
                (void)buf_adds(&said, event.what == TAR_END ? "end" : ";");
        }
    }
    if (r == 0)
        r = tar_ended(&t, &e);
    if (r < 0)
        (void)buf_addf(&said, "! %s", e.msg);
    tar_reader_done(&t);
    return buf_text(&said);
}

static void check_says(const char *expected)
{
    static const size_t steps[] = {1, 7, 511, 512, 513, 100000};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const char *text = read_all(steps[i]);
        TEST_CHECK(strcmp(text, expected) == 0);
        TEST_MSG("step %zu\nexpected: %.1000s\nactual:   %.1000s", steps[i], expected, text);
    }
    buf_clear(&archive);
}

static void put(enum tar_type type, const char *path, const char *link, const char *text)
{
    struct tar_member m = {
        .type = type, .path = path, .link = link, .size = strlen(text), .mode = 0755, .mtime = 5};
    tar_put_member(&archive, &m);
    add_bytes(&archive, text, strlen(text));
}

static void what_is_written_is_read_again(void)
{
    char path[300], name[256], link[200], expected[2000];
    memset(name, 'n', sizeof name);
    name[101] = '\0';
    (void)snprintf(path, sizeof path, "%.60s/%.60s", name, name); /* fits by its prefix */
    memset(link, 'l', sizeof link);
    link[150] = '\0';
    put(TAR_FILE, "a", "", "hello");
    put(TAR_FOLDER, "d/", "", "");
    put(TAR_SYMLINK, "s", "a", "");
    put(TAR_HARDLINK, "h", "a", "");
    put(TAR_FILE, path, "", "x");
    put(TAR_FILE, name, "", "y"); /* does not */
    put(TAR_SYMLINK, "\303\274", link, "");
    put(TAR_FILE, "\377", "", "");
    tar_put_end(&archive);
    TEST_CHECK(archive.len % TAR_BLOCK == 0 && archive.failed == 0);
    (void)snprintf(expected, sizeof expected,
                   "f a> 5 755 5:hello;d d/> 0 755 5:;l s>a 0 755 5:;h h>a 0 755 5:;"
                   "f %s> 1 755 5:x;f %s> 1 755 5:y;l \303\274>%s 0 755 5:;f \377> 0 755 5:;end",
                   path, name, link);
    check_says(expected);
}

static void sizes_over_eight_gigabytes_are_written_and_read(void)
{
    struct tar_reader t;
    struct tar_event event;
    struct tar_member m = {.path = "big", .link = "", .size = 9ULL << 30};
    tar_put_member(&archive, &m);
    const char *bytes = archive.data;
    size_t n = archive.len;
    tar_reader_init(&t);
    TEST_CHECK(tar_next(&t, &bytes, &n, &event, NULL) == 1);
    TEST_CHECK(event.what == TAR_MEMBER && event.member.size == 9ULL << 30);
    tar_reader_done(&t);
    buf_clear(&archive);
    add_head(&archive, '0', "base256", "", 0, GNU);
    static const char number[12] = "\x80\0\0\0\0\0\0\2\0\0\0\0";
    unsigned sum = 0;
    memcpy(archive.data + 124, number, 12);
    memset(archive.data + 148, ' ', 8);
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += (unsigned char)archive.data[i];
    (void)snprintf(archive.data + 148, 8, "%06o", sum);
    bytes = archive.data;
    n = archive.len;
    tar_reader_init(&t);
    TEST_CHECK(tar_next(&t, &bytes, &n, &event, NULL) == 1 && event.member.size == 8ULL << 30);
    tar_reader_done(&t);
    buf_clear(&archive);
}

static void gnu_names_and_old_archives_are_read(void)
{
    char long_name[301] = {0}, expected[1000];
    memset(long_name, 'g', 300);
    add_head(&archive, 'L', "././@LongLink", "", 301, GNU);
    add_bytes(&archive, long_name, 301);
    add_head(&archive, 'K', "././@LongLink", "", 301, GNU);
    add_bytes(&archive, long_name, 301);
    add_head(&archive, '2', "cut", "cut", 0, GNU);
    add_head(&archive, '\0', "old", "", 1, "");
    add_bytes(&archive, "o", 1);
    add_head(&archive, '\0', "old-folder/", "", 0, "");
    add_head(&archive, '6', "fifo", "", 0, USTAR);
    add_head(&archive, '3', "device", "", 0, USTAR);
    tar_put_end(&archive);
    (void)buf_adds(&archive, "what comes behind the end is thrown away");
    (void)snprintf(expected, sizeof expected,
                   "l %s>%s 0 644 1000000000:;f old> 1 644 1000000000:o;"
                   "d old-folder/> 0 644 1000000000:;p fifo> 0 644 1000000000:;"
                   "c device> 0 644 1000000000:;end",
                   long_name, long_name);
    check_says(expected);
}

static void add_pax(char type, const char *records)
{
    add_head(&archive, type, "PaxHeader", "", strlen(records), USTAR);
    add_bytes(&archive, records, strlen(records));
}

static void pax_headers_count_for_one_member(void)
{
    add_pax('g', "20 comment=whatever\n");
    add_pax('x', "12 path=p/q\n13 mtime=7.5\n9 size=2\n20 SCHILY.xattr.a=b\n");
    add_head(&archive, '0', "short", "", 0, USTAR);
    add_bytes(&archive, "ab", 2);
    add_member(&archive, '0', "next", "n");
    tar_put_end(&archive);
    check_says("f p/q> 2 644 7:ab;f next> 1 644 1000000000:n;end");
    static const char *const broken[] = {
        "19 comment=whatever\n",
        "21 comment=whatever\n",
        "x comment=whatever\n",
        "9 comment\n",
        "20 comment=whatever",
        "5 =a\n",
        "99999999999999999999 a=b\n",
        "-5 a=b\n",
        "0 a=b\n",
        "3 =\n",
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        TEST_CASE(broken[i]);
        add_pax('x', broken[i]);
        check_says("! member 1: a broken pax header");
    }
    add_pax('g', "11 path=abc\n");
    check_says("! member 1: a broken pax header");
    add_pax('g', "12 path=abc\n");
    check_says("! member 1: a bad path");
    add_pax('x', "10 size=x\n");
    check_says("! member 1: a bad size");
}

static void what_cannot_be_read_is_said(void)
{
    add_head(&archive, 'S', "holes", "", 0, GNU);
    check_says("! holes: a sparse file; make the archive without --sparse");
    add_head(&archive, 'M', "part", "", 0, GNU);
    check_says("! part: a kind of member that is not known here");
    add_head(&archive, '1', "h", "x", 5, USTAR);
    check_says("! h: a hard link with content");
    add_head(&archive, 'L', "", "", 5000, GNU);
    check_says("! member 1: a name or a pax header that is too long");
    add_head(&archive, 'x', "", "", 1 << 20, USTAR);
    check_says("! member 1: a name or a pax header that is too long");
    (void)buf_adds(&archive, "\x1f\x8b");
    tar_put_padding(&archive, 2);
    check_says("! member 1: this is compressed; send a plain tar archive");
    add_member(&archive, '0', "a", "a");
    archive.data[0] = 'b';
    check_says("! member 1: no header of a tar archive is here (its checksum is wrong)");
    static const char sparse[] = "22 GNU.sparse.major=1\n";
    add_head(&archive, 'x', "", "", sizeof sparse - 1, USTAR);
    add_bytes(&archive, sparse, sizeof sparse - 1);
    check_says("! member 1: a sparse file; make the archive without --sparse");
}

static void an_archive_that_is_cut_is_not_taken_for_whole(void)
{
    add_member(&archive, '0', "a", "hello");
    archive.len -= 510;
    check_says("f a> 5 644 1000000000:he! a: the archive ends inside of it");
    add_member(&archive, '0', "a", "hello");
    check_says("f a> 5 644 1000000000:hello;! the archive ends after member 1 without its last "
               "blocks");
    struct tar_reader t;
    struct err e = ERR_NONE;
    tar_reader_init(&t);
    TEST_CHECK(tar_ended(&t, &e) == -EBADMSG);
    tar_reader_done(&t);
}

#define T(name) {#name, name}
TEST_LIST = {
    T(what_is_written_is_read_again),
    T(sizes_over_eight_gigabytes_are_written_and_read),
    T(gnu_names_and_old_archives_are_read),
    T(pax_headers_count_for_one_member),
    T(what_cannot_be_read_is_said),
    T(an_archive_that_is_cut_is_not_taken_for_whole),
    {NULL, NULL},
};
