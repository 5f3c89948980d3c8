/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/front/filestest.h"

/* --- archives --------------------------------------------------------------------------------- */

/* Takes the chunks of the last answer apart. */
static void unchunk(struct buf *out)
{
    const char *at = body_of(), *end = buf_text(&got) + got.len;
    while (at < end) {
        char *line_end;
        unsigned long n = strtoul(at, &line_end, 16);
        if (n == 0)
            return;
        at = line_end + 2;
        (void)buf_add(out, at, n);
        at += n + 2;
    }
}

static void a_folder_goes_out_and_comes_in_again(void)
{
    open_it();
    char deep[400] = "d/", target[64];
    memset(deep + 2, 'n', 200);
    deep[202] = '\0';
    TEST_CHECK(mkdirat(w, "d", 0755) == 0 && mkdirat(w, "d/empty", 0755) == 0);
    TEST_CHECK(mkdirat(w, deep, 0755) == 0);
    (void)snprintf(deep + 202, sizeof deep - 202, "/f");
    put_at(w, deep, "deep");
    put_at(w, "d/x", "run");
    TEST_CHECK(fchmodat(w, "d/x", 0755, 0) == 0 && symlinkat("x", w, "d/s") == 0);
    TEST_CHECK(mkfifoat(w, "d/fifo", 0644) == 0);
    put_at(w, "d/empty-file", "");
    static char big[300000];
    memset(big, 'b', sizeof big - 1);
    put_at(w, "d/big", big);
    get("/v1/tar/d", "");
    check_head("HTTP/1.1 200 OK\r\n");
    check_has("Content-Type: application/x-tar\r\n");
    struct buf archive = BUF_INIT((size_t)16 << 20);
    unchunk(&archive);
    TEST_CHECK(archive.len % TAR_BLOCK == 0 && archive.len > sizeof big);
    send_to("PUT", "/v1/tar/copy", "", archive.data, archive.len);
    check_problem(404, "copy: the folder is not there; ask for parents=true");
    send_to("PUT", "/v1/tar/copy?parents=true", "", archive.data, archive.len);
    check_status(200);
    TEST_CHECK(strcmp(body_of(), "{\"files\":4,\"folders\":2,\"links\":1,\"bytes\":300006}") == 0);
    TEST_MSG("%s", body_of());
    struct stat st;
    TEST_CHECK(fstatat(w, "copy/x", &st, 0) == 0 && (st.st_mode & 0777) == 0755);
    TEST_CHECK(fstatat(w, "copy/big", &st, 0) == 0 && st.st_size == sizeof big - 1);
    TEST_CHECK(readlinkat(w, "copy/s", target, sizeof target) == 1);
    char *copied = xasprintf("copy/%s", deep + 2);
    TEST_CHECK(strcmp(text_at(w, copied), "deep") == 0);
    xfree(copied);
    TEST_CHECK(is_there(w, "copy/empty") && !is_there(w, "copy/fifo"));
    buf_done(&archive);
    get("/v1/tar/d/x", "");
    check_problem(409, "d/x: this is not a folder");
    get("/v1/tar/absent", "");
    check_status(404);
    send_to("HEAD", "/v1/tar", "", "", 0);
    check_status(200);
    close_it();
}

static void a_reader_that_stops_sets_the_pace_of_an_archive(void)
{
    open_it();
    int big = openat(w, "big", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    TEST_CHECK(ftruncate(big, 64 << 20) == 0);
    int fd = dial();
    say(fd, "GET /v1/tar HTTP/1.1\r\nHost: localhost\r\n\r\n");
    for (int i = 0; i < 50; i++)
        turn();
    TEST_CHECK(ftruncate(big, 0) == 0); /* most of it has not been read yet */
    (void)fd_close(big);
    bool ended = false;
    for (int i = 0; i < 100 && !ended; i++)
        ended = hear(fd);
    TEST_CHECK(ended); /* and is not replaced by something else */
    check_has_not("\r\n0\r\n\r\n");
    (void)fd_close(fd);
    fd = dial();
    say(fd, "GET /v1/tar HTTP/1.1\r\nHost: localhost\r\n\r\n");
    (void)fd_close(fd); /* a client that leaves */
    turn();
    close_it();
}

static void a_bad_archive_is_told_with_its_member(void)
{
    open_it();
    struct buf archive = BUF_INIT(1 << 20);
    add_member(&archive, '0', "first", "1");
    add_member(&archive, '0', "../secret", "x");
    tar_put_end(&archive);
    send_to("PUT", "/v1/tar", "", archive.data, archive.len);
    check_problem(400, "../secret: a path with .. in it; before it 1 files, 0 folders and 0 links");
    TEST_CHECK(strcmp(text_at(w, "first"), "1") == 0);
    put("/v1/tar", "", "");
    check_problem(400, "the archive ends after member 0 without its last blocks");
    send_to("PUT", "/v1/tar", "", archive.data, TAR_BLOCK);
    check_problem(400, "first: the archive ends inside of it");
    buf_clear(&archive);
    TEST_CHECK(mkdirat(w, "folder", 0755) == 0);
    add_member(&archive, '0', "folder", "x");
    tar_put_end(&archive);
    send_to("PUT", "/v1/tar", "", archive.data, archive.len);
    check_problem(409, "folder: a folder is there; delete it first");
    send_to("PUT", "/v1/tar/first", "", archive.data, archive.len);
    check_status(409);
    buf_done(&archive);
    close_it();
}

/* --- watching --------------------------------------------------------------------------------- */

static void what_happens_is_told_as_it_happens(void)
{
    open_it();
    TEST_CHECK(mkdirat(w, "d", 0755) == 0);
    int fd = dial();
    say(fd, "GET /v1/watch?recursive=true HTTP/1.1\r\nHost: localhost\r\n\r\n");
    TEST_CHECK(!hear(fd));
    check_has("Content-Type: text/event-stream\r\n");
    check_has("event: ready\ndata: {\"path\":\"\",\"type\":\"folder\",\"folders\":2}\n\n");
    put_at(w, "d/f", "x");
    TEST_CHECK(!hear(fd));
    check_has("event: written\ndata: {\"path\":\"d/f\",\"type\":\"file\"}\n\n");
    check_has("event: created\ndata: {\"path\":\"d/f\",\"type\":\"file\"}\n\n");
    TEST_CHECK(renameat(w, "d/f", w, "g") == 0);
    TEST_CHECK(!hear(fd));
    check_has("event: moved_from\ndata: {\"path\":\"d/f\",\"type\":\"file\",\"cookie\":");
    check_has("event: moved_to\ndata: {\"path\":\"g\",\"type\":\"file\",\"cookie\":");
    pass(15000);
    TEST_CHECK(!hear(fd));
    check_has(":\n\n");
    (void)fd_close(fd);
    turn();
    fd = dial();
    say(fd, "GET /v1/watch/d HTTP/1.1\r\nHost: localhost\r\n\r\n");
    TEST_CHECK(!hear(fd));
    TEST_CHECK(unlinkat(w, "d", AT_REMOVEDIR) == 0);
    pass(15000);
    (void)hear(fd);
    check_has("event: gone\n");
    check_has("\r\n0\r\n\r\n");
    (void)fd_close(fd);
    get("/v1/watch/g", "");
    check_problem(409, "g: this is not a folder; watch the one it is in");
    get("/v1/watch/absent", "");
    check_status(404);
    close_it();
}

static void a_client_that_does_not_read_hears_what_it_missed(void)
{
    open_it();
    int fd = dial(), other = dial();
    say(other, "GET /v1/watch HTTP/1.1\r\nHost: localhost\r\n\r\n");
    say(fd, "GET /v1/watch HTTP/1.1\r\nHost: localhost\r\n\r\n");
    TEST_CHECK(!hear(fd));
    check_has("event: ready");
    char name[2][256];
    memset(name, 'x', sizeof name);
    name[0][255] = name[1][255] = '\0';
    name[1][0] = 'y';
    put_at(w, name[0], "");
    for (int i = 0; i < 60000; i++) { /* far more than the kernel keeps */
        TEST_CHECK(renameat(w, name[i % 2], w, name[1 - i % 2]) == 0);
        if (i % 1000 == 0)
            loop_turn(loop, 0);
    }
    bool told = false;
    for (int i = 0; i < 1000 && !told; i++) {
        TEST_CHECK(!hear(fd));
        told = memmem(got.data, got.len, "event: overflow\n", 16) != NULL;
    }
    TEST_CHECK(told);
    api_files_drain(api.files); /* the other one has not read at all */
    told = false;
    for (int i = 0; i < 1000 && !told; i++) {
        (void)hear(other);
        told = memmem(got.data, got.len, "event: closed\n", 14) != NULL;
    }
    TEST_CHECK(told);
    (void)fd_close(fd);
    (void)fd_close(other);
    close_it();
}

static void so_many_watches_there_are(void)
{
    open_it();
    int fds[API_WATCHES_MAX];
    for (int i = 0; i < API_WATCHES_MAX; i++) {
        fds[i] = dial();
        say(fds[i], "GET /v1/watch HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    get("/v1/watch", "");
    check_problem(429, "32 watches are open");
    (void)fd_close(fds[0]);
    turn();
    fds[0] = dial();
    say(fds[0], "GET /v1/watch HTTP/1.1\r\nHost: localhost\r\n\r\n");
    (void)hear(fds[0]);
    check_status(200);
    for (int i = 0; i < API_WATCHES_MAX; i++)
        (void)fd_close(fds[i]);
    close_it();
}

#define T(name) {#name, name}
TEST_LIST = {
    T(a_folder_goes_out_and_comes_in_again),
    T(a_reader_that_stops_sets_the_pace_of_an_archive),
    T(a_bad_archive_is_told_with_its_member),
    T(what_happens_is_told_as_it_happens),
    T(a_client_that_does_not_read_hears_what_it_missed),
    T(so_many_watches_there_are),
    {NULL, NULL},
};
