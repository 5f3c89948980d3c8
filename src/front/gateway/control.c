/* SPDX-License-Identifier: Apache-2.0 */
#include "front/gateway/control.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/jsonw.h"
#include "base/unixsock.h"

enum { BACKLOG = 16, ACCEPTS_PER_TURN = 16, STATUS_MAX = 1024 };

struct control {
    struct loop *loop;
    struct loop_io *io;
    const char *version;
    char *path;
    int fd;
    bool stopping;
};

static void notify_status(const struct control *control, int fd)
{
    drop_buf struct buf out = BUF_INIT(STATUS_MAX);
    struct jsonw w = JSONW(&out);
    jsonw_object(&w);
    jsonw_set_text(&w, "status", control->stopping ? "stopping" : "ok");
    jsonw_set_text(&w, "version", control->version);
    jsonw_set_int(&w, "pid", getpid());
    jsonw_end(&w);
    (void)buf_addc(&out, '\n');
    (void)send(fd, buf_text(&out), out.len, MSG_NOSIGNAL | MSG_DONTWAIT); /* it fits a socket */
}

static void on_control_connection(void *ctx, unsigned events)
{
    (void)events;
    struct control *control = ctx;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        drop_fd int fd = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        notify_status(control, fd);
    }
}

static bool somebody_answers(const struct sockaddr_un *to)
{
    drop_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && connect(fd, (const struct sockaddr *)(const void *)to, sizeof *to) == 0;
}

static int listen_for_control(struct control *control, struct err *e)
{
    struct sockaddr_un to;
    int r = unixsock_address(control->path, &to, e);
    if (r < 0)
        return r;
    if (somebody_answers(&to)) {
        xfree(control->path); /* it is not ours to remove */
        control->path = NULL;
        return err_set(e, -EADDRINUSE, "another server is running here (%s answers)", to.sun_path);
    }
    r = unixsock_listen(control->path, BACKLOG, &control->fd, e);
    return r < 0 ? r
                 : loop_io_add(control->loop, control->fd, LOOP_IN, on_control_connection, control,
                               &control->io, e);
}

int control_open(struct loop *loop, const char *runtime_dir, const char *version,
                 struct control **ret, struct err *e)
{
    struct control *control = NEW(struct control);
    *control = (struct control){.loop = loop, .version = version, .fd = -1};
    control->path = xasprintf("%s/" CONTROL_SOCKET, runtime_dir);
    int r = listen_for_control(control, e);
    if (r < 0) {
        (void)control_close(control);
        return r;
    }
    *ret = control;
    return 0;
}

void control_set_stopping(struct control *control)
{
    control->stopping = true;
}

struct control *control_close(struct control *control)
{
    if (!control)
        return NULL;
    (void)loop_io_del(control->io);
    (void)fd_close(control->fd);
    if (control->path)
        unixsock_remove(control->path);
    xfree(control->path);
    xfree(control);
    return NULL;
}
