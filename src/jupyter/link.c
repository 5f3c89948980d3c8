/* SPDX-License-Identifier: Apache-2.0 */
#include "jupyter/link.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/jsonw.h"
#include "base/random.h"
#include "base/unixsock.h"

enum {
    KEY_BYTES = 32,
    PASSWORD_BYTES = 16,
    HEARTBEAT_MS = 3000,
    HEARTBEAT_MISSES = 4, /* pings in a row without an answer: counted, so a paused or suspended
                             container, whose clock jumps, does not look like a dead kernel */
    BACKLOG = 100,        /* as ZeroMQ has it */
};

/* Ports are suffixes of ipc paths: <place>-1 … */
enum { PORT_SHELL = 1, PORT_IOPUB, PORT_STDIN, PORT_CONTROL, PORT_HEARTBEAT };

struct link;

struct channel_ref { /* tells the one callback which socket a message came through */
    struct link *link;
    enum link_channel channel;
};

struct link {
    struct loop *loop;
    char *place;
    char *text; /* how to connect: JSON */
    struct jupyter_key *key;
    char session[33];
    char password[2 * PASSWORD_BYTES + 1]; /* "": the kernel goes by who connects */
    struct zsock *sockets[LINK__COUNT];
    struct channel_ref refs[LINK__COUNT];
    struct zsock *heart;
    int fds[LINK_FDS]; /* -1: the kernel has them */
    struct loop_timer beat;
    int missed;
    bool heard;
    uint64_t dropped;
    const struct link_events *events;
    void *ctx;
};

/* --- messages ------------------------------------------------------------------------------- */

static void on_link_message(void *ctx, struct slice *parts, size_t n)
{
    const struct channel_ref *ref = ctx;
    struct link *link = ref->link;
    struct jupyter_msg m;
    if (jupyter_msg_decode(parts, n, link->key, &m, NULL) < 0) {
        link->dropped++;
        return;
    }
    link->events->message(link->ctx, ref->channel, &m); /* may free the link */
    jupyter_msg_done(&m);
}

int link_send(struct link *link, enum link_channel channel, enum jupyter_type type,
              struct slice content, char ret_id[LINK_ID_SIZE], struct err *e)
{
    char id[LINK_ID_SIZE];
    random_hex(id, 16);
    struct jupyter_head head = {.type = type, .msg_id = id, .session = link->session};
    struct jupyter_sent sent;
    int r = jupyter_msg_encode(link->key, &head, content, &sent, e);
    if (r < 0)
        return r;
    r = zsock_send(link->sockets[channel], sent.frames, JUPYTER_SENT_FRAMES, e);
    jupyter_sent_done(&sent);
    if (r == 0 && ret_id)
        memcpy(ret_id, id, sizeof id);
    return r;
}

uint64_t link_dropped(const struct link *link)
{
    return link->dropped;
}

/* --- heartbeat ------------------------------------------------------------------------------ */

static void on_beat(void *ctx)
{
    struct link *link = ctx;
    loop_timer_set(link->loop, &link->beat, HEARTBEAT_MS, on_beat, link);
    if (zsock_send(link->heart, &(struct slice){(char[]){"ping"}, 4}, 1, NULL) < 0)
        return; /* not even queued: the peer was never there */
    if (link->heard && ++link->missed == HEARTBEAT_MISSES + 1)
        link->events->heartbeat(link->ctx, false);
}

void link_beat(struct link *link, bool on)
{
    link->missed = 0;
    if (on)
        loop_timer_set(link->loop, &link->beat, HEARTBEAT_MS, on_beat, link);
    else
        loop_timer_stop(link->loop, &link->beat);
}

static void on_pong(void *ctx, struct slice *parts, size_t n)
{
    (void)parts, (void)n;
    struct link *link = ctx;
    bool was_lost = link->missed > HEARTBEAT_MISSES;
    link->missed = 0;
    link->heard = true;
    if (was_lost)
        link->events->heartbeat(link->ctx, true);
}

/* --- opening and closing -------------------------------------------------------------------- */

static int write_connection(struct link *link, const char *key, bool alone, struct err *e)
{
    drop_buf struct buf text = BUF_INIT(4096);
    struct jsonw w = JSONW(&text);
    jsonw_object(&w);
    jsonw_set_text(&w, "transport", "ipc");
    jsonw_set_text(&w, "ip", link->place);
    jsonw_set_int(&w, "shell_port", PORT_SHELL);
    jsonw_set_int(&w, "iopub_port", PORT_IOPUB);
    jsonw_set_int(&w, "stdin_port", PORT_STDIN);
    jsonw_set_int(&w, "control_port", PORT_CONTROL);
    jsonw_set_int(&w, "hb_port", PORT_HEARTBEAT);
    jsonw_set_text(&w, "signature_scheme", "hmac-sha256");
    jsonw_set_text(&w, "key", key);
    jsonw_set_text(&w, "kernel_name", "python3");
    if (alone)
        jsonw_set_int(&w, "ipybox_peer", getpid());
    else
        jsonw_set_text(&w, "ipybox_password", link->password);
    jsonw_end(&w);
    if (text.failed)
        return err_set(e, text.failed, "connection information: %s", strerror(-text.failed));
    int *fd = &link->fds[LINK_SOCKETS];
    *fd = memfd_create("connection", MFD_CLOEXEC);
    if (*fd < 0 || write(*fd, text.data, text.len) != (ssize_t)text.len)
        return err_set(e, -errno, "connection information: %s", strerror(errno));
    link->text = buf_take(&text);
    return 0;
}

static int open_socket(struct link *link, struct zctx *zctx, enum zsock_kind kind, int port,
                       zsock_fn fn, void *ctx, struct zsock **ret, struct err *e)
{
    drop_str char *endpoint = xasprintf("ipc://%s-%d", link->place, port);
    const struct zsock_way way = {.endpoint = endpoint,
                                  .identity = link->session,
                                  .password = *link->password ? link->password : NULL};
    return zsock_open(zctx, link->loop, kind, &way, fn, ctx, ret, e);
}

static int open_link_channels(struct link *link, struct zctx *zctx, struct err *e)
{
    static const struct {
        enum zsock_kind kind;
        int port;
    } how[LINK__COUNT] = {
        [LINK_SHELL] = {ZSOCK_DEALER, PORT_SHELL},
        [LINK_CONTROL] = {ZSOCK_DEALER, PORT_CONTROL},
        [LINK_STDIN] = {ZSOCK_DEALER, PORT_STDIN},
        [LINK_IOPUB] = {ZSOCK_SUB, PORT_IOPUB},
    };
    for (int i = 0; i < LINK__COUNT; i++) {
        link->refs[i] = (struct channel_ref){.link = link, .channel = (enum link_channel)i};
        int r = open_socket(link, zctx, how[i].kind, how[i].port, on_link_message, &link->refs[i],
                            &link->sockets[i], e);
        if (r < 0)
            return r;
    }
    return open_socket(link, zctx, ZSOCK_REQ, PORT_HEARTBEAT, on_pong, link, &link->heart, e);
}

static int listen_for_kernel(struct link *link, struct err *e)
{
    int r = 0;
    for (int i = 0; r == 0 && i < LINK_SOCKETS; i++) {
        drop_str char *path = xasprintf("%s-%d", link->place, PORT_SHELL + i);
        r = unixsock_listen(path, BACKLOG, &link->fds[i], e);
    }
    return r;
}

static int open_link_sockets(struct link *link, const struct link_config *config, struct err *e)
{
    char key[2 * KEY_BYTES + 1];
    random_hex(key, KEY_BYTES);
    random_hex(link->session, 16);
    if (!config->alone)
        random_hex(link->password, PASSWORD_BYTES);
    link->key = jupyter_key_new(key, strlen(key));
    int r = write_connection(link, key, config->alone, e);
    if (r == 0)
        r = listen_for_kernel(link, e);
    if (r == 0)
        r = open_link_channels(link, config->zctx, e);
    if (r == 0) /* at once: the ping waits for the kernel, whose first seconds are watched too */
        loop_timer_set(link->loop, &link->beat, 0, on_beat, link);
    return r;
}

int link_open(const struct link_config *config, const struct link_events *events, void *ctx,
              struct link **ret, struct err *e)
{
    struct link *link = NEW(struct link);
    link->loop = config->loop;
    link->place = xstrdup(config->place);
    for (int i = 0; i < LINK_FDS; i++)
        link->fds[i] = -1;
    link->events = events;
    link->ctx = ctx;
    int r = open_link_sockets(link, config, e);
    if (r < 0) {
        (void)link_free(link);
        return r;
    }
    *ret = link;
    return 0;
}

static void remove_names(const struct link *link)
{
    for (int i = 0; i < LINK_SOCKETS; i++) {
        drop_str char *path = xasprintf("%s-%d", link->place, PORT_SHELL + i);
        unixsock_remove(path);
    }
}

struct link *link_free(struct link *link)
{
    if (!link)
        return NULL;
    loop_timer_stop(link->loop, &link->beat);
    link_drop_fds(link);
    for (int i = 0; i < LINK__COUNT; i++)
        (void)zsock_close(link->sockets[i]);
    (void)zsock_close(link->heart);
    (void)jupyter_key_free(link->key);
    remove_names(link);
    xfree(link->place);
    xfree(link->text);
    xfree(link);
    return NULL;
}

const int *link_fds(const struct link *link)
{
    return link->fds;
}

void link_drop_fds(struct link *link)
{
    for (int i = 0; i < LINK_FDS; i++)
        link->fds[i] = fd_close(link->fds[i]);
}

const char *link_connection_text(const struct link *link)
{
    return link->text;
}

const char *link_session(const struct link *link)
{
    return link->session;
}
