/* SPDX-License-Identifier: Apache-2.0
 *
 * envd's half of E2B's wire behind a door of its own, over a real session, a real workspace and
 * real programs; the kernel is played. */
#include <acutest.h>

#include "unit/become_shim.h"
#include "unit/files/scratch.h"
#include "unit/front/httptest.h"
#include "unit/guard.h"

#include "base/clock.h"
#include "base/hmac.h"
#include "fakes/fake_kernel.h"
#include "front/envd/envd_internal.h"
#include "session/commands/commands.h"

static struct session_config session_config;
static struct sessions *sessions;
static struct spawner *spawner;
static struct e2b *e2b;
static struct http *http;
static struct e2b_sandbox *sandbox;
static char workspace[64], token[100];
static int fds_open;
static struct buf request = {.cap = (size_t)1 << 20};

static const struct http_realm *realm_of_all(void *ctx, const struct http_request *r)
{
    return e2b_realm(ctx, r);
}

static void log_nothing(enum log_level level, const char *text)
{
    (void)level, (void)text;
}

static void open_all(void)
{
    static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};
    static const struct http_route none[] = {{0}};
    struct err e = ERR_NONE;
    open_place();
    open_loop();
    (void)umask(022);
    fake = (struct fake_kernel){0};
    (void)snprintf(workspace, sizeof workspace, "%s/w", top);
    TEST_ASSERT(spawner_new(loop, &spawner, &e) == 0);
    session_config = (struct session_config){
        .kernel = {.loop = loop, .spawner = spawner, .envp = env, .cwd = workspace},
        .workspace = workspace,
        .interrupt_grace_ms = 5000,
        .event_memory = 1 << 20,
        .history_memory = 1 << 20,
        .log = log_nothing};
    const struct sessions_config all = {.base = &session_config, .max = 3};
    TEST_ASSERT(sessions_open(&all, &sessions, &e) == 0);
    const struct e2b_config config = {
        .loop = loop, .sessions = sessions, .workspace = workspace, .key = "key"};
    e2b = e2b_open(&config);
    const struct e2b_sandbox_spec spec = {.id = "sbx1", .template_name = "base"};
    TEST_ASSERT_(e2b_sandbox_new(e2b, &spec, &sandbox, &e) == 0, "%s", e.msg);
    const struct http_config door = {
        .loop = loop, .host = "localhost", .routes = none, .realm = realm_of_all, .ctx = e2b};
    TEST_ASSERT_(http_open(&door, &http, &e) == 0, "%s", e.msg);
    port = http_port(http);
    (void)snprintf(token, sizeof token, "X-Access-Token: %s\r\n", sandbox->access_token);
    turn();
    fds_open = count_fds();
}

static void close_all(void)
{
    struct e2b_sandbox *left = e2b_sandbox_find(e2b, "sbx1");
    if (left)
        e2b_sandbox_kill(left);
    for (int64_t until = clock_ms() + GUARD_MS; count_fds() > fds_open && clock_ms() < until;)
        turn();
    TEST_CHECK(count_fds() <= fds_open); /* of requests and commands none is left */
    TEST_MSG("%d descriptors more", count_fds() - fds_open);
    http = http_close(http);
    e2b = e2b_close(e2b);
    sessions = sessions_close(sessions);
    spawner = spawner_free(spawner, 5000);
    close_loop();
    buf_done(&request);
    fds_before = count_fds() - 1; /* that of the workspace; libwebsockets keeps one for itself */
}

static int send_bytes(const char *line, const char *head, const char *body, size_t n)
{
    int fd = dial();
    buf_clear(&request);
    (void)buf_addf(&request,
                   "%s HTTP/1.1\r\nHost: localhost\r\nE2b-Sandbox-Id: sbx1\r\n"
                   "E2b-Sandbox-Port: 49983\r\n%sContent-Length: %zu\r\n\r\n",
                   line, head, n);
    (void)buf_add(&request, body, n);
    say_n(fd, request.data, request.len);
    return fd;
}

static void ask_bytes(const char *line, const char *head, const char *body, size_t n)
{
    int fd = send_bytes(line, head, body, n);
    (void)hear(fd);
    (void)fd_close(fd);
    turn();
}

/* One unary call; what the answer is to begin with and to hold. */
static void rpc(const char *method, const char *body, const char *status, const char *holds)
{
    drop_str char *line = xasprintf("POST /%s", method);
    drop_str char *head = xasprintf("%sContent-Type: application/json\r\n", token);
    ask_bytes(line, head, body, strlen(body));
    drop_str char *first = xasprintf("HTTP/1.1 %s ", status);
    check_head(first);
    check_has(holds);
}

#define FS(method, body, status, holds) rpc("filesystem.Filesystem/" method, body, status, holds)
#define PROCESS(method, body, status, holds) rpc("process.Process/" method, body, status, holds)

/* The connection of a stream that was asked for with one message. */
static int open_stream(const char *method, const char *json)
{
    char body[4096];
    size_t n = strlen(json);
    body[0] = body[1] = body[2] = 0;
    body[3] = (char)(n >> 8);
    body[4] = (char)n;
    memcpy(body + 5, json, n);
    drop_str char *line = xasprintf("POST /%s", method);
    drop_str char *head = xasprintf("%sContent-Type: application/connect+json\r\n", token);
    return send_bytes(line, head, body, n + 5);
}

/* All that a stream says, until it says so. */
static void hear_until(int fd, const char *text, struct buf *all)
{
    int64_t until = clock_ms() + GUARD_MS;
    while (clock_ms() < until &&
           !(all->len > 0 && memmem(all->data, all->len, text, strlen(text)))) {
        (void)hear(fd);
        (void)buf_add(all, buf_text(&got), got.len);
    }
    TEST_CHECK_(all->len > 0 && memmem(all->data, all->len, text, strlen(text)), "%s", text);
}

static void run(const char *json, const char *const *holds)
{
    drop_buf struct buf all = BUF_INIT(1 << 20);
    int fd = open_stream("process.Process/Start", json);
    hear_until(fd, "\r\n0\r\n\r\n", &all);
    for (; *holds; holds++)
        TEST_CHECK_(memmem(all.data, all.len, *holds, strlen(*holds)) != NULL, "%s", *holds);
    (void)fd_close(fd);
}

#define RUN(json, ...) run(json, (const char *const[]){__VA_ARGS__, NULL})

/* --- files ------------------------------------------------------------------------------------ */

static void upload(const char *target, const char *head, const char *body)
{
    drop_str char *line = xasprintf("POST %s", target);
    ask_bytes(line, head, body, strlen(body));
}

#define PARTS_TYPE "Content-Type: multipart/form-data; boundary=XX\r\n"
#define PART(filename)                                                                             \
    "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" filename "\"\r\n\r\n"

static void files_are_written_and_read(void)
{
    open_all();
    drop_str char *parts = xasprintf("%s" PARTS_TYPE, token);
    drop_str char *bytes = xasprintf("%sContent-Type: application/octet-stream\r\n", token);
    upload("/files", parts, PART("/home/user/a/b.txt") "one\r\n" PART("c") "\r\n--XX--\r\n");
    check_head("HTTP/1.1 200 ");
    check_has("[{\"path\":\"/home/user/a/b.txt\",\"name\":\"b.txt\",\"type\":\"file\"},"
              "{\"path\":\"/home/user/c\",\"name\":\"c\",\"type\":\"file\"}]");
    upload("/files?path=c&username=user", parts, PART("ignored") "two\r\n--XX--\r\n");
    check_has("\"path\":\"/home/user/c\"");
    upload("/files?path=/workspace/d%20e", bytes, "three");
    check_has("[{\"path\":\"/workspace/d e\"");
    ask_bytes("GET /files?path=~/a/../a/b.txt", token, "", 0);
    TEST_CHECK(strcmp(body_of(), "one") == 0);
    ask_bytes("GET /files?path=c", token, "", 0);
    TEST_CHECK(strcmp(body_of(), "two") == 0);
    drop_str char *range = xasprintf("%sRange: bytes=1-2\r\n", token);
    ask_bytes("GET /files?path=d%20e", range, "", 0);
    check_head("HTTP/1.1 206 ");
    TEST_CHECK(strcmp(body_of(), "hr") == 0);
    ask_bytes("GET /files?path=absent", token, "", 0);
    check_head("HTTP/1.1 404 ");
    check_has("{\"code\":404,\"message\":\"path '/home/user/absent' does not exist\"}");
    ask_bytes("GET /files?path=a", token, "", 0);
    check_head("HTTP/1.1 400 ");
    close_all();
    close_place();
}

/* "hello gzip" */
static const char hello_gz[] = "\037\213\010\000\000\000\000\000\002\003\313\110\315\311\311"
                               "\127\110\257\312\054\000\000\031\152\322\337\012\000\000\000";

static void uploads_come_in_gzip(void)
{
    open_all();
    drop_str char *head =
        xasprintf("%sContent-Encoding: gzip\r\nContent-Type: application/octet-stream\r\n", token);
    ask_bytes("POST /files?path=z", head, hello_gz, sizeof hello_gz - 1);
    check_head("HTTP/1.1 200 ");
    ask_bytes("GET /files?path=z", token, "", 0);
    check_has("\r\n\r\nhello gzip");
    ask_bytes("POST /files?path=cut", head, hello_gz, sizeof hello_gz - 3);
    check_has("{\"code\":400,\"message\":\"the body is no gzip: it is broken\"}");
    TEST_CHECK(faccessat(w, "cut", F_OK, 0) < 0);
    close_all();
    close_place();
}

static void what_a_client_notes_at_a_file_is_told(void)
{
    open_all();
    drop_str char *head = xasprintf("%sContent-Type: application/octet-stream\r\n"
                                    "X-Metadata-Author: me \"x\"\r\nx-metadata-b: 2\r\n",
                                    token);
    drop_str char *plain = xasprintf("%sContent-Type: application/octet-stream\r\n", token);
    drop_str char *bad = xasprintf("%sX-Metadata-A: \303\244\r\n", plain);
    const char noted[] = "\"metadata\":{\"author\":\"me \\\"x\\\"\",\"b\":\"2\"}";
    ask_bytes("POST /files?path=m", head, "1", 1);
    check_head("HTTP/1.1 200 ");
    check_has(noted);
    FS("Stat", "{\"path\":\"m\"}", "200", noted);
    FS("ListDir", "{\"path\":\".\",\"depth\":1}", "200", noted);
    ask_bytes("POST /files?path=m", plain, "2", 1); /* the set of before is gone with it */
    check_head("HTTP/1.1 200 ");
    FS("Stat", "{\"path\":\"m\"}", "200", "\"name\":\"m\"");
    check_has_not("metadata");
    ask_bytes("POST /files?path=m", bad, "3", 1);
    check_head("HTTP/1.1 400 ");
    check_has("printable ASCII");
    close_all();
    close_place();
}

static void compose(const char *body, const char *status, const char *holds)
{
    drop_str char *first = xasprintf("HTTP/1.1 %s ", status);
    TEST_CASE(body);
    ask_bytes("POST /files/compose", token, body, strlen(body));
    check_head(first);
    check_has(holds);
}

static void files_are_composed(void)
{
    open_all();
    drop_str char *bytes = xasprintf("%sContent-Type: application/octet-stream\r\n", token);
    ask_bytes("POST /files?path=p1", bytes, "one", 3);
    ask_bytes("POST /files?path=p2", bytes, "two", 3);
    compose("{\"source_paths\":[],\"destination\":\"x\"}", "400", "source_paths: an array");
    compose("{\"source_paths\":[\"p1\"]}", "400", "path: a text");
    compose("{\"source_paths\":[\"p1\",\"none\"],\"destination\":\"x\"}", "404", "does not exist");
    compose("{\"source_paths\":[\"x\"],\"destination\":\"./x\"}", "400", "the same as");
    compose("{\"source_paths\":[\"/etc/passwd\"],\"destination\":\"x\"}", "403", "outside");
    TEST_CHECK(faccessat(w, "x", F_OK, 0) < 0 && faccessat(w, "p1", F_OK, 0) == 0);
    compose("{\"source_paths\":[\"p1\",\"p2\"],\"destination\":\"d/x\"}", "200",
            "{\"path\":\"/home/user/d/x\",\"name\":\"x\",\"type\":\"file\"}");
    ask_bytes("GET /files?path=d/x", token, "", 0);
    check_has("\r\n\r\nonetwo");
    TEST_CHECK(faccessat(w, "p1", F_OK, 0) < 0 && faccessat(w, "p2", F_OK, 0) < 0);
    ask_bytes("GET /metrics", token, "", 0);
    check_has("\"cpu_used_pct\":");
    close_all();
    close_place();
}

static void bad_uploads_are_refused_and_leave_nothing(void)
{
    open_all();
    drop_str char *parts = xasprintf("%s" PARTS_TYPE, token);
    drop_str char *zipped =
        xasprintf("%sContent-Encoding: gzip\r\nContent-Type: application/octet-stream\r\n", token);
    upload("/files", parts, PART("x") "1\r\n" PART("./x") "2\r\n--XX--\r\n");
    check_head("HTTP/1.1 400 ");
    check_has("multiple files to the same path");
    upload("/files", parts, PART("half") "1");
    check_has("{\"code\":400,\"message\":\"the body is no multipart/form-data: it is broken\"}");
    upload("/files?path=z", zipped, "1");
    check_head("HTTP/1.1 400 ");
    upload("/files?path=z", token, "1");
    check_has("Content-Type: multipart/form-data or application/octet-stream is needed");
    upload("/files?path=z&username=root", parts, PART("x") "1\r\n--XX--\r\n");
    check_head("HTTP/1.1 401 ");
    TEST_CHECK(faccessat(w, "half", F_OK, 0) < 0 && faccessat(w, "z", F_OK, 0) < 0);
    close_all();
    close_place();
}

/* Where code may have put links that lead out. */
static void nothing_outside_of_the_workspace_is_reached(void)
{
    static const char *const paths[] = {"/etc/passwd", "../secret", "/home/user/../../etc/passwd",
                                        "out",         "up/secret", "/workspace/../secret"};
    open_all();
    TEST_CHECK(symlinkat("../secret", w, "out") == 0 && symlinkat("..", w, "up") == 0);
    drop_str char *bytes = xasprintf("%sContent-Type: application/octet-stream\r\n", token);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        drop_str char *get = xasprintf("GET /files?path=%s", paths[i]);
        drop_str char *post = xasprintf("/files?path=%s", paths[i]);
        drop_str char *json = xasprintf("{\"path\":\"%s\"}", paths[i]);
        drop_str char *move = xasprintf("{\"source\":\"%s\",\"destination\":\"m\"}", paths[i]);
        ask_bytes(get, token, "", 0);
        check_head("HTTP/1.1 403 ");
        check_has_not("secret\n");
        if (strcmp(paths[i], "out") != 0) { /* the link itself may go */
            upload(post, bytes, "x");
            check_head("HTTP/1.1 403 ");
            FS("Remove", json, "403", "permission_denied");
            FS("MakeDir", json, "403", "permission_denied");
            FS("Move", move, "403", "permission_denied");
        }
        FS("ListDir", json, "403", "permission_denied");
        FS("CreateWatcher", json, "403", "permission_denied");
    }
    drop_str char *secret = xasprintf("%s/secret", top);
    TEST_CHECK(access(secret, F_OK) == 0);
    close_all();
    close_place();
}

static void who_has_no_token_gets_nothing(void)
{
    static const char *const lines[] = {"GET /files?path=a",
                                        "POST /files?path=a",
                                        "POST /process.Process/Start",
                                        "POST /process.Process/List",
                                        "POST /filesystem.Filesystem/Stat",
                                        "GET /envs"};
    open_all();
    put_at(w, "a", "content");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        ask_bytes(lines[i], "Content-Type: application/json\r\n", "{}", 2);
        check_head("HTTP/1.1 401 ");
        check_has("{\"code\":401,\"message\":\"");
        ask_bytes(lines[i], "X-Access-Token: wrong\r\n", "{}", 2);
        check_head("HTTP/1.1 4");
        check_has_not("content");
    }
    close_all();
    close_place();
}

static char *sign(const char *text)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%%";
    drop_str char *all = xasprintf("%s:%s", text, sandbox->access_token);
    char hex[HMAC_HEX + 1];
    sha256_hex(all, strlen(all), hex);
    struct buf out = {.cap = 200};
    unsigned bits = 0, n = 0;
    for (const char *at = hex; *at || n > 0; at += *at != '\0') {
        bits = bits << 4 | (unsigned)(*at ? (*at <= '9' ? *at - '0' : *at - 'a' + 10) : 0);
        n += 4;
        if (n < 6)
            continue;
        n -= 6;
        unsigned letter = bits >> n & 63;
        if (letter < 62)
            (void)buf_addc(&out, letters[letter]);
        else
            (void)buf_adds(&out, letter == 62 ? "%2B" : "%2F");
        if (!*at)
            break;
    }
    return buf_take(&out);
}

static void a_signed_url_needs_no_token(void)
{
    open_all();
    put_at(w, "a", "content");
    drop_str char *read = sign("a:read:"), *write = sign("a:write:");
    drop_str char *right = xasprintf("GET /files?path=a&signature=v1_%s", read);
    drop_str char *other = xasprintf("GET /files?path=b&signature=v1_%s", read);
    drop_str char *wrong = xasprintf("GET /files?path=a&signature=v1_%s", write);
    drop_str char *over =
        xasprintf("GET /files?path=a&signature=v1_%s&signature_expiration=1", read);
    ask_bytes(right, "", "", 0);
    TEST_CHECK(strcmp(body_of(), "content") == 0);
    TEST_MSG("%s", buf_text(&got));
    ask_bytes(other, "", "", 0);
    check_head("HTTP/1.1 401 ");
    drop_str char *bare = xasprintf("%s HTTP/1.1\r\nHost: localhost\r\n\r\n", right);
    ask(bare);
    TEST_CHECK(strcmp(body_of(), "content") == 0);
    ask("GET /files?path=a HTTP/1.1\r\nHost: localhost\r\n\r\n");
    check_head("HTTP/1.1 401 ");
    ask_bytes(wrong, "", "", 0);
    check_head("HTTP/1.1 401 ");
    ask_bytes(over, "", "", 0);
    check_head("HTTP/1.1 401 ");
    close_all();
    close_place();
}

/* --- filesystem ------------------------------------------------------------------------------- */

static void folders_and_entries_are_as_envd_tells_them(void)
{
    open_all();
    put_at(w, "f", "12345");
    TEST_CHECK(symlinkat("f", w, "l") == 0);
    FS("Stat", "{\"path\":\"f\",\"unknown\":1}", "200",
       "{\"entry\":{\"name\":\"f\",\"path\":\"/home/user/f\",\"type\":\"FILE_TYPE_FILE\","
       "\"size\":\"5\",\"mode\":420,\"permissions\":\"-rw-r--r--\",\"owner\":\"user\"");
    FS("Stat", "{\"path\":\"/workspace/l\"}", "200",
       "\"symlinkTarget\":\"/workspace/f\",\"type\":\"FILE_TYPE_FILE\"");
    FS("Stat", "{\"path\":\"nothing\"}", "404",
       "{\"code\":\"not_found\",\"message\":\"path '/home/user/nothing' does not exist\"}");
    FS("MakeDir", "{\"path\":\"d/e\"}", "200", "\"type\":\"FILE_TYPE_DIRECTORY\"");
    FS("MakeDir", "{\"path\":\"d\"}", "409", "already_exists");
    FS("MakeDir", "{\"path\":\"f\"}", "400", "invalid_argument");
    FS("Move", "{\"source\":\"f\",\"destination\":\"d/new/g\"}", "200",
       "\"path\":\"/home/user/d/new/g\"");
    FS("Move", "{\"source\":\"f\",\"destination\":\"g\"}", "404", "not_found");
    FS("ListDir", "{\"path\":\"/home/user\"}", "200", "\"name\":\"d\"");
    check_has_not("\"name\":\"e\"");
    FS("ListDir", "{\"path\":\"/home/user\",\"depth\":3}", "200", "/home/user/d/new/g");
    TEST_CHECK(strstr(buf_text(&got), "user/d/e\"") < strstr(buf_text(&got), "user/d/new\""));
    FS("ListDir", "{\"path\":\"d/new/g\"}", "400", "is not a directory");
    FS("Remove", "{\"path\":\"d\"}", "200", "{}");
    FS("Remove", "{\"path\":\"d\"}", "200", "{}");
    FS("Remove", "{\"path\":\"/home/user\"}", "403", "permission_denied");
    FS("ListDir", "{\"path\":\"d\"}", "404", "not_found");
    close_all();
    close_place();
}

static void watchers_tell_what_happened(void)
{
    open_all();
    FS("CreateWatcher", "{\"path\":\".\",\"includeEntry\":true}", "200", "{\"watcherId\":\"w1\"}");
    FS("GetWatcherEvents", "{\"watcherId\":\"w1\"}", "200", "{\"events\":[]}");
    put_at(w, "n", "x");
    FS("GetWatcherEvents", "{\"watcherId\":\"w1\"}", "200",
       "{\"name\":\"n\",\"type\":\"EVENT_TYPE_CREATE\",\"entry\":{\"name\":\"n\"");
    TEST_CHECK(unlinkat(w, "n", 0) == 0);
    FS("GetWatcherEvents", "{\"watcherId\":\"w1\"}", "200",
       "{\"name\":\"n\",\"type\":\"EVENT_TYPE_REMOVE\"}");
    FS("RemoveWatcher", "{\"watcherId\":\"w1\"}", "200", "{}");
    FS("GetWatcherEvents", "{\"watcherId\":\"w1\"}", "404", "not_found");
    for (int i = 0; i < ENVD_WATCHERS_MAX; i++)
        FS("CreateWatcher", "{\"path\":\".\"}", "200", "watcherId");
    FS("CreateWatcher", "{\"path\":\".\"}", "429", "resource_exhausted");
    close_all();
    close_place();
}

static void a_watch_is_a_stream(void)
{
    open_all();
    drop_buf struct buf all = BUF_INIT(1 << 20);
    int fd = open_stream("filesystem.Filesystem/WatchDir", "{\"path\":\"/home/user\"}");
    hear_until(fd, "{\"start\":{}}", &all);
    put_at(w, "n", "x");
    hear_until(fd, "{\"filesystem\":{\"name\":\"n\",\"type\":\"EVENT_TYPE_WRITE\"}}", &all);
    e2b_sandbox_kill(sandbox);
    hear_until(fd, "{\"error\":{\"code\":\"unavailable\"", &all);
    (void)fd_close(fd);
    close_all();
    close_place();
}

/* --- processes -------------------------------------------------------------------------------- */

static void a_command_streams_what_it_says(void)
{
    open_all();
    RUN("{\"process\":{\"cmd\":\"bash\",\"args\":[\"-c\",\"pwd | grep -c /w; echo $B >&2\"],"
        "\"envs\":{\"B\":\"2\"},\"cwd\":\"/home/user\"},\"stdin\":false}",
        "{\"event\":{\"start\":{\"pid\":", "{\"event\":{\"data\":{\"stdout\":\"MQo=\"}}}",
        "{\"event\":{\"data\":{\"stderr\":\"Mgo=\"}}}",
        "{\"event\":{\"end\":{\"exited\":true,\"status\":\"exit status 0\"}}}");
    RUN("{\"process\":{\"cmd\":\"bash\",\"args\":[\"-c\",\"exit 3\"]},\"stdin\":false}",
        "{\"exited\":true,\"status\":\"exit status 3\",\"exitCode\":3,"
        "\"error\":\"exit status 3\"}");
    RUN("{\"process\":{\"cmd\":\"bash\",\"args\":[\"-c\",\"kill -9 $$\"]},\"stdin\":false}",
        "{\"status\":\"signal: killed\",\"exitCode\":-1,\"error\":\"signal: killed\"}");
    RUN("{\"process\":{\"cmd\":\"bash\",\"args\":[],\"cwd\":\"/nowhere\"}}",
        "{\"error\":{\"code\":\"invalid_argument\","
        "\"message\":\"cwd '/nowhere' does not exist\"}}");
    RUN("{\"process\":{\"cmd\":\"/no/such\"}}", "{\"error\":{\"code\":\"invalid_argument\"");
    RUN("{\"process\":{}}", "cmd: the name of a program is needed");
    RUN("{\"process\":{\"cmd\":\"bash\"},\"pty\":{\"size\":{\"cols\":-1}}}", "pty.size");
    close_all();
    close_place();
}

static int pid_of(const struct buf *all)
{
    const char *at = memmem(all->data, all->len, "\"pid\":", 6);
    return at ? (int)strtol(at + 6, NULL, 10) : 0;
}

static void a_client_that_leaves_leaves_the_command(void)
{
    open_all();
    drop_buf struct buf all = BUF_INIT(1 << 20), later = BUF_INIT(1 << 20);
    int fd = open_stream("process.Process/Start",
                         "{\"process\":{\"cmd\":\"cat\"},\"stdin\":true,\"tag\":\"t\"}");
    hear_until(fd, "\"pid\":", &all);
    (void)fd_close(fd);
    turn();
    int pid = pid_of(&all);
    drop_str char *input =
        xasprintf("{\"process\":{\"pid\":%d},\"input\":{\"stdin\":\"aGk=\"}}", pid);
    drop_str char *close = xasprintf("{\"process\":{\"pid\":%d}}", pid);
    PROCESS("List", "{}", "200", "\"config\":{\"cmd\":\"cat\",\"cwd\":\"");
    check_has("\"tag\":\"t\"");
    PROCESS("SendInput", input, "200", "{}");
    PROCESS("CloseStdin", close, "200", "{}");
    fd = open_stream("process.Process/Connect", "{\"process\":{\"tag\":\"t\"}}");
    hear_until(fd, "exit status 0", &later);
    TEST_CHECK(pid_of(&later) == pid && memmem(later.data, later.len, "aGk=", 4));
    (void)fd_close(fd);
    PROCESS("SendSignal", "{\"process\":{\"tag\":\"t\"},\"signal\":\"SIGNAL_SIGKILL\"}", "404",
            "{\"code\":\"not_found\"");
    PROCESS("SendSignal", "{\"process\":{\"pid\":999999999}}", "404", "not_found");
    PROCESS("SendInput", "{\"input\":{}}", "400", "a pid or a tag is needed");
    close_all();
    close_place();
}

static void a_terminal_is_typed_into_and_resized(void)
{
    open_all();
    drop_buf struct buf all = BUF_INIT(1 << 20);
    int fd = open_stream(
        "process.Process/Start",
        "{\"process\":{\"cmd\":\"bash\",\"args\":[\"-c\",\"read x; stty size; exit 4\"]},"
        "\"pty\":{\"size\":{\"cols\":80,\"rows\":24}},\"tag\":\"t\"}");
    hear_until(fd, "\"pid\":", &all);
    PROCESS("Update", "{\"process\":{\"tag\":\"t\"},\"pty\":{\"size\":{\"cols\":100,\"rows\":30}}}",
            "200", "{}");
    PROCESS("SendInput", "{\"process\":{\"tag\":\"t\"},\"input\":{\"stdin\":\"Cg==\"}}", "400",
            "send pty");
    PROCESS("SendInput", "{\"process\":{\"tag\":\"t\"},\"input\":{\"pty\":\"Cg==\"}}", "200", "{}");
    hear_until(fd, "exit status 4", &all);
    TEST_CHECK(memmem(all.data, all.len, "{\"data\":{\"pty\":\"", 15) != NULL);
    (void)fd_close(fd);
    close_all();
    close_place();
}

static void put_frame(struct buf *out, const char *json)
{
    size_t at;
    connect_begin(out, &at);
    (void)buf_adds(out, json);
    connect_finish(out, at, 0);
}

static void input_comes_as_a_stream(void)
{
    drop_buf struct buf frames = BUF_INIT(1000);
    put_frame(&frames, "{\"start\":{\"process\":{\"tag\":\"t\"}}}");
    size_t start = frames.len;
    put_frame(&frames, "{\"keepalive\":{}}");
    put_frame(&frames, "{\"data\":{\"input\":{\"stdin\":\"aGVsbG8=\"}}}");
    open_all();
    drop_buf struct buf all = BUF_INIT(1 << 20);
    drop_str char *head = xasprintf("%sContent-Type: application/connect+json\r\n", token);
    int fd = open_stream("process.Process/Start",
                         "{\"process\":{\"cmd\":\"cat\"},\"stdin\":true,\"tag\":\"t\"}");
    hear_until(fd, "\"pid\":", &all);
    ask_bytes("POST /process.Process/StreamInput", head, frames.data, frames.len);
    check_head("HTTP/1.1 200 ");
    check_has_not("error");
    hear_until(fd, "{\"stdout\":\"aGVsbG8=\"}", &all);
    ask_bytes("POST /process.Process/StreamInput", head, frames.data + start, frames.len - start);
    check_has("{\"error\":{\"code\":\"invalid_argument\"");
    (void)fd_close(fd);
    close_all();
    close_place();
}

#define SLEEP "{\"process\":{\"cmd\":\"sleep\",\"args\":[\"9\"]}}"

static void a_timeout_kills_and_the_end_of_the_sandbox_too(void)
{
    open_all();
    drop_buf struct buf all = BUF_INIT(1 << 20), other = BUF_INIT(1 << 20);
    drop_str char *plain = xasprintf("%s", token);
    size_t n = strlen(token);
    (void)snprintf(token + n, sizeof token - n, "Connect-Timeout-Ms: 500\r\n");
    int fd = open_stream("process.Process/Start", SLEEP);
    (void)snprintf(token, sizeof token, "%s", plain);
    hear_until(fd, "\"pid\":", &all);
    pass(600);
    hear_until(fd, "{\"error\":{\"code\":\"deadline_exceeded\"", &all);
    (void)fd_close(fd);
    fd = open_stream("process.Process/Start", SLEEP);
    hear_until(fd, "\"pid\":", &other);
    e2b_sandbox_kill(sandbox);
    hear_until(fd, "{\"error\":{\"code\":\"unavailable\"", &other);
    (void)fd_close(fd);
    PROCESS("List", "{}", "502", "not found");
    close_all();
    close_place();
}

static void calls_of_another_form_are_refused_in_connects_form(void)
{
    open_all();
    drop_str char *json = xasprintf("%sContent-Type: application/json\r\n", token);
    drop_str char *stream = xasprintf("%sContent-Type: application/connect+json\r\n", token);
    drop_str char *root = xasprintf("%sAuthorization: Basic cm9vdDo=\r\n", json);
    FS("Stat", "not json", "400", "{\"code\":\"invalid_argument\",\"message\":");
    FS("Stat", "[]", "400", "invalid_argument");
    FS("Stat", "{}", "400", "path: a text is needed");
    FS("Stat", "{\"path\":\"a\\u0000b\"}", "400", "it has a NUL");
    ask_bytes("POST /filesystem.Filesystem/Stat", stream, "{}", 2);
    check_head("HTTP/1.1 415 ");
    ask_bytes("POST /filesystem.Filesystem/Stat", root, "{\"path\":\"/\"}", 12);
    check_head("HTTP/1.1 401 ");
    check_has("{\"code\":\"unauthenticated\",\"message\":\"error looking up user 'root'");
    ask_bytes("POST /process.Process/Start", stream, "\0\0\0\0\5{}", 7);
    check_head("HTTP/1.1 200 ");
    check_has("{\"error\":{\"code\":\"invalid_argument\"");
    ask_bytes("POST /process.Process/Start", stream, "\1\0\0\0\2{}", 7);
    check_has("{\"error\":{\"code\":\"invalid_argument\"");
    ask_bytes("POST /process.Process/Start", stream, "\0\xFF\xFF\xFF\xFF{}", 7);
    check_has("{\"error\":{\"code\":\"invalid_argument\"");
    close_all();
    close_place();
}

TEST_LIST = {
    {"files_are_written_and_read", files_are_written_and_read},
    {"uploads_come_in_gzip", uploads_come_in_gzip},
    {"what_a_client_notes_at_a_file_is_told", what_a_client_notes_at_a_file_is_told},
    {"files_are_composed", files_are_composed},
    {"bad_uploads_are_refused_and_leave_nothing", bad_uploads_are_refused_and_leave_nothing},
    {"nothing_outside_of_the_workspace_is_reached", nothing_outside_of_the_workspace_is_reached},
    {"who_has_no_token_gets_nothing", who_has_no_token_gets_nothing},
    {"a_signed_url_needs_no_token", a_signed_url_needs_no_token},
    {"folders_and_entries_are_as_envd_tells_them", folders_and_entries_are_as_envd_tells_them},
    {"watchers_tell_what_happened", watchers_tell_what_happened},
    {"a_watch_is_a_stream", a_watch_is_a_stream},
    {"a_command_streams_what_it_says", a_command_streams_what_it_says},
    {"a_client_that_leaves_leaves_the_command", a_client_that_leaves_leaves_the_command},
    {"a_terminal_is_typed_into_and_resized", a_terminal_is_typed_into_and_resized},
    {"input_comes_as_a_stream", input_comes_as_a_stream},
    {"a_timeout_kills_and_the_end_of_the_sandbox_too",
     a_timeout_kills_and_the_end_of_the_sandbox_too},
    {"calls_of_another_form_are_refused_in_connects_form",
     calls_of_another_form_are_refused_in_connects_form},
    {NULL, NULL},
};
