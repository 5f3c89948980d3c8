/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include <poll.h>
#include <stdio.h>

#include "base/buf.h"
#include "files/newfile.h"
#include "files/watch.h"

static struct watch *watch;
static struct buf said = {.cap = 1 << 20};

static void open_it(bool below)
{
    TEST_ASSERT(watch_open(fcntl(w, F_DUPFD_CLOEXEC, 0), below, &watch) == 0);
}

/* All there is now, as text: events come at once for what was done before. */
static const char *hear(void)
{
    static const char *const names[WATCH__COUNT] = {"ready", "+",  "write",    "attr",  "-",
                                                    "from",  "to", "overflow", "limit", "gone"};
    struct watch_event event;
    buf_clear(&said);
    for (int r = 1; r || watch_is_busy(watch);) {
        r = watch_next(watch, &event);
        if (r && event.kind != WATCH_ATTRIBUTES)
            (void)buf_addf(&said, "%s %s%s;", names[event.kind], event.path,
                           event.folder ? "/" : "");
    }
    return buf_text(&said);
}

static void check(const char *expected)
{
    const char *text = hear();
    TEST_CHECK(strcmp(text, expected) == 0);
    TEST_MSG("expected: %s\nactual: %.500s", expected, text);
}

static void close_it(void)
{
    watch = watch_close(watch);
    buf_done(&said);
    close_place();
}

static void what_happens_in_a_folder_is_told(void)
{
    open_place();
    open_it(false);
    check("ready /;");
    check("");
    put_at(w, "f", "x");
    struct pollfd p = {.fd = watch_fd(watch), .events = POLLIN};
    TEST_CHECK(poll(&p, 1, 0) == 1);
    check("+ f;write f;");
    TEST_CHECK(renameat(w, "f", w, "g") == 0 && mkdirat(w, "d", 0755) == 0);
    check("from f;to g;+ d/;");
    put_at(w, "d/below", "x");
    TEST_CHECK(unlinkat(w, "g", 0) == 0);
    check("- g;");
    close_it();
}

static void a_whole_file_is_one_event(void)
{
    open_place();
    put_at(w, "f", "x");
    open_it(false);
    check("ready /;");
    for (int named = 0; named < 2; named++) {
        struct newfile f = NEWFILE_NONE;
        TEST_CHECK(newfile_open(w, 0644, named, &f) == 0 && newfile_write(&f, "new", 3) == 0);
        check("");
        TEST_CHECK(newfile_commit(&f, "f", NEWFILE_REPLACE, false) == 0);
        check("to f;");
    }
    close_it();
}

static void folders_below_are_watched_wherever_they_go(void)
{
    open_place();
    TEST_CHECK(mkdirat(w, "a", 0755) == 0 && mkdirat(w, "a/b", 0755) == 0);
    TEST_CHECK(symlinkat("../..", w, "a/out") == 0);
    open_it(true);
    check("ready /;");
    TEST_CHECK(watch_folders(watch) == 3);
    put_at(w, "a/b/f", "x");
    check("+ a/b/f;write a/b/f;");
    TEST_CHECK(renameat(w, "a", w, "c") == 0);
    const char *text = hear(); /* what is in it may be told, too */
    TEST_CHECK(strncmp(text, "from a/;to c/;", 14) == 0);
    TEST_MSG("%s", text);
    put_at(w, "c/b/g", "x");
    check("+ c/b/g;write c/b/g;");
    TEST_CHECK(renameat(w, "c/b", w, "../moved") == 0);
    check("from c/b/;");
    put_at(w, "../moved/h", "x");
    check("");
    TEST_CHECK(renameat(w, "../moved", w, "back") == 0);
    text = hear();
    TEST_CHECK(strncmp(text, "to back/;", 9) == 0 && strstr(text, "+ back/h;"));
    put_at(w, "back/i", "x");
    check("+ back/i;write back/i;");
    close_it();
}

static void what_a_new_folder_holds_already_is_told(void)
{
    open_place();
    open_it(true);
    check("ready /;");
    TEST_CHECK(mkdirat(w, "n", 0755) == 0 && mkdirat(w, "n/m", 0755) == 0);
    put_at(w, "n/m/f", "x");
    const char *text = hear();
    TEST_CHECK(strncmp(text, "+ n/;", 5) == 0 && strstr(text, "+ n/m/;") &&
               strstr(text, "+ n/m/f;"));
    TEST_MSG("%s", text);
    close_it();
}

static void a_lost_event_is_told(void)
{
    static const char path[] = "/proc/sys/fs/inotify/max_queued_events";
    char text[32] = "";
    open_place();
    open_it(false);
    check("ready /;");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    TEST_ASSERT(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    (void)fd_close(fd);
    long most = strtol(text, NULL, 10);
    put_at(w, "a", "");
    for (long i = 0; i < most / 2 + 10; i++) /* each is two events */
        TEST_CHECK(renameat(w, i % 2 ? "b" : "a", w, i % 2 ? "a" : "b") == 0);
    const char *all = hear();
    TEST_CHECK(strstr(all, "overflow ;") != NULL);
    put_at(w, "later", "");
    check("+ later;write later;");
    close_it();
}

static void the_end_of_the_folder_is_the_last(void)
{
    open_place();
    TEST_CHECK(mkdirat(w, "d", 0755) == 0);
    TEST_ASSERT(watch_open(openat(w, "d", O_PATH | O_DIRECTORY | O_CLOEXEC), true, &watch) == 0);
    check("ready /;");
    TEST_CHECK(unlinkat(w, "d", AT_REMOVEDIR) == 0);
    check("gone /;");
    check("");
    close_it();
}

static void folders_beyond_the_limit_are_told_once(void)
{
    open_place();
    char name[16];
    for (int i = 0; i < WATCH_FOLDERS_MAX + 20; i++) {
        (void)snprintf(name, sizeof name, "%d", i);
        TEST_CHECK(mkdirat(w, name, 0755) == 0);
    }
    open_it(true);
    const char *text = hear();
    TEST_CHECK(strncmp(text, "limit ", 6) == 0 && strstr(text + 6, "limit") == NULL);
    TEST_CHECK(strstr(text, ";ready /;") != NULL && watch_folders(watch) == WATCH_FOLDERS_MAX);
    TEST_MSG("%.200s", text);
    close_it();
}

#define T(name) {#name, name}
TEST_LIST = {
    T(what_happens_in_a_folder_is_told),
    T(a_whole_file_is_one_event),
    T(folders_below_are_watched_wherever_they_go),
    T(what_a_new_folder_holds_already_is_told),
    T(a_lost_event_is_told),
    T(the_end_of_the_folder_is_the_last),
    T(folders_beyond_the_limit_are_told_once),
    {NULL, NULL},
};
