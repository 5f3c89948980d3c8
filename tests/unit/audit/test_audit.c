/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit log in a real file; a disk that is full is played by a limit on the size of files. */
#include <acutest.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit.h"
#include "audit/audit_chain.h"
#include "base/alloc.h"
#include "base/json/json.h"
#include "unit/as_service.h"

enum { FILE_MAX = 4 << 20 };

static char dir[64], file[128];
static struct audit *audit;
static char logged[1000]; /* the last line */
static bool warned;       /* that code in kernels has the log's uid */
static struct audit_config config;

static void on_log(enum log_level level, const char *text)
{
    (void)snprintf(logged, sizeof logged, "%d %s", (int)level, text);
    warned |= level == LOG_WARNING && strstr(text, "it has the uid of code in kernels");
}

static void make_dir(void)
{
    (void)snprintf(dir, sizeof dir, "/tmp/audit-XXXXXX");
    TEST_ASSERT(mkdtemp(dir) != NULL);
    (void)snprintf(file, sizeof file, "%s/log", dir);
    config = (struct audit_config){
        .path = file, .workspace = "/nowhere", .version = "1.2", .log = on_log};
}

static void open_log(void)
{
    struct err e = ERR_NONE;
    TEST_ASSERT(audit_open(&config, &audit, &e) == 0);
    TEST_MSG("%s", e.msg);
}

static void close_log(void)
{
    audit = audit_close(audit);
}

static void remove_dir(void)
{
    drop_str char *command = xasprintf("rm -rf %s", dir);
    TEST_CHECK(system(command) == 0);
}

static int add_cell(uint64_t n)
{
    return audit_add(audit, &(struct audit_event){.kind = AUDIT_CELL,
                                                  .session = "default",
                                                  .cell = n,
                                                  .code = "print(1)",
                                                  .code_len = 8});
}

static void read_file(struct buf *text)
{
    drop_fd int fd = open(file, O_RDONLY | O_CLOEXEC);
    TEST_ASSERT(fd >= 0);
    buf_clear(text);
    TEST_ASSERT(buf_reserve(text, FILE_MAX) == 0);
    ssize_t n = read(fd, text->data, FILE_MAX);
    TEST_ASSERT(n >= 0);
    text->len = (size_t)n;
    text->data[n] = '\0';
}

static void write_file(const char *bytes, size_t n)
{
    drop_fd int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    TEST_ASSERT(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
}

static int verify(const char *hash, struct audit_verdict *ret, struct err *e)
{
    drop_fd int fd = open(file, O_RDONLY | O_CLOEXEC);
    TEST_ASSERT(fd >= 0);
    return audit_verify(fd, hash, ret, e);
}

static void is_whole(uint64_t records, uint64_t torn)
{
    struct audit_verdict v;
    struct err e = ERR_NONE;
    TEST_CHECK(verify(NULL, &v, &e) == 0);
    TEST_MSG("%s", e.msg);
    TEST_CHECK_(v.last.seq == records, "%llu records", (unsigned long long)v.last.seq);
    TEST_CHECK_(v.torn == torn, "%llu torn", (unsigned long long)v.torn);
    TEST_CHECK(v.torn_bytes == 0);
}

static void is_bad(const char *what)
{
    struct audit_verdict v;
    struct err e = ERR_NONE;
    TEST_CHECK(verify(NULL, &v, &e) == -EBADMSG);
    TEST_CHECK_(strstr(e.msg, what) != NULL, "%s: %s", what, e.msg);
}

static void a_record_says_what_happened_and_never_what_the_code_is(void)
{
    drop_buf struct buf text = BUF_INIT(FILE_MAX);
    struct stat st;
    make_dir();
    open_log();
    TEST_CHECK(add_cell(7) == 0);
    TEST_CHECK(audit_add(audit, &(struct audit_event){.kind = AUDIT_TOOL_CALL,
                                                      .server = "a\"b\n",
                                                      .tool = "t",
                                                      .outcome = "ok",
                                                      .timed = true}) == 0);
    close_log();
    read_file(&text);
    char *second = strchr(text.data, '\n') + 1, *third = strchr(second, '\n') + 1;
    third[-1] = '\0';
    drop_json struct json *cell = json_parse_copy(second, strlen(second), JSON_STRICT, NULL);
    TEST_CHECK(strcmp(json_get_text(cell, "kind"), "cell") == 0);
    TEST_CHECK(strcmp(json_get_text(cell, "session"), "default") == 0);
    TEST_CHECK((int)json_number(json_get(cell, "seq")) == 2);
    TEST_CHECK((int)json_number(json_get(cell, "cell")) == 7);
    TEST_CHECK((int)json_number(json_get(cell, "bytes")) == 8);
    TEST_CHECK(strlen(json_get_text(cell, "time")) == strlen("2026-01-01T00:00:00.000Z"));
    TEST_CHECK(strcmp(json_get_text(cell, "sha256"),
                      "d287bb7f9d15abdc5b6e98536263815744b6ef21c8f3c839fc434ca70d8efe99") == 0);
    TEST_CHECK(!strstr(text.data, "print"));
    TEST_CHECK(
        strstr(third, "\"server\":\"a\\\"b\\n\",\"tool\":\"t\",\"outcome\":\"ok\",\"ms\":0,") !=
        NULL);
    TEST_CHECK(stat(file, &st) == 0 && (st.st_mode & 0777) == 0600);
    is_whole(4, 0);
    remove_dir();
}

static void a_long_name_is_cut(void)
{
    drop_buf struct buf text = BUF_INIT(FILE_MAX);
    char name[5000];
    make_dir();
    open_log();
    memset(name, 1, sizeof name - 1);
    name[sizeof name - 1] = '\0';
    TEST_CHECK(audit_add(audit, &(struct audit_event){.kind = AUDIT_APPROVAL,
                                                      .session = name,
                                                      .server = name,
                                                      .tool = name,
                                                      .by = name,
                                                      .role = name,
                                                      .address = name,
                                                      .door = name,
                                                      .outcome = name}) == 0);
    close_log();
    read_file(&text);
    TEST_CHECK(strstr(text.data, "\\u0001...\"") != NULL);
    is_whole(3, 0);
    remove_dir();
}

/* Three records in `text`; *lines point to them. */
static void write_three(struct buf *text, char *lines[4])
{
    make_dir();
    open_log();
    TEST_CHECK(add_cell(1) == 0);
    close_log();
    read_file(text);
    lines[0] = text->data;
    for (int i = 1; i < 4; i++)
        lines[i] = strchr(lines[i - 1], '\n') + 1;
    TEST_CHECK(*lines[3] == '\0');
}

static void every_changed_byte_is_found(void)
{
    drop_buf struct buf text = BUF_INIT(FILE_MAX);
    char *lines[4];
    write_three(&text, lines);
    for (size_t i = 0; i < text.len; i++) {
        struct audit_verdict v = {0};
        text.data[i] ^= 1;
        write_file(text.data, text.len);
        bool found = verify(NULL, &v, NULL) == -EBADMSG;
        /* in the last line it may look like a crash: it is told, and the record is not counted */
        TEST_CHECK_(found || (v.torn_bytes > 0 && v.last.seq < 3), "byte %zu", i);
        text.data[i] ^= 1;
    }
    write_file(text.data, text.len);
    is_whole(3, 0);
    remove_dir();
}

static void removed_moved_repeated_and_foreign_lines_are_found(void)
{
    drop_buf struct buf text = BUF_INIT(FILE_MAX), other = BUF_INIT(FILE_MAX);
    char *l[4];
    write_three(&text, l);
    const struct {
        int order[4];
        const char *what;
    } cases[] = {
        {{1, 2, -1}, "line 1: its number does not follow"},
        {{0, 2, -1}, "line 2: its number does not follow"},
        {{0, 2, 1, -1}, "line 2: its number"},
        {{0, 1, 1, -1}, "line 3: its number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buf_clear(&other);
        for (const int *at = cases[i].order; *at >= 0; at++)
            (void)buf_add(&other, l[*at], (size_t)(l[*at + 1] - l[*at]));
        write_file(other.data, other.len);
        is_bad(cases[i].what);
    }
    buf_clear(&other);
    (void)buf_add(&other, l[0], (size_t)(l[1] - l[0]));
    (void)buf_adds(&other, "{}\n");
    (void)buf_adds(&other, l[1]);
    write_file(other.data, other.len);
    is_bad("line 2: it is no record");
    remove_dir();
}

/* Whoever can write and knows the form can go on with the chain; what follows does not fit then. */
static void a_forged_record_breaks_the_chain_at_the_next_one(void)
{
    drop_buf struct buf line = BUF_INIT(1000);
    struct audit_verdict v;
    struct err e = ERR_NONE;
    make_dir();
    open_log();
    TEST_ASSERT(verify(NULL, &v, NULL) == 0);
    struct audit_link link = v.last;
    (void)buf_adds(&line, "{\"seq\":2,\"kind\":\"cell\"");
    audit_seal(&line, &link);
    drop_fd int fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
    TEST_CHECK(write(fd, line.data, line.len) == (ssize_t)line.len);
    is_whole(2, 0);
    TEST_CHECK(audit_check(audit, &e) == -EIO); /* the server sees it, too */
    TEST_CHECK(strstr(logged, "bytes") != NULL);
    TEST_CHECK(add_cell(1) == -EIO);
    is_bad("line 3: its number does not follow");
    close_log();
    remove_dir();
}

static void a_hash_that_was_kept_is_found_or_missed(void)
{
    struct audit_verdict v, first;
    make_dir();
    open_log();
    TEST_CHECK(add_cell(1) == 0);
    TEST_CHECK(verify(NULL, &first, NULL) == 0);
    TEST_CHECK(add_cell(2) == 0);
    close_log();
    TEST_CHECK(strstr(logged, "record 4 has the hash ") != NULL);
    TEST_CHECK(verify(first.last.hash, &v, NULL) == 0 && v.known && v.known_seq == 2);
    TEST_CHECK(verify(strstr(logged, "hash ") + 5, &v, NULL) == 0 && v.known && v.known_seq == 4);
    TEST_CHECK(truncate(file, 300) == 0);
    TEST_CHECK(verify(strstr(logged, "hash ") + 5, &v, NULL) == 0 && !v.known);
    remove_dir();
}

static void a_restart_goes_on_with_the_chain(void)
{
    make_dir();
    open_log();
    close_log();
    open_log();
    TEST_CHECK(add_cell(1) == 0);
    close_log();
    is_whole(5, 0);
    remove_dir();
}

static void a_torn_line_is_told_and_the_next_start_names_it(void)
{
    drop_buf struct buf text = BUF_INIT(FILE_MAX);
    struct audit_verdict v;
    char *l[4];
    write_three(&text, l);
    for (size_t n = 1; n <= (size_t)(l[3] - l[2]) - 1; n += 7) {
        write_file(text.data, (size_t)(l[2] - l[0]) + n);
        TEST_CHECK(verify(NULL, &v, NULL) == 0 && v.last.seq == 2 && v.torn_bytes == n);
        open_log();
        TEST_CHECK(strstr(logged, "record 3") != NULL);
        close_log();
        is_whole(4, 1);
    }
    /* only the line feed is missing: nothing is lost */
    write_file(text.data, text.len - 1);
    is_whole(3, 0);
    open_log();
    close_log();
    is_whole(5, 0);
    remove_dir();
}

static void a_start_that_is_torn_itself_is_named_with_what_it_named(void)
{
    drop_buf struct buf text = BUF_INIT(FILE_MAX);
    char *l[4];
    write_three(&text, l);
    write_file(text.data, (size_t)(l[2] - l[0]) + 20);
    drop_fd int fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
    TEST_CHECK(write(fd, "\n{\"seq\":3,\"time\"", 16) == 16);
    open_log();
    close_log();
    is_whole(4, 1);
    /* and one at the very beginning */
    write_file("{\"seq\":1,\"ti", 12);
    open_log();
    close_log();
    is_whole(2, 1);
    remove_dir();
}

static void what_a_start_names_must_be_there(void)
{
    drop_buf struct buf text = BUF_INIT(FILE_MAX);
    char *l[4];
    write_three(&text, l);
    write_file(text.data, (size_t)(l[2] - l[0]) + 20);
    open_log();
    close_log();
    read_file(&text);
    char *torn = strchr(strchr(text.data, '\n') + 1, '\n') + 1;
    torn[5] ^= 1;
    write_file(text.data, text.len);
    is_bad("line 3: it is no record");
    char *next = strchr(torn, '\n') + 1;
    memmove(torn, next, strlen(next) + 1);
    write_file(text.data, strlen(text.data));
    is_bad("line 3: it names a torn line that is not there");
    remove_dir();
}

static void refuses(int code, const char *what)
{
    struct err e = ERR_NONE;
    int r = audit_open(&config, &audit, &e);
    TEST_CHECK_(r == code, "%d %s", r, e.msg);
    TEST_CHECK_(strstr(e.msg, what) != NULL, "%s: %s", what, e.msg);
}

static void files_that_could_be_led_astray_are_refused(void)
{
    char other[160];
    make_dir();
    config.workspace = dir;
    refuses(-EPERM, "in the workspace");
    (void)snprintf(other, sizeof other, "%s/sub", dir);
    TEST_CHECK(mkdir(other, 0700) == 0);
    config.workspace = other;
    drop_str char *around = xasprintf("%s/../sub/log", other);
    config.path = around;
    refuses(-EPERM, "in the workspace");
    config.path = file;
    TEST_CHECK(symlink("/tmp/elsewhere", file) == 0);
    refuses(-ELOOP, "link");
    TEST_CHECK(unlink(file) == 0 && mkfifo(file, 0600) == 0);
    refuses(-EPERM, "no file");
    TEST_CHECK(unlink(file) == 0);
    write_file("some text of mine\n", 18);
    refuses(-EBADMSG, "no audit log");
    write_file("", 0);
    TEST_CHECK(chmod(file, 0620) == 0);
    refuses(-EPERM, "others");
    TEST_CHECK(chmod(file, 0600) == 0);
    (void)snprintf(other, sizeof other, "%s/second", dir);
    TEST_CHECK(link(file, other) == 0);
    refuses(-EPERM, "several names");
    TEST_CHECK(unlink(other) == 0);
    struct audit *first = NULL;
    TEST_CHECK(audit_open(&config, &first, NULL) == 0);
    refuses(-EBUSY, "another server");
    first = audit_close(first);
    config.path = "/nowhere/log";
    refuses(-ENOENT, "/nowhere/");
    remove_dir();
}

static void a_damaged_end_is_not_gone_on_with(void)
{
    drop_buf struct buf text = BUF_INIT(FILE_MAX);
    char *l[4];
    write_three(&text, l);
    l[2][20] ^= 1;
    write_file(text.data, text.len);
    refuses(-EBADMSG, "last line");
    remove_dir();
}

static void a_file_that_was_changed_while_it_is_written_stops_new_work(void)
{
    struct err e = ERR_NONE;
    make_dir();
    open_log();
    TEST_CHECK(audit_check(audit, &e) == 0);
    TEST_CHECK(truncate(file, 10) == 0);
    TEST_CHECK(audit_check(audit, &e) == -EIO && strstr(logged, "it has 10 bytes"));
    close_log();
    TEST_CHECK(unlink(file) == 0);
    open_log();
    TEST_CHECK(unlink(file) == 0);
    TEST_CHECK(audit_check(audit, &e) == -EIO && strstr(logged, "it is gone"));
    close_log();
    open_log();
    drop_str char *away = xasprintf("%s.1", file);
    TEST_CHECK(rename(file, away) == 0);
    write_file("", 0);
    TEST_CHECK(audit_check(audit, &e) == -EIO && strstr(logged, "another file"));
    close_log();
    remove_dir();
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    (void)signal(SIGXFSZ, SIG_IGN);
    TEST_ASSERT(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = bytes;
    TEST_ASSERT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void what_a_full_disk_does_not_take_is_written_later_in_its_place(void)
{
    struct err e = ERR_NONE;
    struct stat st;
    make_dir();
    open_log();
    TEST_CHECK(stat(file, &st) == 0);
    limit_files((rlim_t)st.st_size + 100); /* a third of the next record has room */
    TEST_CHECK(add_cell(1) == -EIO);
    TEST_CHECK(audit_check(audit, &e) == -EIO);
    TEST_CHECK(strstr(e.msg, "cannot be written: File too large") != NULL);
    TEST_CHECK(add_cell(2) == -EIO);
    limit_files(RLIM_INFINITY);
    TEST_CHECK(audit_check(audit, &e) == 0);
    TEST_CHECK(strstr(logged, "written again") != NULL);
    TEST_CHECK(add_cell(3) == 0);
    close_log();
    is_whole(5, 0);
    remove_dir();
}

static void what_there_is_no_room_for_is_counted(void)
{
    drop_buf struct buf text = BUF_INIT(FILE_MAX);
    struct stat st;
    make_dir();
    open_log();
    TEST_CHECK(stat(file, &st) == 0);
    limit_files((rlim_t)st.st_size);
    for (uint64_t i = 1; i <= 10000; i++)
        TEST_CHECK(add_cell(i) == -EIO);
    limit_files(RLIM_INFINITY);
    TEST_CHECK(audit_check(audit, NULL) == 0);
    TEST_CHECK(add_cell(10001) == 0);
    close_log();
    read_file(&text);
    struct audit_verdict v;
    TEST_CHECK(verify(NULL, &v, NULL) == 0);
    const char *dropped = strstr(text.data, "\"dropped\":");
    TEST_ASSERT(dropped != NULL);
    uint64_t n = strtoull(dropped + 10, NULL, 10);
    TEST_CHECK_(v.last.seq + n == 10003, "%llu and %llu", (unsigned long long)v.last.seq,
                (unsigned long long)n);
    TEST_CHECK(!strstr(dropped + 1, "\"dropped\":"));
    remove_dir();
}

static void without_a_log_everything_may_begin(void)
{
    TEST_CHECK(audit_check(NULL, NULL) == 0);
    TEST_CHECK(audit_add(NULL, &(struct audit_event){.kind = AUDIT_CELL}) == 0);
    TEST_CHECK(audit_close(NULL) == NULL);
}

static void lines_without_end_are_refused(void)
{
    static char big[1 << 20];
    make_dir();
    memset(big, 'x', sizeof big);
    write_file(big, sizeof big);
    is_bad("line 1: it is too long");
    for (size_t i = 99; i < sizeof big; i += 100)
        big[i] = '\n';
    write_file(big, sizeof big);
    is_bad("line 1: it is no record");
    remove_dir();
}

static void a_package_is_named_without_what_its_url_hides(void)
{
    static const struct {
        const char *package, *told;
    } cases[] = {
        {"numpy>=2", "numpy>=2"},
        {"git+https://user:secret@host/x.git@v1", "git+https://***@host/x.git@v1"},
        {"https://host/a@b?token=secret", "https://host/a@b?***"},
        {"x @ https://u@secret@host#egg=x", "x @ https://***@host?***"},
        {"https://host", "https://host"},
        {"https://?secret@host", "https://?***"},
        {"://", "://"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drop_str char *told = audit_package(cases[i].package);
        TEST_CASE(cases[i].package);
        TEST_CHECK_(strcmp(told, cases[i].told) == 0, "%s", told);
    }
}

static void keep_in(const char *folder, uid_t wanted)
{
    struct stat st = {.st_uid = 0};
    (void)snprintf(file, sizeof file, "%s/log", folder);
    config = (struct audit_config){
        .path = file, .workspace = "/nowhere", .version = "1.2", .log = on_log};
    HOLDS(audit_open(&config, &audit, NULL) == 0);
    HOLDS(add_cell(1) == 0 && audit_check(audit, NULL) == 0);
    struct service service = service_enter();
    if (wanted != SERVICE)
        service_leave(&service);
    HOLDS(lstat(file, &st) == 0 && st.st_uid == wanted && (st.st_mode & 07777) == 0600);
    HOLDS(unlink(file) == 0);
    if (wanted == SERVICE)
        service_leave(&service);
    HOLDS(audit_check(audit, NULL) == -EIO);
    close_log();
}

static void keep_as_service(const char *at)
{
    char own[64];
    make_of_service(at, own, sizeof own);
    keep_in(own, SERVICE);
    remove_of_service(own);
    keep_in(at, SERVICE); /* where both may write */
    (void)snprintf(own, sizeof own, "%s/of-owner", at);
    HOLDS(mkdir(own, 0700) == 0);
    warned = false;
    keep_in(own, OWNER);
    HOLDS(warned && rmdir(own) == 0);
}

static void a_servers_own_uid_has_the_log_where_it_may(void)
{
    as_service(keep_as_service);
}

static void call_tool(const char *session, const char *tool, const char *outcome)
{
    TEST_CHECK(audit_add(audit, &(struct audit_event){.kind = AUDIT_TOOL_CALL,
                                                      .session = session,
                                                      .server = "s",
                                                      .tool = tool,
                                                      .outcome = outcome}) == 0);
}

/* How often it stands in the log, and the last place. */
static size_t count_text(const struct buf *text, const char *what, const char **ret)
{
    size_t n = 0;
    for (const char *at = text->data; (at = strstr(at, what)); at++, n++)
        *ret = at;
    return n;
}

static void a_flood_of_one_session_is_counted_and_hides_no_other(void)
{
    drop_buf struct buf text = BUF_INIT(FILE_MAX);
    struct audit_numbers numbers;
    const char *at = NULL;
    make_dir();
    open_log();
    for (int i = 0; i < 20000; i++)
        call_tool("loud", i % 2 ? "a" : "b", i % 4 == 3 ? "refused" : "ok");
    call_tool("quiet", "a", "ok");
    TEST_CHECK(add_cell(1) == 0);
    TEST_CHECK(audit_state(audit, &numbers) == AUDIT_WRITTEN && numbers.left_out >= 17000);
    TEST_CHECK(audit_add(audit, &(struct audit_event){.kind = AUDIT_SESSION_ENDED,
                                                      .session = "loud"}) == 0);
    close_log();
    read_file(&text);
    TEST_CHECK_(text.len < 1200000, "%zu bytes", text.len);
    TEST_CHECK(count_text(&text, "\"session\":\"quiet\"", &at) == 1);
    TEST_CHECK(count_text(&text, "\"kind\":\"left_out\"", &at) == 3);
    TEST_CHECK(strstr(at, "\"kind\":\"session_ended\"") != NULL); /* it is told before */
    uint64_t told = 0;
    for (const char *count = text.data; (count = strstr(count, "\"count\":")); count++)
        told += strtoull(count + strlen("\"count\":"), NULL, 10);
    TEST_CHECK(told == numbers.left_out);
    TEST_CHECK(count_text(&text, "\"kind\":\"tool_call\"", &at) + told == 20001);
    is_whole(20001 - told + 3 + 4, 0);
    remove_dir();
}

static void many_names_do_not_make_many_counts(void)
{
    drop_buf struct buf text = BUF_INIT(FILE_MAX);
    const char *at = NULL;
    make_dir();
    open_log();
    for (int i = 0; i < 5000; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "tool%d", i);
        call_tool("loud", name, "refused");
    }
    close_log();
    read_file(&text);
    size_t n = count_text(&text, "\"kind\":\"left_out\"", &at);
    TEST_CHECK_(n == 13, "%zu", n);
    remove_dir();
}

static void a_name_that_turns_the_line_is_escaped(void)
{
    drop_buf struct buf text = BUF_INIT(FILE_MAX);
    make_dir();
    open_log();
    call_tool("s",
              "a\xe2\x80\xae"
              "b",
              "ok");
    close_log();
    read_file(&text);
    TEST_CHECK(strstr(text.data, "\"tool\":\"a\\u202eb\"") != NULL);
    is_whole(3, 0);
    remove_dir();
}

static void fill_disk(bool full)
{
    drop_str char *path = xasprintf("%s/filler", dir);
    char page[4096] = "";
    if (!full) {
        TEST_CHECK(unlink(path) == 0);
        return;
    }
    drop_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (write(fd, page, sizeof page) > 0)
        ;
    TEST_CHECK(errno == ENOSPC);
}

#define SMALL_DISK "TEST_SMALL_DISK" /* one of 6 MiB, where nothing may be mounted: tests/run */

static void mount_small(void)
{
    const char *given = getenv(SMALL_DISK);
    if (given) {
        TEST_ASSERT(rmdir(dir) == 0 && strlen(given) < sizeof dir);
        (void)snprintf(dir, sizeof dir, "%s", given);
        (void)snprintf(file, sizeof file, "%s/log", dir);
        return;
    }
    TEST_ASSERT(unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) == 0);
    TEST_ASSERT(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    TEST_ASSERT(mount("tmpfs", dir, "tmpfs", 0, "size=6m") == 0);
}

/* Whoever fills it, nobody else is stopped: what does not fit is in the program's log. */
static void a_disk_that_is_really_full_stops_nobody(void)
{
    struct audit_numbers numbers;
    make_dir();
    mount_small();
    open_log();
    fill_disk(true);
    for (uint64_t i = 1; i <= 4000; i++) /* what was kept for it */
        TEST_CHECK(add_cell(i) == 0 && audit_check(audit, NULL) == 0);
    TEST_CHECK(audit_state(audit, &numbers) == AUDIT_WRITTEN && numbers.outside == 0);
    uint64_t n = 4000;
    while (audit_state(audit, &numbers) == AUDIT_WRITTEN && n < 100000)
        TEST_CHECK(add_cell(++n) == 0);
    TEST_CHECK(audit_state(audit, &numbers) == AUDIT_OUTSIDE && numbers.outside == 1);
    TEST_CHECK(audit_check(audit, NULL) == 0);
    drop_str char *last = xasprintf("\"cell\":%llu,", (unsigned long long)n);
    TEST_CHECK_(strstr(logged, last) && strstr(logged, "\"hash\":"), "%s", logged);
    TEST_CHECK(add_cell(++n) == 0 && strstr(logged, "record: {") != NULL);
    fill_disk(false);
    TEST_CHECK(audit_check(audit, NULL) == 0);
    TEST_CHECK(audit_state(audit, &numbers) == AUDIT_WRITTEN && numbers.outside == 2);
    close_log();
    is_whole(n + 2, 0);
    if (!getenv(SMALL_DISK))
        TEST_CHECK(umount(dir) == 0 && rmdir(dir) == 0);
}

static size_t lines_of(const struct buf *text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text->len; i++)
        lines += text->data[i] == '\n';
    return lines;
}

static void the_last_records_are_read_whole(void)
{
    drop_buf struct buf text = BUF_INIT(AUDIT_LAST_MAX + 1);
    struct err e = ERR_NONE;
    TEST_CHECK(audit_last(NULL, 1, &text, &e) == -ENOENT);
    make_dir();
    open_log();
    TEST_CHECK(audit_last(audit, 10, &text, &e) == 0 && lines_of(&text) == 1);
    TEST_CHECK(strncmp(buf_text(&text), "{\"seq\":1,", 9) == 0);
    for (uint64_t i = 1; i <= 5000; i++)
        TEST_CHECK(add_cell(i) == 0);
    buf_clear(&text);
    TEST_CHECK(audit_last(audit, 2, &text, &e) == 0 && lines_of(&text) == 2);
    TEST_CHECK(strncmp(buf_text(&text), "{\"seq\":5000,", 12) == 0);
    buf_clear(&text);
    TEST_CHECK(audit_last(audit, 100000, &text, &e) == 0);
    TEST_CHECK(text.len <= AUDIT_LAST_MAX && text.len > AUDIT_LAST_MAX - 1000);
    TEST_CHECK(strncmp(buf_text(&text), "{\"seq\":", 7) == 0);
    close_log();
    remove_dir();
}

TEST_LIST = {
    {"the last records are read whole", the_last_records_are_read_whole},
    {"a flood of one session is counted and hides no other",
     a_flood_of_one_session_is_counted_and_hides_no_other},
    {"many names do not make many counts", many_names_do_not_make_many_counts},
    {"a name that turns the line is escaped", a_name_that_turns_the_line_is_escaped},
    {"a disk that is really full stops nobody", a_disk_that_is_really_full_stops_nobody},
    {"a package is named without what its URL hides",
     a_package_is_named_without_what_its_url_hides},
    {"a record says what happened and never what the code is",
     a_record_says_what_happened_and_never_what_the_code_is},
    {"a long name is cut", a_long_name_is_cut},
    {"every changed byte is found", every_changed_byte_is_found},
    {"removed, moved, repeated and foreign lines are found",
     removed_moved_repeated_and_foreign_lines_are_found},
    {"a forged record breaks the chain at the next one",
     a_forged_record_breaks_the_chain_at_the_next_one},
    {"a hash that was kept is found or missed", a_hash_that_was_kept_is_found_or_missed},
    {"a restart goes on with the chain", a_restart_goes_on_with_the_chain},
    {"a torn line is told and the next start names it",
     a_torn_line_is_told_and_the_next_start_names_it},
    {"a start that is torn itself is named with what it named",
     a_start_that_is_torn_itself_is_named_with_what_it_named},
    {"what a start names must be there", what_a_start_names_must_be_there},
    {"files that could be led astray are refused", files_that_could_be_led_astray_are_refused},
    {"a damaged end is not gone on with", a_damaged_end_is_not_gone_on_with},
    {"a file that was changed while it is written stops new work",
     a_file_that_was_changed_while_it_is_written_stops_new_work},
    {"what a full disk does not take is written later in its place",
     what_a_full_disk_does_not_take_is_written_later_in_its_place},
    {"what there is no room for is counted", what_there_is_no_room_for_is_counted},
    {"without a log everything may begin", without_a_log_everything_may_begin},
    {"lines without end are refused", lines_without_end_are_refused},
    {"a server's own uid has the log where it may", a_servers_own_uid_has_the_log_where_it_may},
    {NULL, NULL},
};
