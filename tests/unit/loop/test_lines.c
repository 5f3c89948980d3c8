/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/lines.h"

#include <acutest.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINE_MAX = 8, BACKLOG = 4096 };

static struct loop *loop;
static struct lines lines;
static int other = -1; /* end of the stream */
static char seen[4096];
static bool pauses;
static int ended;

static void note(const char *kind, const char *text, size_t n)
{
    const size_t at = strlen(seen);
    (void)snprintf(seen + at, sizeof seen - at, "%s(%.*s)", kind, (int)n, text);
}

static void on_line(void *ctx, char *line, size_t n)
{
    (void)ctx;
    note("line", line, n);
    lines.paused = pauses;
}

static void on_too_long(void *ctx, const char *piece, size_t n, bool last)
{
    (void)ctx;
    note(last ? "long end" : "long", piece, n);
}

static void on_input_ended(void *ctx)
{
    (void)ctx;
    note("input ended", "", 0);
}

static void on_ended(void *ctx)
{
    (void)ctx;
    ended++;
    lines_close(&lines);
}

static const struct lines_events socket_events = {
    .line = on_line, .too_long = on_too_long, .ended = on_ended};
static const struct lines_events pipe_events = {
    .line = on_line, .too_long = on_too_long, .input_ended = on_input_ended, .ended = on_ended};

static void open_lines(int in, int out, const struct lines_events *events, size_t out_max)
{
    struct err e = ERR_NONE;
    TEST_ASSERT(loop_new(&loop, &e) == 0);
    lines = (struct lines){.loop = loop,
                           .events = events,
                           .in_fd = in,
                           .out_fd = out,
                           .line_max = LINE_MAX,
                           .backlog_max = BACKLOG,
                           .out = BUF_INIT(out_max)};
    TEST_ASSERT(lines_open(&lines, &e) == 0);
}

static void open_socket(size_t out_max)
{
    int fds[2];
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    other = fds[1];
    open_lines(fds[0], fds[0], &socket_events, out_max);
}

static void close_lines(void)
{
    lines_close(&lines);
    (void)close(lines.in_fd);
    if (lines.out_fd != lines.in_fd)
        (void)close(lines.out_fd);
    (void)close(other);
    loop = loop_free(loop);
}

static void turn(void)
{
    for (int i = 0; i < 10; i++)
        loop_turn(loop, 0);
}

static void say(const char *text)
{
    TEST_ASSERT(write(other, text, strlen(text)) == (ssize_t)strlen(text));
    turn();
}

static void expect(const char *text)
{
    TEST_CHECK(strcmp(seen, text) == 0);
    TEST_MSG("expected %s\nseen     %s", text, seen);
    *seen = '\0';
}

static void lines_come_whole_however_they_are_cut(void)
{
    open_socket(100);
    say("ab");
    expect("");
    TEST_CHECK(lines_held(&lines) == 2 && lines_are_run(&lines));
    say("c\n\nd\ne");
    expect("line(abc)line()line(d)");
    say("\n");
    expect("line(e)");
    close_lines();
}

static void a_long_line_is_handed_on_in_pieces_and_the_next_is_whole(void)
{
    open_socket(100);
    say("12345678\n");
    expect("line(12345678)");
    say("123456789");
    expect("long(123456789)");
    TEST_CHECK(lines_held(&lines) == 0);
    say("0\nab\n123456789\n");
    expect("long end(0)line(ab)long end(123456789)");
    close_lines();
}

static void no_line_is_run_while_the_owner_pauses(void)
{
    pauses = true;
    open_socket(100);
    say("a\nb\n");
    expect("line(a)");
    lines_resume(&lines);
    expect("line(b)");
    close_lines();
}

static void add(size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)buf_addc(&lines.out, 'x');
    lines_flush(&lines);
}

static size_t drain(void)
{
    static char bytes[65536];
    size_t total = 0;
    for (ssize_t n; (n = read(other, bytes, sizeof bytes)) > 0;) {
        total += (size_t)n;
        turn();
    }
    return total;
}

static void who_does_not_read_is_not_read(void)
{
    open_socket(4 << 20);
    add(2 << 20);
    say("a\n");
    expect("");
    TEST_CHECK(drain() == 2 << 20);
    turn();
    expect("line(a)");
    TEST_CHECK(lines.out.size == 0); /* the large block is given back */
    close_lines();
}

static void what_is_said_before_the_finish_is_written(void)
{
    open_socket(4 << 20);
    add(1 << 20);
    lines_finish(&lines);
    say("a\n");
    TEST_CHECK(ended == 0);
    TEST_CHECK(drain() == 1 << 20);
    turn();
    TEST_CHECK(ended == 1);
    expect("");
    close_lines();
}

static void output_over_its_limit_breaks_the_stream(void)
{
    open_socket(10);
    add(11);
    TEST_CHECK(ended == 0); /* never from inside a call */
    turn();
    TEST_CHECK(ended == 1);
    close_lines();
}

static void the_end_of_a_socket_breaks_the_stream(void)
{
    open_socket(10);
    (void)shutdown(other, SHUT_WR);
    turn();
    TEST_CHECK(ended == 1);
    close_lines();
    open_socket(10);
    lines.paused = true;
    lines_flush(&lines);
    (void)close(other);
    other = -1;
    turn();
    TEST_CHECK(ended == 2);
    close_lines();
}

static int pipes[2];

static void open_pipes(void)
{
    int in[2];
    TEST_ASSERT(pipe2(in, O_CLOEXEC) == 0 && pipe2(pipes, O_CLOEXEC | O_NONBLOCK) == 0);
    other = in[1];
    open_lines(in[0], pipes[1], &pipe_events, 4 << 20);
}

static void the_last_line_may_lack_its_break(void)
{
    open_pipes();
    say("a\nb");
    (void)close(other);
    other = -1;
    turn();
    expect("line(a)line(b)input ended()");
    TEST_CHECK(ended == 0);
    add(3); /* what is open is still answered */
    char text[4] = "";
    TEST_CHECK(read(pipes[0], text, 3) == 3 && strcmp(text, "xxx") == 0);
    (void)close(pipes[0]);
    turn();
    TEST_CHECK(ended == 1);
    close_lines();
}

static void a_writer_that_leaves_early_is_read_to_its_end(void)
{
    open_pipes();
    add(1 << 20);
    say("a\nb\n");
    (void)close(other);
    other = pipes[0];
    turn();
    expect("");
    TEST_CHECK(drain() == 1 << 20);
    turn();
    expect("line(a)line(b)input ended()");
    close_lines();
}

static void a_file_is_read_as_a_pipe_is(void)
{
    char path[] = "/tmp/lines-XXXXXX";
    const int fd = mkostemp(path, O_CLOEXEC);
    TEST_ASSERT(fd >= 0 && unlink(path) == 0 && write(fd, "a\n123456789\nb", 13) == 13 &&
                lseek(fd, 0, SEEK_SET) == 0);
    open_lines(fd, STDERR_FILENO, &pipe_events, 10);
    for (int i = 0; i < 10; i++)
        turn();
    expect("line(a)long end(123456789)line(b)input ended()");
    lines.out_fd = fd;
    close_lines();
}

static void nothing_is_read_after_a_stop(void)
{
    open_pipes();
    lines_stop_reading(&lines);
    say("a\n");
    expect("");
    close_lines();
}

static void the_only_line_of_a_connection_is_sent_and_closed(void)
{
    int fds[2];
    char text[8] = "";
    drop_buf struct buf line = BUF_INIT(10);
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    (void)buf_adds(&line, "{}");
    lines_say_once(fds[0], &line);
    TEST_CHECK(read(fds[1], text, sizeof text) == 3 && strcmp(text, "{}\n") == 0);
    TEST_CHECK(read(fds[1], text, sizeof text) == 0);
    (void)close(fds[1]);
}

TEST_LIST = {
    {"lines come whole however they are cut", lines_come_whole_however_they_are_cut},
    {"a long line is handed on in pieces and the next is whole",
     a_long_line_is_handed_on_in_pieces_and_the_next_is_whole},
    {"no line is run while the owner pauses", no_line_is_run_while_the_owner_pauses},
    {"who does not read is not read", who_does_not_read_is_not_read},
    {"what is said before the finish is written", what_is_said_before_the_finish_is_written},
    {"output over its limit breaks the stream", output_over_its_limit_breaks_the_stream},
    {"the end of a socket breaks the stream", the_end_of_a_socket_breaks_the_stream},
    {"the last line may lack its break", the_last_line_may_lack_its_break},
    {"a writer that leaves early is read to its end",
     a_writer_that_leaves_early_is_read_to_its_end},
    {"a file is read as a pipe is", a_file_is_read_as_a_pipe_is},
    {"nothing is read after a stop", nothing_is_read_after_a_stop},
    {"the only line of a connection is sent and closed",
     the_only_line_of_a_connection_is_sent_and_closed},
    {NULL, NULL},
};
