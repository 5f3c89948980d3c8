/* SPDX-License-Identifier: Apache-2.0 */
#include "jupyter/gateway.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/unixsock.h"

enum { LINE_MAX_BYTES = 4096, PACKETS_PER_TURN = 16 };

struct gateway {
    const struct gateway_config *config;
    struct child *child;
    int control; /* our end of the pair */
    struct loop_io *io;
    bool ready;
    struct buf line;
};

static void log_gateway_line(struct gateway *gateway)
{
    struct gate *gate = gateway->config->gate;
    if (gateway->line.len > 0 && (!gate || gate_pass(gate, gateway->line.len)))
        gateway->config->log(LOG_INFO, buf_text(&gateway->line));
    buf_clear(&gateway->line);
}

static void on_gateway_output(void *ctx, const char *bytes, size_t n)
{
    struct gateway *gateway = ctx;
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n' || gateway->line.len == LINE_MAX_BYTES)
            log_gateway_line(gateway);
        if (bytes[i] != '\n')
            (void)buf_addc(&gateway->line, bytes[i]);
    }
}

static void on_gateway_process_ended(void *ctx, const struct child_exit *how, const struct err *why)
{
    struct gateway *gateway = ctx;
    const struct gateway_config *config = gateway->config;
    gateway->child = NULL;
    log_gateway_line(gateway);
    char text[600];
    if (how)
        (void)snprintf(text, sizeof text, "the gateway's process ended (status %d, signal %d)",
                       how->code, how->signal);
    else
        (void)snprintf(text, sizeof text, "the gateway did not start: %s", why->msg);
    config->log(LOG_WARNING, text);
    (void)gateway_stop(gateway);
    config->ended(config->ctx);
}

/* --- the pair ------------------------------------------------------------------------------- */

static void on_gateway_control(void *ctx, unsigned events)
{
    (void)events;
    struct gateway *gateway = ctx;
    for (int i = 0; i < PACKETS_PER_TURN; i++) {
        char what = 0;
        int fd = -1;
        size_t count = 0;
        int r = unixsock_receive(gateway->control, &what, 1, &fd, 1, &count);
        if (r == -EAGAIN || r == -EBADMSG)
            return;
        if (r < 0) { /* its end; that of the process is told besides */
            gateway->io = loop_io_del(gateway->io);
            return;
        }
        gateway->ready |= what == 'r';
        if (count > 0 && what == 's')
            gateway->config->asks(gateway->config->ctx, fd);
        else if (count > 0)
            (void)fd_close(fd);
    }
}

int gateway_connect(struct gateway *gateway)
{
    int pair[2];
    if (!gateway->ready ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return -EAGAIN;
    drop_fd int ours = pair[0];
    drop_fd int theirs = pair[1];
    if (unixsock_send(gateway->control, "h", 1, &theirs, 1, MSG_DONTWAIT) < 0)
        return -EAGAIN;
    return fd_take(&ours);
}

/* --- starting and stopping ------------------------------------------------------------------ */

static int start_gateway(struct gateway *gateway, struct err *e)
{
    static const struct child_events events = {.output = on_gateway_output,
                                               .ended = on_gateway_process_ended};
    const struct gateway_config *config = gateway->config;
    const char *argv[] = {config->python, "-I", "-m", "ipybox_gateway", NULL};
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return err_set(e, -errno, "socketpair: %s", strerror(errno));
    gateway->control = pair[0];
    drop_fd int theirs = pair[1];
    int fds[] = {theirs, config->channels};
    struct child_spec spec = {
        .argv = argv, .envp = config->envp, .cwd = config->cwd, .fds = fds, .fd_count = 2};
    int r = loop_io_add(config->loop, gateway->control, LOOP_IN, on_gateway_control, gateway,
                        &gateway->io, e);
    return r < 0 ? r : child_start(config->spawner, &spec, &events, gateway, &gateway->child, e);
}

int gateway_start(const struct gateway_config *config, struct gateway **ret, struct err *e)
{
    struct gateway *gateway = NEW(struct gateway);
    gateway->config = config;
    gateway->control = -1;
    gateway->line = BUF_INIT(LINE_MAX_BYTES);
    int r = start_gateway(gateway, e);
    if (r < 0) {
        (void)gateway_stop(gateway);
        return r;
    }
    *ret = gateway;
    return 0;
}

struct gateway *gateway_stop(struct gateway *gateway)
{
    if (!gateway)
        return NULL;
    (void)loop_io_del(gateway->io);
    (void)fd_close(gateway->control);
    (void)child_end(gateway->child);
    buf_done(&gateway->line);
    xfree(gateway);
    return NULL;
}
