/* SPDX-License-Identifier: Apache-2.0
 *
 * The test is the kernel: it binds the sockets that a kernel would bind. */
#include <acutest.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "base/alloc.h"
#include "base/random.h"
#include "base/unixsock.h"
#include "jupyter/link.h"
#include "unit/guard.h"

enum { SHELL = 1, IOPUB = 2, STDIN = 3, HEARTBEAT = 5, BEAT_MS = 3000 };

static int64_t now = 1000;
static struct loop *loop;
static struct zctx *zctx;
static struct link *ours;
static char place[64];
static void *context, *shell, *iopub, *heart; /* the kernel's */
static void *door;        /* of the kernel's: where ZeroMQ asks whether to let somebody in */
static char password[40]; /* that the link has told the kernel */
static int let_in, kept_out;
static struct jupyter_key *key;
static char heard[400]; /* by the link: "shell:kernel_info_reply:ID;" …; "lost;" and "back;" */

static int64_t fake_clock(void)
{
    return now;
}

static void note(const char *text)
{
    size_t n = strlen(heard);
    (void)snprintf(heard + n, sizeof heard - n, "%s;", text);
}

static void on_message(void *ctx, enum link_channel channel, const struct jupyter_msg *m)
{
    (void)ctx;
    char text[200];
    (void)snprintf(text, sizeof text, "%s:%s:%s", channel == LINK_IOPUB ? "iopub" : "shell",
                   m->type_name, m->msg_id);
    note(text);
}

static void on_heartbeat(void *ctx, bool alive)
{
    (void)ctx;
    note(alive ? "back" : "lost");
}

static void *bind_at(int type, int port)
{
    char endpoint[100];
    int none = 0;
    void *s = zmq_socket(context, type);
    (void)zmq_setsockopt(s, ZMQ_LINGER, &none, sizeof none);
    if (door) {
        const int one = 1;
        (void)zmq_setsockopt(s, ZMQ_PLAIN_SERVER, &one, sizeof one);
        (void)zmq_setsockopt(s, ZMQ_ZAP_DOMAIN, "test", 4);
    }
    int fd = dup(link_fds(ours)[port - 1]); /* a kernel's process has its own */
    (void)zmq_setsockopt(s, ZMQ_USE_FD, &fd, sizeof fd);
    (void)snprintf(endpoint, sizeof endpoint, "ipc://%s-%d", place, port);
    TEST_ASSERT(zmq_bind(s, endpoint) == 0);
    return s;
}

static void read_key(void)
{
    struct err e = ERR_NONE;
    const char *text = link_connection_text(ours), *value = NULL;
    drop_json struct json *tree = json_parse_copy(text, strlen(text), JSON_STRICT, &e);
    TEST_ASSERT(tree && json_need_text(tree, "key", &value, &e) == 0);
    key = jupyter_key_new(value, strlen(value));
    password[0] = '\0';
    if (json_need_text(tree, "ipybox_password", &value, NULL) == 0)
        (void)snprintf(password, sizeof password, "%s", value);
}

static void open_door(void)
{
    door = zmq_socket(context, ZMQ_REP);
    TEST_ASSERT(zmq_bind(door, "inproc://zeromq.zap.01") == 0);
    let_in = kept_out = 0;
}

static void open_link_as(bool alone)
{
    static const struct link_events events = {.message = on_message, .heartbeat = on_heartbeat};
    struct err e = ERR_NONE;
    char name[17];
    random_hex(name, 8);
    (void)snprintf(place, sizeof place, "/tmp/link-%s", name);
    TEST_ASSERT(loop_new(&loop, &e) == 0 && zctx_new(2 * LINK_SOCKETS, &zctx, &e) == 0);
    loop_set_clock(loop, fake_clock);
    const struct link_config config = {.loop = loop, .zctx = zctx, .place = place, .alone = alone};
    TEST_ASSERT(link_open(&config, &events, NULL, &ours, &e) == 0);
    read_key();
    context = zmq_ctx_new();
    if (!alone)
        open_door();
    shell = bind_at(ZMQ_ROUTER, SHELL);
    iopub = bind_at(ZMQ_XPUB, IOPUB);
    heart = bind_at(ZMQ_REP, HEARTBEAT);
}

static void open_link(void)
{
    open_link_as(true);
}

static void close_link(void)
{
    ours = link_free(ours);
    zctx = zctx_free(zctx);
    loop = loop_free(loop);
    key = jupyter_key_free(key);
    (void)zmq_close(shell);
    (void)zmq_close(iopub);
    (void)zmq_close(heart);
    if (door)
        (void)zmq_close(door);
    door = NULL;
    (void)zmq_ctx_term(context);
    drop_str char *name = xasprintf("%s-%d", place, SHELL);
    TEST_CHECK(access(name, F_OK) < 0);
}

/* Who says what the link has told the kernel is let in (RFC 27). */
static void mind_door(void)
{
    enum { VERSION, REQUEST, USER = 6, PASSWORD, PARTS };
    char parts[PARTS][64] = {{0}};
    if (!door || zmq_recv(door, parts[VERSION], sizeof parts[0], ZMQ_DONTWAIT) < 0)
        return;
    for (int i = REQUEST; i < PARTS; i++)
        TEST_ASSERT(zmq_recv(door, parts[i], sizeof parts[i] - 1, 0) >= 0);
    const bool known = strcmp(parts[USER], "ipybox") == 0 && strcmp(parts[PASSWORD], password) == 0;
    (void)(known ? let_in++ : kept_out++);
    const char *answer[6] = {"1.0", parts[REQUEST], known ? "200" : "400", "", "", ""};
    for (int i = 0; i < 6; i++)
        (void)zmq_send(door, answer[i], strlen(answer[i]), i < 5 ? ZMQ_SNDMORE : 0);
}

/* Turns of the link's loop, which stand still in its own time, until the kernel's socket has
 * something. */
static bool arrives(void *socket)
{
    for (int ms = 0; ms < GUARD_MS; ms++) {
        zmq_pollitem_t item = {socket, 0, ZMQ_POLLIN, 0};
        loop_turn(loop, 0);
        mind_door();
        if (zmq_poll(&item, 1, 1) > 0)
            return true;
    }
    return false;
}

static void receive(void *socket)
{
    char bytes[1000];
    size_t size = sizeof(int);
    for (int more = 1; more;) {
        TEST_ASSERT(zmq_recv(socket, bytes, sizeof bytes, 0) >= 0);
        TEST_ASSERT(zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size) == 0);
    }
}

static bool link_hears(const char *expected)
{
    for (int ms = 0; ms < GUARD_MS && strcmp(heard, expected) != 0; ms++)
        loop_turn(loop, 1);
    TEST_CHECK(strcmp(heard, expected) == 0);
    TEST_MSG("heard: %s", heard);
    bool good = strcmp(heard, expected) == 0;
    heard[0] = '\0';
    return good;
}

/* --- messages ------------------------------------------------------------------------------- */

static struct jupyter_sent status(struct jupyter_key *with, const char *id)
{
    struct err e = ERR_NONE;
    static char empty[] = "{}"; /* the frames borrow it */
    struct jupyter_sent sent = {0};
    struct jupyter_head head = {.type = JUPYTER_STATUS, .msg_id = id, .session = "k"};
    TEST_ASSERT(jupyter_msg_encode(with, &head, (struct slice){empty, 2}, &sent, &e) == 0);
    return sent;
}

static void publish(const struct jupyter_sent *sent)
{
    (void)zmq_send(iopub, "topic", 5, ZMQ_SNDMORE);
    for (int i = 0; i < JUPYTER_SENT_FRAMES; i++)
        (void)zmq_send(iopub, sent->frames[i].data, sent->frames[i].len,
                       i + 1 < JUPYTER_SENT_FRAMES ? ZMQ_SNDMORE : 0);
}

static void publish_signed(const char *id)
{
    struct jupyter_sent sent = status(key, id);
    publish(&sent);
    jupyter_sent_done(&sent);
}

static void forged_unsigned_and_replayed_messages_are_dropped_and_the_channel_goes_on(void)
{
    open_link();
    TEST_ASSERT(arrives(iopub)); /* its subscription */
    struct jupyter_key *other = jupyter_key_new("another key", 11);
    struct jupyter_sent forged = status(other, "forged");
    struct jupyter_sent bare = status(key, "unsigned");
    struct jupyter_sent replayed = status(key, "once");
    struct jupyter_sent changed = status(key, "changed");
    bare.frames[1].len = 0;
    memcpy(strstr(changed.frames[2].data, "changed"), "CHANGED", 7);
    publish(&forged);
    publish(&bare);
    publish(&replayed);
    publish(&changed);
    publish(&replayed);
    (void)zmq_send(iopub, "no message at all", 17, 0);
    publish_signed("last");
    TEST_CHECK(link_hears("iopub:status:once;iopub:status:last;"));
    TEST_CHECK(link_dropped(ours) == 5);
    jupyter_sent_done(&forged);
    jupyter_sent_done(&bare);
    jupyter_sent_done(&replayed);
    jupyter_sent_done(&changed);
    (void)jupyter_key_free(other);
    close_link();
}

static void answer_on_shell(const struct jupyter_sent *sent)
{
    (void)zmq_send(shell, link_session(ours), strlen(link_session(ours)), ZMQ_SNDMORE);
    for (int i = 0; i < JUPYTER_SENT_FRAMES; i++)
        (void)zmq_send(shell, sent->frames[i].data, sent->frames[i].len,
                       i + 1 < JUPYTER_SENT_FRAMES ? ZMQ_SNDMORE : 0);
}

static void what_was_published_cannot_be_replayed_on_another_channel(void)
{
    open_link();
    struct err e = ERR_NONE;
    struct slice empty = {(char[]){"{}"}, 2};
    TEST_ASSERT(arrives(iopub));
    TEST_ASSERT(link_send(ours, LINK_SHELL, JUPYTER_KERNEL_INFO_REQUEST, empty, NULL, &e) == 0);
    TEST_ASSERT(arrives(shell));
    struct jupyter_sent sent = status(key, "once"), last = status(key, "last");
    publish(&sent);
    TEST_CHECK(link_hears("iopub:status:once;"));
    answer_on_shell(&sent);
    answer_on_shell(&last);
    TEST_CHECK(link_hears("shell:status:last;"));
    TEST_CHECK(link_dropped(ours) == 1);
    jupyter_sent_done(&sent);
    jupyter_sent_done(&last);
    close_link();
}

static bool may_connect(int port)
{
    char path[100];
    struct sockaddr_un to;
    struct err e = ERR_NONE;
    (void)snprintf(path, sizeof path, "%s-%d", place, port);
    TEST_ASSERT(unixsock_address(path, &to, &e) == 0);
    drop_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to) == 0;
}

static void a_kernel_takes_the_sockets_that_are_there(void)
{
    open_link();
    struct err e = ERR_NONE;
    struct slice empty = {(char[]){"{}"}, 2};
    TEST_ASSERT(arrives(iopub));
    TEST_ASSERT(link_send(ours, LINK_SHELL, JUPYTER_KERNEL_INFO_REQUEST, empty, NULL, &e) == 0);
    TEST_CHECK(arrives(shell) && arrives(heart));
    publish_signed("first");
    TEST_CHECK(link_hears("iopub:status:first;"));
    TEST_CHECK(may_connect(STDIN)); /* nobody has taken this one yet */
    link_drop_fds(ours);
    TEST_CHECK(link_fds(ours)[0] == -1);
    TEST_CHECK(!may_connect(STDIN) && may_connect(SHELL));
    publish_signed("second");
    TEST_CHECK(link_hears("iopub:status:second;"));
    close_link();
}

static void a_kernel_that_others_reach_too_is_told_a_password_and_hears_it(void)
{
    open_link_as(false);
    TEST_CHECK(strlen(password) == 32 && !strstr(link_connection_text(ours), "ipybox_peer"));
    char first[sizeof password];
    (void)snprintf(first, sizeof first, "%s", password);
    struct err e = ERR_NONE;
    struct slice empty = {(char[]){"{}"}, 2};
    TEST_ASSERT(arrives(iopub));
    TEST_ASSERT(link_send(ours, LINK_SHELL, JUPYTER_KERNEL_INFO_REQUEST, empty, NULL, &e) == 0);
    TEST_CHECK(arrives(shell) && arrives(heart));
    publish_signed("first");
    TEST_CHECK(link_hears("iopub:status:first;"));
    TEST_CHECK(let_in == 3 && kept_out == 0);
    close_link();
    open_link_as(false);
    TEST_CHECK(strcmp(password, first) != 0); /* another kernel, another password */
    close_link();
    open_link();
    TEST_CHECK(!*password && strstr(link_connection_text(ours), "ipybox_peer"));
    close_link();
}

/* --- heartbeat ------------------------------------------------------------------------------ */

/* Answers what has come, for a few turns in which the link's time stands still: only the answer to
 * the last ping counts. */
static void answer_pings(void)
{
    for (int i = 0; i < 20; i++) {
        zmq_pollitem_t item = {heart, 0, ZMQ_POLLIN, 0};
        if (zmq_poll(&item, 1, 1) > 0) {
            receive(heart);
            (void)zmq_send(heart, "ping", 4, 0);
        }
        loop_turn(loop, 0);
    }
}

/* Nobody sees the first answer arrive, before which nothing is told: so it is tried again. */
static void lose(void)
{
    TEST_ASSERT(arrives(heart));
    for (int tries = 0; tries < 200 && heard[0] == '\0'; tries++) {
        answer_pings();
        for (int i = 0; i < 6; i++) {
            now += BEAT_MS;
            loop_turn(loop, 0);
        }
    }
    TEST_CHECK(link_hears("lost;"));
}

static void come_back(void)
{
    for (int tries = 0; tries < 200 && heard[0] == '\0'; tries++)
        answer_pings();
    TEST_CHECK(link_hears("back;"));
}

static void a_kernel_that_answers_no_ping_is_told_once_and_again_when_it_answers(void)
{
    open_link();
    lose();
    for (int i = 0; i < 10; i++) {
        now += BEAT_MS;
        loop_turn(loop, 0);
    }
    TEST_CHECK(strcmp(heard, "") == 0);
    come_back();
    close_link();
}

static void a_clock_that_jumps_a_day_makes_no_kernel_dead(void)
{
    open_link();
    lose();
    come_back();
    for (int i = 0; i < 3; i++) {
        now += (int64_t)24 * 3600 * 1000;
        for (int turns = 0; turns < 20; turns++)
            loop_turn(loop, 0);
    }
    TEST_CHECK(strcmp(heard, "") == 0);
    TEST_MSG("heard: %s", heard);
    close_link();
}

TEST_LIST = {
    {"forged_unsigned_and_replayed_messages_are_dropped_and_the_channel_goes_on",
     forged_unsigned_and_replayed_messages_are_dropped_and_the_channel_goes_on},
    {"what_was_published_cannot_be_replayed_on_another_channel",
     what_was_published_cannot_be_replayed_on_another_channel},
    {"a_kernel_takes_the_sockets_that_are_there", a_kernel_takes_the_sockets_that_are_there},
    {"a_kernel_that_others_reach_too_is_told_a_password_and_hears_it",
     a_kernel_that_others_reach_too_is_told_a_password_and_hears_it},
    {"a_kernel_that_answers_no_ping_is_told_once_and_again_when_it_answers",
     a_kernel_that_answers_no_ping_is_told_once_and_again_when_it_answers},
    {"a_clock_that_jumps_a_day_makes_no_kernel_dead",
     a_clock_that_jumps_a_day_makes_no_kernel_dead},
    {NULL, NULL},
};
