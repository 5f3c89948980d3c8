/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands are real programs below real shims; this test turns into one (become_shim.h). */
#include <acutest.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "unit/become_shim.h"
#include "unit/guard.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "sandbox/shim/spawn.h"
#include "session/commands/commands.h"

enum { SEEN_MAX = 4 << 20 };

static struct loop *loop;
static struct spawner *spawner;
static struct commands *commands;
static struct session_config config;
static struct json *session_env;

struct seen {
    struct command_reader reader;
    pid_t pid;
    struct buf out, err, tty;
    bool slow;
    int ends;
    struct command_end end;
    char why[100];
};

static void on_started(void *ctx, pid_t pid)
{
    struct seen *seen = ctx;
    TEST_CHECK(seen->pid == 0 && seen->out.len == 0);
    seen->pid = pid;
}

static bool on_output(void *ctx, enum command_stream stream, const char *bytes, size_t n)
{
    struct seen *seen = ctx;
    struct buf *to = stream == COMMAND_STDOUT   ? &seen->out
                     : stream == COMMAND_STDERR ? &seen->err
                                                : &seen->tty;
    (void)buf_add(to, bytes, n);
    return !seen->slow;
}

static void on_ended(void *ctx, const struct command_end *end)
{
    struct seen *seen = ctx;
    seen->ends++;
    seen->end = *end;
    (void)snprintf(seen->why, sizeof seen->why, "%s", end->why ? end->why : "");
}

static const struct command_events events = {on_started, on_output, on_ended};

static struct seen new_seen(void)
{
    return (struct seen){
        .out = BUF_INIT(SEEN_MAX), .err = BUF_INIT(SEEN_MAX), .tty = BUF_INIT(SEEN_MAX)};
}

static void done_seen(struct seen *seen)
{
    command_unfollow(&seen->reader);
    buf_done(&seen->out);
    buf_done(&seen->err);
    buf_done(&seen->tty);
}

static void open_all(void)
{
    static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "A=kernel", "B=kernel",
                                      NULL};
    struct err e = ERR_NONE;
    TEST_ASSERT(loop_new(&loop, &e) == 0 && spawner_new(loop, &spawner, &e) == 0);
    session_env = json_parse_copy("{\"B\":\"session\",\"C\":\"session\"}", 29, JSON_STRICT, NULL);
    config = (struct session_config){.kernel = {.loop = loop, .spawner = spawner, .envp = env},
                                     .id = "s"};
    commands = commands_open(
        &(struct commands_config){.config = &config, .cwd = "/usr", .env = session_env});
}

static void close_all(void)
{
    commands = commands_close(commands);
    spawner = spawner_free(spawner, 5000);
    session_env = json_free(session_env);
    loop = loop_free(loop);
}

static int start_spec(struct command_spec spec, const char *script, struct seen *seen,
                      struct err *e)
{
    drop_str char *text = xasprintf("[\"-c\",\"%s\"]", script);
    struct json *args = json_parse_copy(text, strlen(text), JSON_STRICT, NULL);
    TEST_ASSERT(args != NULL);
    spec.program = "bash";
    spec.args = args;
    int r = command_start(commands, &spec, &events, seen, &seen->reader, e);
    (void)json_free(args);
    return r;
}

static void start(struct command_spec spec, const char *script, struct seen *seen)
{
    struct err e = ERR_NONE;
    TEST_ASSERT_(start_spec(spec, script, seen, &e) == 0, "%s", e.msg);
}

#define WAIT_FOR(what)                                                                             \
    do {                                                                                           \
        int64_t until = clock_ms() + GUARD_MS;                                                     \
        while (!(what) && clock_ms() < until)                                                      \
            loop_turn(loop, 50);                                                                   \
        TEST_CHECK_(what, "%s", #what);                                                            \
    } while (0)

static void a_command_has_its_words_streams_and_folder(void)
{
    open_all();
    struct seen seen = new_seen();
    struct json *envs = json_parse_copy("{\"C\":\"own\"}", 11, JSON_STRICT, NULL);
    start((struct command_spec){.envs = envs, .cwd = "bin"},
          "echo $A $B $C; pwd; cat; echo err >&2; exit 3", &seen);
    (void)json_free(envs);
    WAIT_FOR(seen.ends == 1);
    TEST_CHECK(strcmp(buf_text(&seen.out), "kernel session own\n/usr/bin\n") == 0);
    TEST_MSG("%s", buf_text(&seen.out));
    TEST_CHECK(strcmp(buf_text(&seen.err), "err\n") == 0);
    TEST_CHECK(seen.pid > 0 && seen.end.code == 3 && !seen.end.timed_out);
    done_seen(&seen);
    close_all();
}

static void input_is_written_and_ends(void)
{
    open_all();
    struct seen seen = new_seen();
    start((struct command_spec){.input = true}, "wc -c", &seen);
    WAIT_FOR(seen.pid > 0);
    struct command *c = commands_find(commands, seen.pid);
    drop_str char *much = xcalloc(1, 1 << 20);
    TEST_CHECK(command_type(c, much, 1 << 20) == 0 && command_close_input(c) == 0);
    TEST_CHECK(command_type(c, "x", 1) == -EPIPE);
    WAIT_FOR(seen.ends == 1);
    TEST_CHECK(strcmp(buf_text(&seen.out), "1048576\n") == 0);
    TEST_CHECK(command_type(c, "x", 1) == -ESRCH && command_kill(c, true) == -ESRCH);
    done_seen(&seen);
    seen = new_seen();
    start((struct command_spec){0}, "sleep 100", &seen);
    WAIT_FOR(seen.pid > 0);
    TEST_CHECK(command_type(commands_find(commands, seen.pid), "x", 1) == -EPIPE);
    done_seen(&seen);
    close_all();
}

static void who_comes_late_gets_what_nobody_has_read(void)
{
    open_all();
    struct seen first = new_seen(), second = new_seen(), third = new_seen();
    start((struct command_spec){.input = true, .tag = "t"},
          "echo a; read; echo b; echo c >&2; read; echo d", &first);
    WAIT_FOR(first.out.len == 2);
    command_unfollow(&first.reader);
    struct command *c = commands_find_tag(commands, "t");
    TEST_ASSERT(c != NULL && command_type(c, "\n", 1) == 0);
    for (int i = 0; i < 10; i++)
        loop_turn(loop, 20);
    command_follow(c, &events, &second, &second.reader);
    WAIT_FOR(second.out.len == 2 && second.err.len == 2);
    TEST_CHECK(second.pid == first.pid);
    command_unfollow(&second.reader);
    TEST_CHECK(command_type(c, "\n", 1) == 0);
    WAIT_FOR(commands_running(commands) == 0);
    TEST_CHECK(commands_find(commands, first.pid) == c);
    command_follow(c, &events, &third, &third.reader);
    WAIT_FOR(third.ends == 1);
    TEST_CHECK(strcmp(buf_text(&third.out), "d\n") == 0 && third.end.code == 0);
    TEST_CHECK(commands_next(commands, NULL) == NULL);
    done_seen(&first);
    done_seen(&second);
    done_seen(&third);
    close_all();
}

static void of_what_nobody_reads_the_newest_is_kept(void)
{
    open_all();
    struct seen first = new_seen(), late = new_seen();
    start((struct command_spec){.input = true}, "read; seq 1 200000", &first);
    WAIT_FOR(first.pid > 0);
    struct command *c = commands_find(commands, first.pid);
    command_unfollow(&first.reader);
    TEST_CHECK(command_type(c, "\n", 1) == 0);
    WAIT_FOR(commands_running(commands) == 0);
    command_follow(c, &events, &late, &late.reader);
    WAIT_FOR(late.ends == 1);
    TEST_CHECK(late.out.len > COMMANDS_KEPT_MAX / 2 && late.out.len <= COMMANDS_KEPT_MAX);
    TEST_CHECK(strcmp(late.out.data + late.out.len - 7, "200000\n") == 0);
    done_seen(&first);
    done_seen(&late);
    close_all();
}

static void a_slow_reader_makes_the_command_wait(void)
{
    open_all();
    struct seen seen = new_seen();
    seen.slow = true;
    start((struct command_spec){0}, "seq 1 100000", &seen);
    WAIT_FOR(seen.out.len > 0);
    size_t before = seen.out.len;
    for (int i = 0; i < 10; i++)
        loop_turn(loop, 10);
    TEST_CHECK(seen.out.len == before && seen.ends == 0);
    seen.slow = false;
    command_continue(&seen.reader);
    WAIT_FOR(seen.ends == 1);
    TEST_CHECK(seen.out.len == 588895);
    done_seen(&seen);
    close_all();
}

static void signals_and_timeouts_end_a_command(void)
{
    open_all();
    struct seen killed = new_seen(), asked = new_seen(), late = new_seen();
    start((struct command_spec){0}, "sleep 100", &killed);
    start((struct command_spec){0}, "trap 'exit 9' TERM; echo; sleep 100 & wait", &asked);
    start((struct command_spec){.timeout_ms = 200}, "sleep 100", &late);
    WAIT_FOR(killed.pid > 0 && asked.out.len > 0);
    TEST_CHECK(command_kill(commands_find(commands, killed.pid), true) == 0);
    TEST_CHECK(command_kill(commands_find(commands, killed.pid), true) == -ESRCH);
    TEST_CHECK(command_kill(commands_find(commands, asked.pid), false) == 0);
    WAIT_FOR(killed.ends && asked.ends && late.ends);
    TEST_CHECK(killed.end.signal == SIGKILL && killed.end.code == -1 && !killed.end.timed_out);
    TEST_CHECK(asked.end.code == 9);
    TEST_CHECK(late.end.timed_out);
    done_seen(&killed);
    done_seen(&asked);
    done_seen(&late);
    close_all();
}

static void a_terminal_is_typed_into_and_resized(void)
{
    open_all();
    struct seen seen = new_seen();
    start((struct command_spec){.terminal = true, .columns = 80, .rows = 24},
          "stty size; read x; stty size; echo got $x", &seen);
    WAIT_FOR(seen.tty.len > 0);
    struct command *c = commands_find(commands, seen.pid);
    TEST_CHECK(command_resize(c, 100, 30) == 0 && command_close_input(c) == -ENOTTY);
    TEST_CHECK(command_type(c, "w\n", 2) == 0);
    WAIT_FOR(seen.ends == 1);
    TEST_CHECK(strstr(buf_text(&seen.tty), "24 80") && strstr(buf_text(&seen.tty), "30 100") &&
               strstr(buf_text(&seen.tty), "got w"));
    TEST_MSG("%s", buf_text(&seen.tty));
    done_seen(&seen);
    close_all();
}

static void what_a_command_leaves_goes_on(void)
{
    open_all();
    struct seen seen = new_seen(), holds = new_seen(), late = new_seen();
    start((struct command_spec){0}, "sleep 100 >/dev/null 2>&1 & echo $!", &seen);
    WAIT_FOR(seen.ends == 1);
    pid_t left = (pid_t)strtol(buf_text(&seen.out), NULL, 10);
    TEST_CHECK(seen.end.code == 0 && kill(left, 0) == 0);
    struct command *c = commands_find(commands, seen.pid);
    TEST_CHECK(commands_running(commands) == 1 && commands_next(commands, NULL) == NULL);
    TEST_CHECK(command_kill(c, true) == 0);
    WAIT_FOR(commands_running(commands) == 0);
    TEST_CHECK(kill(left, 0) < 0);
    /* one that has the output open is waited for */
    start((struct command_spec){0}, "(sleep 0.3; echo late) & echo now; exit 4", &holds);
    WAIT_FOR(holds.ends == 1);
    TEST_CHECK(holds.end.code == 4 && strcmp(buf_text(&holds.out), "now\nlate\n") == 0);
    TEST_MSG("%s", buf_text(&holds.out));
    /* but for the time of the command */
    start((struct command_spec){.timeout_ms = 300}, "sleep 100 & echo $!", &late);
    WAIT_FOR(late.ends == 1);
    left = (pid_t)strtol(buf_text(&late.out), NULL, 10);
    TEST_CHECK(late.end.timed_out && kill(left, 0) == 0);
    done_seen(&seen);
    done_seen(&holds);
    done_seen(&late);
    close_all();
    TEST_CHECK(kill(left, 0) < 0);
}

static void a_command_leads_no_group(void)
{
    open_all();
    struct err e = ERR_NONE;
    struct seen seen = new_seen(), asked = new_seen(), group = new_seen();
    struct json *args =
        json_parse_copy("[\"bash\",\"-c\",\"echo $$; sleep 100\"]", 34, JSON_STRICT, NULL);
    const struct command_spec spec = {.program = "setsid", .args = args};
    TEST_CHECK(command_start(commands, &spec, &events, &seen, &seen.reader, &e) == 0);
    (void)json_free(args);
    WAIT_FOR(seen.out.len > 0);
    TEST_CHECK(strtol(buf_text(&seen.out), NULL, 10) == seen.pid && seen.ends == 0);
    /* it has left its group, and gets the signal all the same */
    TEST_CHECK(command_kill(commands_find(commands, seen.pid), false) == 0);
    WAIT_FOR(seen.ends == 1);
    TEST_CHECK(seen.end.signal == SIGTERM);
    /* a signal to its own group reaches nobody else */
    start((struct command_spec){0}, "trap 'exit 7' TERM; kill 0; sleep 100", &group);
    start((struct command_spec){0}, "echo; sleep 0.5; exit 8", &asked);
    WAIT_FOR(group.ends == 1 && asked.ends == 1);
    TEST_CHECK(group.end.code == 7 && asked.end.code == 8);
    done_seen(&seen);
    done_seen(&asked);
    done_seen(&group);
    close_all();
}

static void commands_stand_still_while_they_are_paused(void)
{
    open_all();
    struct seen seen = new_seen();
    start((struct command_spec){0}, "bash -c 'while :; do echo x; sleep 0.01; done'", &seen);
    WAIT_FOR(seen.out.len > 10);
    commands_pause(commands, true);
    size_t before = 0;
    for (int quiet = 0; quiet < 10;) {
        before = seen.out.len;
        loop_turn(loop, 50);
        quiet = seen.out.len == before ? quiet + 1 : 0;
    }
    commands_pause(commands, false);
    WAIT_FOR(seen.out.len > before + 10);
    commands_pause(commands, true);
    TEST_CHECK(command_kill(commands_find(commands, seen.pid), true) == 0);
    WAIT_FOR(seen.ends == 1);
    done_seen(&seen);
    close_all();
}

static void what_stands_still_ends_with_its_session(void)
{
    open_all();
    struct seen seen = new_seen();
    start((struct command_spec){0}, "trap 'exit 7' TERM; while :; do sleep 0.01; done", &seen);
    WAIT_FOR(seen.pid > 0);
    commands_pause(commands, true);
    commands_stop(commands);
    WAIT_FOR(seen.ends == 1);
    done_seen(&seen);
    close_all();
}

static void what_cannot_start_says_why(void)
{
    open_all();
    struct err e = ERR_NONE;
    struct seen seen = new_seen();
    TEST_CHECK(start_spec((struct command_spec){.cwd = "/nowhere"}, ":", &seen, &e) == -ENOENT);
    struct json *envs = json_parse_copy("{\"A=B\":\"\"}", 10, JSON_STRICT, NULL);
    TEST_CHECK(start_spec((struct command_spec){.envs = envs}, ":", &seen, &e) == -EINVAL);
    (void)json_free(envs);
    TEST_CHECK(commands_running(commands) == 0);
    const struct command_spec absent = {.program = "/no/such/program"};
    TEST_CHECK(command_start(commands, &absent, &events, &seen, &seen.reader, &e) == 0);
    WAIT_FOR(seen.ends == 1);
    TEST_CHECK(seen.pid == 0 && strstr(seen.why, "cannot start (exec)"));
    done_seen(&seen);
    close_all();
}

static void there_is_a_limit_and_the_end_of_the_session_ends_all(void)
{
    open_all();
    struct err e = ERR_NONE;
    struct seen seen[COMMANDS_MAX + 1];
    for (int i = 0; i <= COMMANDS_MAX; i++) {
        seen[i] = new_seen();
        int r = start_spec((struct command_spec){0}, "exec sleep 100", &seen[i], &e);
        TEST_CHECK(r == (i < COMMANDS_MAX ? 0 : -EAGAIN));
    }
    WAIT_FOR(seen[0].pid > 0);
    commands = commands_close(commands);
    for (int i = 0; i < COMMANDS_MAX; i++)
        TEST_CHECK(seen[i].ends == 1 && seen[i].end.error == -ESHUTDOWN);
    for (int i = 0; i <= COMMANDS_MAX; i++)
        done_seen(&seen[i]);
    close_all();
}

TEST_LIST = {
    {"a_command_has_its_words_streams_and_folder", a_command_has_its_words_streams_and_folder},
    {"input_is_written_and_ends", input_is_written_and_ends},
    {"who_comes_late_gets_what_nobody_has_read", who_comes_late_gets_what_nobody_has_read},
    {"of_what_nobody_reads_the_newest_is_kept", of_what_nobody_reads_the_newest_is_kept},
    {"a_slow_reader_makes_the_command_wait", a_slow_reader_makes_the_command_wait},
    {"signals_and_timeouts_end_a_command", signals_and_timeouts_end_a_command},
    {"a_terminal_is_typed_into_and_resized", a_terminal_is_typed_into_and_resized},
    {"what_a_command_leaves_goes_on", what_a_command_leaves_goes_on},
    {"a_command_leads_no_group", a_command_leads_no_group},
    {"commands_stand_still_while_they_are_paused", commands_stand_still_while_they_are_paused},
    {"what_stands_still_ends_with_its_session", what_stands_still_ends_with_its_session},
    {"what_cannot_start_says_why", what_cannot_start_says_why},
    {"there_is_a_limit_and_the_end_of_the_session_ends_all",
     there_is_a_limit_and_the_end_of_the_session_ends_all},
    {NULL, NULL},
};
