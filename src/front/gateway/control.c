/* SPDX-License-Identifier: Apache-2.0 */
#include "front/gateway/control.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/jsonw.h"
#include "base/unixsock.h"
#include "front/http/listener.h"
#include "loop/lines.h"

enum { BACKLOG = 16, STATUS_MAX = 1024 };

struct control {
    struct loop *loop;
    struct listener *listener;
    const char *version;
    char *path;
    bool stopping;
};

static void on_control_connection(void *ctx, int fd, const struct sockaddr *from, socklen_t n)
{
    (void)from, (void)n;
    const struct control *control = ctx;
    drop_buf struct buf out = BUF_INIT(STATUS_MAX);
    struct jsonw w = JSONW(&out);
    jsonw_object(&w);
    jsonw_set_text(&w, "status", control->stopping ? "stopping" : "ok");
    jsonw_set_text(&w, "version", control->version);
    jsonw_set_int(&w, "pid", getpid());
    jsonw_end(&w);
    lines_say_once(fd, &out);
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
    int fd = -1;
    r = listener_open(control->loop, NULL, 0, NULL, on_control_connection, control,
                      &control->listener, e);
    if (r == 0)
        r = unixsock_listen(control->path, BACKLOG, &fd, e);
    return r < 0 ? r : listener_add(control->listener, fd, e);
}

int control_open(struct loop *loop, const char *runtime_dir, const char *version,
                 struct control **ret, struct err *e)
{
    struct control *control = NEW(struct control);
    *control = (struct control){.loop = loop, .version = version};
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
    control->listener = listener_close(control->listener);
    if (control->path)
        unixsock_remove(control->path);
    xfree(control->path);
    xfree(control);
    return NULL;
}
