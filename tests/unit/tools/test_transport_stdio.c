/* SPDX-License-Identifier: Apache-2.0
 *
 * The servers are shell scripts; this program is their shim, as in sandbox/shim/test_spawn.c. */
#include <acutest.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/become_shim.h"
#include "unit/guard.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "tools/transport/transport.h"

enum { TEXT_MAX = 65536 };

static struct loop *loop;
static struct spawner *spawner;
static struct transport *transport;
static struct buf got = {.cap = TEXT_MAX}; /* messages, each in brackets */
static struct buf logged = {.cap = TEXT_MAX};
static size_t longest;
static int closed;
static struct err why;
static bool close_at_message;

static void on_message(void *ctx, char *text, size_t n)
{
    (void)ctx;
    TEST_CHECK(strlen(text) == n);
    longest = n > longest ? n : longest;
    if (n < 1000)
        (void)buf_addf(&got, "<%s>", text);
    if (close_at_message) {
        transport->ops->close(transport);
        transport = NULL;
    }
}

static void on_refused(void *ctx, const char *id, int status, const struct err *e)
{
    (void)ctx, (void)id, (void)status, (void)e;
    TEST_CHECK(false); /* that is for HTTP */
}

static void on_closed(void *ctx, const struct err *e)
{
    (void)ctx;
    closed++;
    why = *e;
}

static void on_log(void *ctx, const char *line)
{
    (void)ctx;
    (void)buf_addf(&logged, "<%s>", line);
}

static const struct sandbox_spec *sandbox;

static void open_argv(const char *const *argv)
{
    static const struct transport_events events = {
        .message = on_message, .refused = on_refused, .closed = on_closed};
    static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};
    (void)signal(SIGPIPE, SIG_IGN);
    struct err e = ERR_NONE;
    TEST_ASSERT(loop_new(&loop, &e) == 0 && spawner_new(loop, &spawner, &e) == 0);
    struct transport_stdio_config config = {.loop = loop,
                                            .spawner = spawner,
                                            .argv = argv,
                                            .envp = env,
                                            .cwd = "/",
                                            .sandbox = sandbox,
                                            .close_grace_ms = 60000,
                                            .log = on_log};
    TEST_ASSERT_(transport_stdio_open(&config, &events, NULL, &transport, &e) == 0, "%s", e.msg);
}

static void open_script(const char *script)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    open_argv(argv);
}

static void close_it(void)
{
    if (transport)
        transport->ops->close(transport);
    spawner = spawner_free(spawner, 5000);
    loop = loop_free(loop);
    buf_done(&got);
    buf_done(&logged);
}

static int send_text(const char *text, size_t n)
{
    struct transport_message m = {.text = text, .n = n, .id = "1", .method = "ping"};
    return transport->ops->send(transport, &m, NULL);
}

static void wait_for(const struct buf *in, const char *text)
{
    int64_t until = clock_ms() + GUARD_MS;
    while (!strstr(buf_text(in), text) && clock_ms() < until)
        loop_turn(loop, 100);
    TEST_CHECK(strstr(buf_text(in), text) != NULL);
    TEST_MSG("%s is not in %s", text, buf_text(in));
}

static void wait_for_end(void)
{
    int64_t until = clock_ms() + GUARD_MS;
    while (!closed && clock_ms() < until)
        loop_turn(loop, 100);
    TEST_CHECK(closed == 1);
}

static void expect(const struct buf *in, const char *text)
{
    TEST_CHECK(strcmp(buf_text(in), text) == 0);
    TEST_MSG("expected %s", text);
    TEST_MSG("actual   %s", buf_text(in));
}

static void a_message_is_a_line_each_way(void)
{
    open_script("while read -r x; do echo \"$x\"; done");
    TEST_CHECK(send_text("{\"id\":1}", 8) == 0 && send_text("{\"id\":2}", 8) == 0);
    wait_for(&got, "2");
    expect(&got, "<{\"id\":1}><{\"id\":2}>");
    transport->ops->forget(transport, "1");
    TEST_CHECK(closed == 0);
    close_it();
}

static void chatter_on_standard_output_is_logged(void)
{
    open_script(
        "printf '\\n \\r\\nhello\\n[INFO] up]\\n{\"a\":1}\\r\\n  [ {\"b\":2}]  \\nx\\0y\\n{\"c\"'; "
        "read x; printf ':3}\\n{half\\n'; echo err >&2; read x");
    wait_for(&got, "b");
    wait_for(&logged, "x y");
    TEST_CHECK(send_text("{}", 2) == 0);
    wait_for(&got, "c");
    wait_for(&logged, "err");
    expect(&got, "<{\"a\":1}><[ {\"b\":2}]><{\"c\":3}>");
    TEST_CHECK(strncmp(logged.data, "<hello><[INFO] up]><x y>", 24) == 0);
    TEST_MSG("%s", logged.data);
    close_it();
}

static void a_large_message_goes_there_and_back(void)
{
    enum { LARGE = 20 << 20 };
    open_script("cat");
    char *text = xcalloc(LARGE, 1);
    memset(text, 'x', LARGE);
    text[0] = '{';
    text[LARGE - 1] = '}';
    TEST_CHECK(send_text(text, LARGE) == 0 && send_text("{\"id\":2}", 8) == 0);
    wait_for(&got, "2");
    TEST_CHECK(longest == LARGE && closed == 0);
    xfree(text);
    close_it();
}

static void a_message_over_the_limit_ends_it(void)
{
    open_script("printf '{'; head -c 67108864 /dev/zero | tr '\\0' x; echo '}'; sleep 60");
    wait_for_end();
    TEST_CHECK(why.code == -EMSGSIZE && strstr(why.msg, "64 MiB") != NULL);
    TEST_CHECK(send_text("{}", 2) == -EPIPE);
    close_it();
}

static void who_does_not_read_is_sent_a_bounded_amount(void)
{
    enum { LARGE = 32 << 20 };
    open_script("sleep 600");
    char *text = xcalloc(LARGE, 1);
    memset(text, 'x', LARGE);
    int r = 0, sent = 0;
    while (r == 0 && sent < 10) {
        r = send_text(text, LARGE);
        sent += r == 0;
        loop_turn(loop, 0);
    }
    TEST_CHECK(r == -EAGAIN && sent == 4);
    TEST_CHECK(closed == 0);
    xfree(text);
    close_it();
}

static void the_end_is_told_with_the_last_words(void)
{
    open_script("seq 1 3000 >&2; printf 'Traceback:\\n  File x\\n    code\\nValueError: no' >&2; "
                "printf '{\"last\":1}'; exit 3");
    wait_for_end();
    expect(&got, "<{\"last\":1}>");
    TEST_CHECK(strncmp(why.msg, "the server ended (exit status 3); its last words: ", 50) == 0);
    TEST_CHECK(strstr(why.msg, "/ 3000 / Traceback: / ValueError: no") != NULL);
    TEST_MSG("%s", why.msg);
    wait_for(&logged, "<1><2>");
    close_it();
}

static void the_limit_that_ended_it_is_named(void)
{
    struct sandbox_spec spec = sandbox_walls;
    spec.options = "mcp";
    spec.limits.memory = 128 << 20;
    sandbox = &spec;
    open_script("head -c 20M /dev/zero | tail | wc -c >&2; kill -9 $$");
    wait_for_end();
    TEST_CHECK_(strstr(why.msg, "killed by signal 9") != NULL, "%s", why.msg);
    close_it();
    closed = 0;
    open_script("head -c 600M /dev/zero | tail | sleep 60"); /* it stays until it is seen */
    wait_for_end();
    TEST_CHECK_(strcmp(why.msg, "the server was killed: the limit of 128 MiB memory (--mcp-memory) "
                                "was reached") == 0,
                "%s", why.msg);
    close_it();
}

static void a_signal_is_named_and_silence_is_no_word(void)
{
    open_script("kill -9 $$");
    wait_for_end();
    TEST_CHECK(strcmp(why.msg, "the server ended (killed by signal 9)") == 0);
    TEST_MSG("%s", why.msg);
    close_it();
}

static void a_long_line_of_standard_error_is_logged_in_pieces(void)
{
    open_script("head -c 10000 /dev/zero | tr '\\0' e >&2; echo >&2; echo next >&2; read x");
    wait_for(&logged, "<next>");
    TEST_CHECK(logged.len == 10000 + 3 * 2 + 6);
    TEST_MSG("%zu", logged.len);
    close_it();
}

static void what_cannot_be_run_says_why(void)
{
    const char *argv[] = {"no-such-program", "secret", NULL};
    open_argv(argv);
    wait_for_end();
    TEST_CHECK(strcmp(why.msg, "no-such-program: no such program in PATH") == 0);
    TEST_MSG("%s", why.msg);
    close_it();
    closed = 0;
    argv[0] = "/etc/passwd";
    open_argv(argv);
    wait_for_end();
    TEST_CHECK(why.code == -EACCES && !strstr(why.msg, "secret"));
    TEST_MSG("%s", why.msg);
    close_it();
}

static void who_closes_its_input_is_given_a_moment_then_given_up(void)
{
    open_script("exec 0</dev/null; echo '{\"up\":1}'; sleep 600");
    wait_for(&got, "up");
    loop_turn(loop, 10);
    TEST_CHECK(send_text("{}", 2) == -EPIPE && closed == 0);
    TEST_CHECK(send_text("{}", 2) == -EPIPE && closed == 0);
    close_it();
}

static void it_may_be_closed_inside_an_event(void)
{
    close_at_message = true;
    open_script("echo '{\"a\":1}'; echo '{\"b\":1}'; read x; exit 0");
    wait_for(&got, "a");
    loop_turn(loop, 10);
    expect(&got, "<{\"a\":1}>");
    TEST_CHECK(closed == 0);
    close_it();
}

#define T(name) {#name, name}

TEST_LIST = {
    T(a_message_is_a_line_each_way),
    T(chatter_on_standard_output_is_logged),
    T(a_large_message_goes_there_and_back),
    T(a_message_over_the_limit_ends_it),
    T(who_does_not_read_is_sent_a_bounded_amount),
    T(the_end_is_told_with_the_last_words),
    T(the_limit_that_ended_it_is_named),
    T(a_signal_is_named_and_silence_is_no_word),
    T(a_long_line_of_standard_error_is_logged_in_pieces),
    T(what_cannot_be_run_says_why),
    T(who_closes_its_input_is_given_a_moment_then_given_up),
    T(it_may_be_closed_inside_an_event),
    {NULL, NULL},
};
