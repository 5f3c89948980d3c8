/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/front/filestest.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

/* --- reading ---------------------------------------------------------------------------------- */

static void a_folder_is_listed(void)
{
    open_it();
    put_at(w, "b.txt", "hello");
    TEST_CHECK(mkdirat(w, "d", 0750) == 0 && symlinkat("../x", w, "l") == 0);
    TEST_CHECK(mkfifoat(w, "p", 0644) == 0 && mkdirat(w, "d/e", 0755) == 0);
    get("/v1/files", "");
    check_head("HTTP/1.1 200 OK\r\n");
    check_has("{\"path\":\"\",\"entries\":[{\"name\":\"b.txt\",\"type\":\"file\",\"size\":5,");
    check_has("Z\",\"mode\":\"0644\",\"etag\":\"\\\"");
    check_has("{\"name\":\"d\",\"type\":\"folder\",\"size\":0,");
    check_has("\"mode\":\"0750\"}");
    check_has("\"mode\":\"0777\",\"target\":\"../x\"}");
    check_has("{\"name\":\"p\",\"type\":\"other\"");
    check_has_not("\"next\"");
    get("/v1/files?limit=2", "");
    check_has("\"name\":\"d\"");
    check_has("],\"next\":\"d\"}");
    check_has_not("\"name\":\"l\"");
    get("/v1/files?limit=2&after=d", "");
    check_has("\"name\":\"l\"");
    check_has_not("\"next\"");
    get("/v1/files/d/", "");
    check_has("{\"path\":\"d\",\"entries\":[{\"name\":\"e\"");
    get("/v1/files/d/e", "");
    TEST_CHECK(strcmp(body_of(), "{\"path\":\"d/e\",\"entries\":[]}") == 0);
    static const char *const wrong[] = {"limit=0", "limit=1001", "limit=x",
                                        "limit=",  "list=maybe", "limit=99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char target[80];
        TEST_CASE(wrong[i]);
        (void)snprintf(target, sizeof target, "/v1/files?%s", wrong[i]);
        get(target, "");
        check_status(400);
    }
    get("/v1/files/b.txt?list=true", "");
    check_problem(409, "b.txt: this is a file");
    get("/v1/files/absent", "");
    check_problem(404, "absent: there is nothing with this name");
    get("/v1/files/b.txt/below", "");
    check_problem(404, "b.txt/below: ");
    close_it();
}

static void names_that_a_path_cannot_hold_come_by_the_query(void)
{
    open_it();
    put_at(w, "\377\n%", "");
    put_at(w, "\n%", "odd");
    get("/v1/files", "");
    check_has("\"encoded\":\"%FF%0A%25\"");
    get("/v1/files?path=%0A%25", "");
    check_status(200);
    TEST_CHECK(strcmp(body_of(), "odd") == 0);
    put("/v1/files?path=a%2Fb&parents=true", "", "x");
    check_status(201);
    TEST_CHECK(strcmp(text_at(w, "a/b"), "x") == 0);
    static const char *const bad[] = {"%2Fetc%2Fpasswd", "..%2Fsecret", "a%2F..%2F..%2Fsecret", ".",
                                      "a%2F%2Fb",        "%2F"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char target[80];
        TEST_CASE(bad[i]);
        (void)snprintf(target, sizeof target, "/v1/files?path=%s", bad[i]);
        get(target, "");
        check_status(400);
        put(target, "", "x");
        check_status(400);
        (void)snprintf(target, sizeof target, "/v1/tar?path=%s", bad[i]);
        get(target, "");
        check_status(400);
    }
    TEST_CHECK(strcmp(text_at(w, "../secret"), "secret") == 0);
    close_it();
}

static void a_file_is_read_whole_or_not_again(void)
{
    open_it();
    put_at(w, "a.txt", "hello");
    put_at(w, "x.HTML", "<script>");
    put_at(w, "empty", "");
    get("/v1/files/a.txt", "");
    check_head("HTTP/1.1 200 OK\r\n");
    check_has("Content-Type: text/plain; charset=utf-8\r\n");
    check_has("Content-Length: 5\r\n");
    check_has("Accept-Ranges: bytes\r\n");
    TEST_CHECK(strcmp(body_of(), "hello") == 0);
    char etag[100], head[200];
    (void)snprintf(etag, sizeof etag, "%s", header("ETag"));
    TEST_CHECK(etag[0] == '"');
    static const char *const forms[] = {"If-None-Match: %s\r\n", "If-None-Match: W/%s\r\n",
                                        "If-None-Match: \"x\", %s\r\n", "If-None-Match: *\r\n"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        TEST_CASE(forms[i]);
        const char *mark = strstr(forms[i], "%s");
        (void)snprintf(head, sizeof head, "%.*s%s%s", (int)(mark ? mark - forms[i] : 99), forms[i],
                       mark ? etag : "", mark ? mark + 2 : "");
        get("/v1/files/a.txt", head);
        check_status(304);
        TEST_CHECK(strcmp(header("ETag"), etag) == 0 && strcmp(body_of(), "") == 0);
    }
    send_to("HEAD", "/v1/files/a.txt", "", "", 0);
    check_status(200);
    check_has("Content-Length: 5\r\n");
    TEST_CHECK(strcmp(body_of(), "") == 0 && strcmp(header("ETag"), etag) == 0);
    put_at(w, "a.txt", "longer");
    (void)snprintf(head, sizeof head, "If-None-Match: %s\r\n", etag);
    get("/v1/files/a.txt", head);
    check_status(200);
    get("/v1/files/x.HTML", "");
    check_has("Content-Type: text/html");
    check_has("Content-Security-Policy: sandbox\r\n");
    check_has("X-Content-Type-Options: nosniff\r\n");
    get("/v1/files/empty", "");
    check_status(200);
    check_has("Content-Type: application/octet-stream\r\n");
    check_has("Content-Length: 0\r\n");
    close_it();
}

static void parts_of_a_file_are_read(void)
{
    open_it();
    put_at(w, "f", "0123456789");
    static const struct {
        const char *range;
        int status;
        const char *body, *told;
    } cases[] = {
        {"bytes=0-0", 206, "0", "bytes 0-0/10"},
        {"bytes=2-4", 206, "234", "bytes 2-4/10"},
        {"bytes=7-", 206, "789", "bytes 7-9/10"},
        {"bytes=7-100", 206, "789", "bytes 7-9/10"},
        {"bytes=-3", 206, "789", "bytes 7-9/10"},
        {"bytes=-30", 206, "0123456789", "bytes 0-9/10"},
        {"Bytes=0-1", 206, "01", "bytes 0-1/10"},
        {"bytes=10-", 416, NULL, "bytes */10"},
        {"bytes=-0", 416, NULL, "bytes */10"},
        {"bytes=4-2", 200, "0123456789", ""},
        {"bytes=0-1,3-4", 200, "0123456789", ""},
        {"bytes=x", 200, "0123456789", ""},
        {"bytes=", 200, "0123456789", ""},
        {"bytes=1", 200, "0123456789", ""},
        {"lines=0-1", 200, "0123456789", ""},
        {"bytes=99999999999999999999-", 200, "0123456789", ""},
    };
    char head[200];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE(cases[i].range);
        (void)snprintf(head, sizeof head, "Range: %s\r\n", cases[i].range);
        get("/v1/files/f", head);
        check_status(cases[i].status);
        TEST_CHECK(!cases[i].body || strcmp(body_of(), cases[i].body) == 0);
        TEST_CHECK(strcmp(header("Content-Range"), cases[i].told) == 0);
    }
    get("/v1/files/f", "Range: bytes=0-0\r\nIf-Range: \"other\"\r\n");
    check_status(200);
    (void)snprintf(head, sizeof head, "Range: bytes=0-0\r\nIf-Range: %s\r\n", header("ETag"));
    get("/v1/files/f", head);
    check_status(206);
    send_to("HEAD", "/v1/files/f", "Range: bytes=0-0\r\n", "", 0);
    check_status(200);
    put_at(w, "empty", "");
    get("/v1/files/empty", "Range: bytes=0-\r\n");
    check_status(416);
    close_it();
}

static void nothing_outside_is_reached(void)
{
    open_it();
    TEST_CHECK(symlinkat("../secret", w, "out") == 0 && symlinkat("..", w, "up") == 0);
    TEST_CHECK(symlinkat("/etc/passwd", w, "abs") == 0 && mkfifoat(w, "fifo", 0644) == 0);
    TEST_CHECK(symlinkat("/dev/zero", w, "dev") == 0 && symlinkat("loop", w, "loop") == 0);
    static const char *const out[] = {"/v1/files/out",      "/v1/files/up/secret", "/v1/files/abs",
                                      "/v1/files/up",       "/v1/files/dev",       "/v1/tar/up",
                                      "/v1/watch/up",       "/v1/tar/abs",         "/v1/files/loop",
                                      "/v1/files/up/w/fifo"};
    for (size_t i = 0; i < sizeof out / sizeof *out; i++) {
        TEST_CASE(out[i]);
        get(out[i], "");
        check_status(403);
    }
    get("/v1/files/fifo", "");
    check_problem(409, "fifo: this is neither a file nor a folder");
    put("/v1/files/up/secret", "", "x");
    check_problem(403, "up/secret: this leads out of the workspace");
    put("/v1/files/up/evil/x?parents=true", "", "x");
    check_status(403);
    put("/v1/tar/up", "", "");
    check_status(403);
    send_to("DELETE", "/v1/files/up/secret", "", "", 0);
    check_status(403);
    post("/v1/files/up/secret", "{\"action\":\"move\",\"to\":\"mine\"}");
    check_status(403);
    post("/v1/files/out", "{\"action\":\"move\",\"to\":\"up/there\"}");
    check_status(403);
    post("/v1/files/up/evil", "{\"action\":\"make_folder\"}");
    check_status(403);
    put("/v1/files/out", "", "mine"); /* the link goes, not what it leads to */
    check_status(200);
    TEST_CHECK(strcmp(text_at(w, "../secret"), "secret") == 0 && !is_there(w, "../evil"));
    TEST_CHECK(strcmp(text_at(w, "out"), "mine") == 0 && !is_there(w, "../there"));
    close_it();
}

/* --- changing --------------------------------------------------------------------------------- */

static void a_file_is_put(void)
{
    open_it();
    put("/v1/files/f", "", "one");
    check_head("HTTP/1.1 201 ");
    check_has("{\"name\":\"f\",\"type\":\"file\",\"size\":3,");
    check_has("\"mode\":\"0644\"");
    char etag[100], head[200];
    (void)snprintf(etag, sizeof etag, "%s", header("ETag"));
    get("/v1/files/f", "");
    TEST_CHECK(strcmp(header("ETag"), etag) == 0 && strcmp(body_of(), "one") == 0);
    put("/v1/files/f?mode=0700", "", "two");
    check_head("HTTP/1.1 200 ");
    check_has("\"mode\":\"0700\"");
    put("/v1/files/f", "", ""); /* an empty file; it keeps its mode */
    check_has("\"size\":0,");
    check_has("\"mode\":\"0700\"");
    (void)snprintf(head, sizeof head, "If-Match: %s\r\n", etag);
    put("/v1/files/f", head, "late");
    check_problem(412, "f: it is not what If-Match says");
    check_has("\"title\":\"Precondition Failed\"");
    put("/v1/files/f", "If-None-Match: *\r\n", "late");
    check_problem(412, "f: it is there");
    put("/v1/files/g", "If-Match: *\r\n", "late");
    check_status(412);
    TEST_CHECK(count_names(w) == 1);
    put("/v1/files/g", "If-None-Match: *\r\n", "new");
    check_status(201);
    (void)snprintf(head, sizeof head, "If-Match: %s\r\n", header("ETag"));
    put("/v1/files/g", head, "newer");
    check_status(200);
    put("/v1/files/no/such/f", "", "x");
    check_problem(409, "no/such/f: its folder is not there; ask for parents=true");
    put("/v1/files/no/such/f?parents=1", "", "x");
    check_problem(400, "parents must be true or false");
    put("/v1/files/no/such/f?parents=true", "", "x");
    check_status(201);
    put("/v1/files/no/such", "", "x");
    check_problem(409, "no/such: a folder is there");
    put("/v1/files/f/x", "", "x");
    check_status(409);
    put("/v1/files", "", "x");
    check_status(400);
    put("/v1/files/f?mode=8", "", "x");
    check_status(400);
    put("/v1/files/f?mode=07777", "", "x");
    check_status(400);
    TEST_CHECK(strcmp(text_at(w, "g"), "newer") == 0 && count_names(w) == 3);
    close_it();
}

static void what_changes_during_the_body_counts(void)
{
    open_it();
    put_at(w, "f", "old");
    get("/v1/files/f", "");
    char head[300];
    (void)snprintf(head, sizeof head,
                   "PUT /v1/files/f HTTP/1.1\r\nHost: localhost\r\nIf-Match: %s\r\n"
                   "Content-Length: 4\r\n\r\nmi",
                   header("ETag"));
    int fd = dial();
    say(fd, head);
    put_at(w, "f", "changed");
    say(fd, "ne");
    (void)hear(fd);
    check_status(412);
    TEST_CHECK(strcmp(text_at(w, "f"), "changed") == 0);
    (void)fd_close(fd);
    fd = dial();
    say(fd, "PUT /v1/files/n HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: *\r\n"
            "Content-Length: 4\r\n\r\nmi");
    put_at(w, "n", "theirs");
    say(fd, "ne");
    (void)hear(fd);
    check_status(412);
    TEST_CHECK(strcmp(text_at(w, "n"), "theirs") == 0 && count_names(w) == 2);
    (void)fd_close(fd);
    close_it();
}

static void a_folder_that_moves_away_is_not_written_to(void)
{
    open_it();
    TEST_CHECK(mkdirat(w, "d", 0755) == 0);
    int fd = dial();
    say(fd, "PUT /v1/files/d/f HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nmi");
    TEST_CHECK(renameat(w, "d", w, "../elsewhere") == 0 && mkdirat(w, "d", 0755) == 0);
    say(fd, "ne");
    (void)hear(fd);
    check_problem(409, "d/f: its folder was moved meanwhile; send it again");
    TEST_CHECK(!is_there(w, "d/f") && !is_there(w, "../elsewhere/f"));
    (void)fd_close(fd);
    close_it();
}

/* A lease makes an open wait, for those who wait. */
static void a_file_that_is_held_is_told_at_once(void)
{
    open_it();
    put_at(w, "f", "x");
    (void)signal(SIGIO, SIG_IGN);
    int fd = openat(w, "f", O_RDWR | O_CLOEXEC);
    TEST_CHECK(fcntl(fd, F_SETLEASE, F_WRLCK) == 0);
    get("/v1/files/f", "");
    check_problem(503, "f: somebody holds or moves this; try again");
    (void)fd_close(fd);
    get("/v1/files/f", "");
    check_status(200);
    close_it();
}

static void half_a_file_is_no_file(void)
{
    open_it();
    put_at(w, "f", "old");
    static const char head[] =
        "PUT /v1/files/f HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nhalf";
    int fd = dial();
    say(fd, head);
    TEST_CHECK(!hear(fd) && got.len == 0);
    (void)fd_close(fd);
    turn();
    TEST_CHECK(count_names(w) == 1 && strcmp(text_at(w, "f"), "old") == 0);
    fd = dial();
    say(fd, head);
    api.http = http_close(api.http); /* the server ends */
    TEST_CHECK(count_names(w) == 1 && strcmp(text_at(w, "f"), "old") == 0);
    (void)fd_close(fd);
    close_it();
}

static void a_long_body_arrives_as_it_was_sent(void)
{
    open_it();
    static char body[5000000];
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (char)(i * 7 + i / 1000);
    send_to("PUT", "/v1/files/big", "", body, sizeof body);
    check_status(201);
    int fd = openat(w, "big", O_RDONLY | O_CLOEXEC);
    static char copy[sizeof body + 1];
    TEST_CHECK(read(fd, copy, sizeof copy) == sizeof body && memcmp(copy, body, sizeof body) == 0);
    (void)fd_close(fd);
    get("/v1/files/big", "");
    check_has("Content-Length: 5000000\r\n");
    TEST_CHECK(got.len > sizeof body &&
               memcmp(got.data + got.len - sizeof body, body, sizeof body) == 0);
    close_it();
}

static void no_space_is_told_and_leaves_nothing(void)
{
    open_it();
    struct statvfs fs;
    TEST_CHECK(fstatvfs(w, &fs) == 0);
    uint64_t much = ((uint64_t)fs.f_bavail + 100000) * fs.f_frsize;
    char head[200];
    (void)snprintf(head, sizeof head,
                   "PUT /v1/files/f HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                   "Content-Length: %llu\r\n\r\n",
                   (unsigned long long)much);
    int fd = dial();
    say(fd, head);
    (void)hear(fd);
    check_status(much > API_FILES_BODY_MAX ? 413 : 507);
    (void)fd_close(fd);
    (void)signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {1000, 1000};
    TEST_ASSERT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    static char body[3000];
    memset(body, 'x', sizeof body - 1);
    put("/v1/files/f", "", body);
    check_problem(507, "f: the file is larger than files may be here");
    buf_clear(&request);
    struct buf archive = BUF_INIT(1 << 20);
    add_member(&archive, '0', "small", "s");
    add_member(&archive, '0', "large", body);
    tar_put_end(&archive);
    send_to("PUT", "/v1/tar", "", archive.data, archive.len);
    check_problem(507, "large: the file is larger than is allowed here; before it 1 files");
    buf_done(&archive);
    TEST_CHECK(count_names(w) == 1 && is_there(w, "small"));
    close_it();
}

static void things_are_deleted(void)
{
    open_it();
    put_at(w, "f", "f");
    TEST_CHECK(symlinkat("f", w, "l") == 0 && mkdirat(w, "d", 0755) == 0);
    TEST_CHECK(mkdirat(w, "d/e", 0755) == 0 && symlinkat("../..", w, "d/e/up") == 0);
    for (int i = 0; i < 700; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "d/%d", i);
        put_at(w, name, "");
    }
    send_to("DELETE", "/v1/files/l", "", "", 0);
    check_status(204);
    TEST_CHECK(is_there(w, "f") && !is_there(w, "l"));
    send_to("DELETE", "/v1/files/d", "", "", 0);
    check_problem(409, "d: the folder is not empty; ask for recursive=true");
    send_to("DELETE", "/v1/files/f", "If-Match: \"x\"\r\n", "", 0);
    check_status(412);
    send_to("DELETE", "/v1/files/d?recursive=true", "", "", 0);
    check_status(204);
    send_to("DELETE", "/v1/files/f?recursive=true", "", "", 0);
    check_status(204);
    TEST_CHECK(count_names(w) == 0 && strcmp(text_at(w, "../secret"), "secret") == 0);
    send_to("DELETE", "/v1/files/f", "", "", 0);
    check_status(404);
    send_to("DELETE", "/v1/files?recursive=true", "", "", 0);
    check_status(400);
    close_it();
}

static void things_are_moved_and_nothing_is_overwritten_unasked(void)
{
    open_it();
    put_at(w, "a", "a");
    put_at(w, "b", "b");
    TEST_CHECK(mkdirat(w, "d", 0755) == 0 && symlinkat("a", w, "l") == 0);
    post("/v1/files/a", "{\"action\":\"move\",\"to\":\"b\"}");
    check_problem(409, "b: something has this name already");
    TEST_CHECK(strcmp(text_at(w, "b"), "b") == 0);
    post("/v1/files/a", "{\"action\":\"move\",\"to\":\"b\",\"overwrite\":true}");
    check_status(200);
    check_has("{\"name\":\"b\",\"type\":\"file\"");
    TEST_CHECK(strcmp(text_at(w, "b"), "a") == 0 && !is_there(w, "a"));
    post("/v1/files/l", "{\"action\":\"move\",\"to\":\"d/l\"}");
    check_has("\"type\":\"link\"");
    post("/v1/files/d", "{\"action\":\"move\",\"to\":\"x/y\"}");
    check_problem(409, "x/y: its folder is not there; ask for parents=true");
    post("/v1/files/d", "{\"action\":\"move\",\"to\":\"x/y\",\"parents\":true}");
    check_status(200);
    TEST_CHECK(is_there(w, "x/y/l"));
    post("/v1/files/x", "{\"action\":\"move\",\"to\":\"x/y/x\"}");
    check_problem(409, "x/y/x: a folder cannot move into itself");
    post("/v1/files/absent", "{\"action\":\"move\",\"to\":\"z\"}");
    check_status(404);
    post("/v1/files/new", "{\"action\":\"make_folder\",\"mode\":\"0700\"}");
    check_status(201);
    check_has("\"type\":\"folder\",\"size\":0,");
    check_has("\"mode\":\"0700\"");
    post("/v1/files/new", "{\"action\":\"make_folder\"}");
    check_status(409);
    static const char *const wrong[] = {
        "{}",
        "[]",
        "{",
        "{\"action\":\"copy\"}",
        "{\"action\":\"move\"}",
        "{\"action\":\"move\",\"to\":\"../x\"}",
        "{\"action\":\"move\",\"to\":\"/x\"}",
        "{\"action\":\"move\",\"to\":\"\"}",
        "{\"action\":\"move\",\"to\":\"z\",\"overwrite\":1}",
        "{\"action\":\"make_folder\",\"mode\":7}",
        "{\"action\":\"make_folder\",\"mode\":\"9\"}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        TEST_CASE(wrong[i]);
        post("/v1/files/b", wrong[i]);
        check_status(400);
    }
    post("/v1/files", "{\"action\":\"make_folder\"}");
    check_status(400);
    close_it();
}

#define T(name) {#name, name}
TEST_LIST = {
    T(a_folder_is_listed),
    T(names_that_a_path_cannot_hold_come_by_the_query),
    T(a_file_is_read_whole_or_not_again),
    T(parts_of_a_file_are_read),
    T(nothing_outside_is_reached),
    T(a_file_is_put),
    T(what_changes_during_the_body_counts),
    T(a_folder_that_moves_away_is_not_written_to),
    T(a_file_that_is_held_is_told_at_once),
    T(half_a_file_is_no_file),
    T(a_long_body_arrives_as_it_was_sent),
    T(no_space_is_told_and_leaves_nothing),
    T(things_are_deleted),
    T(things_are_moved_and_nothing_is_overwritten_unasked),
    {NULL, NULL},
};
