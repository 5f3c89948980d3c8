/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines are read from a pipe that stands in for standard error. */
#include <acutest.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json/json.h"
#include "base/log.h"
#include "base/text/utf8.h"

static char line[8000];

static int old_stderr;
static int from_log;

static void begin(void)
{
    int ends[2];
    TEST_ASSERT(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    old_stderr = dup(2);
    TEST_ASSERT(dup2(ends[1], 2) == 2);
    (void)close(ends[1]);
    from_log = ends[0];
}

/* What was logged since begin(), in `line`. */
static size_t end(void)
{
    TEST_ASSERT(dup2(old_stderr, 2) == 2);
    (void)close(old_stderr);
    ssize_t n = read(from_log, line, sizeof line - 1);
    (void)close(from_log);
    line[n > 0 ? n : 0] = '\0';
    return strlen(line);
}

static void a_line_is_time_level_room_and_text(void)
{
    begin();
    log_info("session", "cell %d done", 7);
    (void)end();
    const char *form = "0000-00-00T00:00:00.000Z INFO    session: cell 7 done\n";
    TEST_CHECK_(strlen(line) == strlen(form), "%s", line);
    for (size_t i = 0; form[i]; i++)
        TEST_CHECK(form[i] == '0' ? line[i] >= '0' && line[i] <= '9' : line[i] == form[i]);
}

static void lines_below_the_level_are_not_written(void)
{
    static const enum log_level levels[] = {LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR};
    for (int at = 0; at < LOG__COUNT; at++) {
        log_set_level((enum log_level)at);
        for (size_t i = 0; i < 4; i++) {
            begin();
            log_write(levels[i], "base", "x");
            TEST_CHECK((end() > 0) == ((int)levels[i] >= at));
            TEST_CHECK(log_enabled(levels[i]) == ((int)levels[i] >= at));
        }
    }
}

static void levels_are_known_by_name_in_any_case(void)
{
    static const struct {
        const char *name;
        int level;
    } cases[] = {
        {"DEBUG", LOG_DEBUG},
        {"info", LOG_INFO},
        {"Warning", LOG_WARNING},
        {"error", LOG_ERROR},
        {"CRITICAL", LOG_CRITICAL},
        {"", -1},
        {"warn", -1},
        {"INFO ", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum log_level level = LOG__COUNT;
        TEST_CASE(cases[i].name);
        TEST_CHECK(log_level_parse(cases[i].name, &level) == (cases[i].level < 0 ? -EINVAL : 0));
        TEST_CHECK(level == (cases[i].level < 0 ? LOG__COUNT : (enum log_level)cases[i].level));
    }
}

static void a_peers_text_cannot_forge_a_line(void)
{
    begin();
    log_info("base", "%s", "a\nb\r\x1b[31m\t\x7f\xC2\x85\xff\u00e9\"\\");
    (void)end();
    TEST_CHECK_(strstr(line, "a\\x0ab\\x0d\\x1b[31m\\x09\\x7f\\x85\\xff\u00e9\"\\\n") != NULL, "%s",
                line);
    TEST_CHECK(strchr(line, '\n') == line + strlen(line) - 1);
}

static void in_json_form_every_line_is_one_object(void)
{
    static const char *const texts[] = {
        "plain",   "\"quoted\" \\ back", "a\nb\x01\x7f\xC2\x85", "\u00e9\U0001f600", "\xff\xe2\x82",
        "\xC0\x80"};
    log_set_json(true);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        begin();
        log_error("front", "%s", texts[i]);
        size_t n = end();
        TEST_CASE_("text %zu: %s", i, line);
        struct err e = ERR_NONE;
        drop_json struct json *j = json_parse_copy(line, n, JSON_STRICT, &e);
        TEST_CHECK_(j != NULL, "%s", e.msg);
        TEST_CHECK(strcmp(json_get_text(j, "level"), "ERROR") == 0);
        TEST_CHECK(strcmp(json_get_text(j, "room"), "front") == 0);
        if (i < 4)
            TEST_CHECK(strcmp(json_get_text(j, "text"), texts[i]) == 0);
    }
}

static void a_long_line_is_cut_and_still_a_line(void)
{
    static char text[5000];
    static const char *const fillers[] = {"x", "\n", "\u00e9", "\xff", "\""};
    for (int form = 0; form < 2; form++) {
        log_set_json(form);
        for (size_t f = 0; f < sizeof fillers / sizeof *fillers; f++) {
            size_t width = strlen(fillers[f]);
            for (size_t i = 1; i + width < sizeof text; i += width)
                memcpy(text + i, fillers[f], width);
            text[0] = '.';
            begin();
            log_info("base", "%s", text);
            size_t n = end();
            TEST_CASE_("form %d, filler %zu", form, f);
            TEST_CHECK(n > 1900 && line[n - 1] == '\n');
            TEST_CHECK(utf8_valid(line, n));
            if (form) {
                drop_json struct json *j = json_parse_copy(line, n, JSON_STRICT, NULL);
                TEST_CHECK_(j != NULL, "%s", line);
            }
        }
    }
}

static void a_line_names_the_request_that_is_being_handled(void)
{
    TEST_CHECK(log_request() == NULL);
    TEST_CHECK(log_set_request("id-1") == NULL);
    begin();
    log_info("http", "x");
    (void)end();
    TEST_CHECK_(strstr(line, " http: x (request_id id-1)\n") != NULL, "%s", line);
    log_set_json(true);
    begin();
    log_info("http", "x");
    size_t n = end();
    drop_json struct json *j = json_parse_copy(line, n, JSON_STRICT, NULL);
    TEST_CHECK(j && strcmp(json_get_text(j, "request_id"), "id-1") == 0);
    TEST_CHECK(strcmp(log_set_request(NULL), "id-1") == 0);
    begin();
    log_info("http", "x");
    (void)end();
    TEST_CHECK(!strstr(line, "request_id"));
}

static void errno_is_left_alone(void)
{
    begin();
    errno = ENOENT;
    log_info("base", "x");
    TEST_CHECK(errno == ENOENT);
    (void)end();
}

static void what_turns_or_hides_the_text_is_shown(void)
{
    static const char text[] = "a\xe2\x80\xae"
                               "b\xe2\x80\x8b"
                               "c\xf3\xa0\x81\x81"
                               "d\xc2\xad"
                               "e";
    log_set_level(LOG_INFO);
    begin();
    log_info("tools", "%s", text);
    (void)end();
    TEST_CHECK_(strstr(line, "a\\u202eb\\u200bc\\u{e0041}d\\xade") != NULL, "%s", line);
    log_set_json(true);
    begin();
    log_info("tools", "%s", text);
    (void)end();
    drop_json struct json *tree = json_parse_copy(line, strlen(line), JSON_STRICT, NULL);
    const char *shown = json_get_text(tree, "text");
    TEST_CHECK(shown && strcmp(shown, "a\\u202eb\\u200bc\\u{e0041}d\\xade") == 0);
    log_set_json(false);
}

/* --- who does not read ------------------------------------------------------------------------ */

enum { MANY = 20000 };

/* Reads what there is, and counts the lines; those of log_info("flood", "%d") come in order. */
static char heap[(MANY + 10) * 80];
static size_t had;

static void read_more(void)
{
    ssize_t n = read(from_log, heap + had, sizeof heap - had - 1);
    had += n > 0 ? (size_t)n : 0;
    heap[had] = '\0';
}

static void begin_blocking(void)
{
    begin();
    int flags = fcntl(2, F_GETFL);
    TEST_ASSERT(fcntl(2, F_SETFL, flags & ~O_NONBLOCK) == 0);
    had = 0;
}

static void a_reader_who_stands_still_stops_nobody_and_is_told_how_much_is_missing(void)
{
    begin_blocking();
    for (int i = 0; i < MANY; i++)
        log_info("flood", "%d", i);
    while (!log_flush())
        read_more();
    log_info("flood", "over");
    log_close(0);
    read_more();
    (void)end();
    char *at = heap;
    int came = 0;
    for (int number; (at = strstr(at, "flood: ")) && sscanf(at + 7, "%d", &number) == 1; at++)
        TEST_CHECK(number == came++);
    unsigned long long missing = 0;
    const char *notice = strstr(heap, "WARNING log: ");
    TEST_ASSERT(notice && sscanf(notice + 13, "%llu lines are missing", &missing) == 1);
    TEST_CHECK(came > 0 && came + (int)missing == MANY);
    TEST_CHECK(strstr(notice, "flood: over\n") != NULL);
    TEST_MSG("%d came, %llu are missing", came, missing);
}

static void a_slow_reader_loses_nothing(void)
{
    begin_blocking();
    for (int i = 0; i < MANY; i++) {
        log_info("flood", "%d", i);
        if (i % 500 == 0)
            read_more();
    }
    while (!log_flush())
        read_more();
    read_more();
    (void)end();
    int lines = 0;
    for (const char *at = heap; (at = strchr(at, '\n')); at++)
        lines++;
    TEST_CHECK(lines == MANY && !strstr(heap, "are missing"));
    TEST_MSG("%d", lines);
}

static void a_fork_does_not_repeat_what_waits(void)
{
    begin_blocking();
    for (int i = 0; i < 3000; i++)
        log_info("flood", "%d", i);
    TEST_ASSERT(!log_flush());
    read_more();
    pid_t pid = fork();
    if (pid == 0) {
        log_info("child", "here");
        _exit(log_flush() ? 0 : 1);
    }
    int status = 0;
    TEST_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    while (!log_flush())
        read_more();
    read_more();
    (void)end();
    int lines = 0;
    for (const char *at = heap; (at = strchr(at, '\n')); at++)
        lines++;
    TEST_CHECK(lines == 3001);
    TEST_MSG("%d", lines);
}

static void the_end_does_not_wait_for_ever(void)
{
    begin_blocking();
    for (int i = 0; i < 3000; i++)
        log_info("flood", "%d", i);
    log_close(10);
    TEST_CHECK(!log_flush());
    while (!log_flush())
        read_more();
    (void)end();
}

TEST_LIST = {
    {"a_reader_who_stands_still_stops_nobody_and_is_told_how_much_is_missing",
     a_reader_who_stands_still_stops_nobody_and_is_told_how_much_is_missing},
    {"a_slow_reader_loses_nothing", a_slow_reader_loses_nothing},
    {"a_fork_does_not_repeat_what_waits", a_fork_does_not_repeat_what_waits},
    {"the_end_does_not_wait_for_ever", the_end_does_not_wait_for_ever},
    {"what_turns_or_hides_the_text_is_shown", what_turns_or_hides_the_text_is_shown},
    {"a line is time, level, room and text", a_line_is_time_level_room_and_text},
    {"lines below the level are not written", lines_below_the_level_are_not_written},
    {"levels are known by name in any case", levels_are_known_by_name_in_any_case},
    {"a peer's text cannot forge a line", a_peers_text_cannot_forge_a_line},
    {"in JSON form every line is one object", in_json_form_every_line_is_one_object},
    {"a long line is cut and still a line", a_long_line_is_cut_and_still_a_line},
    {"a line names the request that is being handled",
     a_line_names_the_request_that_is_being_handled},
    {"errno is left alone", errno_is_left_alone},
    {NULL, NULL},
};
