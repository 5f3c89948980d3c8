/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection of code in a kernel: the input is what it sends after its hello, and each open
 * call is answered. Whatever is sent back is lines of valid JSON, and nothing stays open when it
 * goes. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "fakes/fake_toolplane.h"
#include "front/toolserver/toolsock.h"

#define HELLO "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\",\"params\":{\"token\":\"a\"}}\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool who(void *ctx, const char *token, const char **session)
{
    (void)ctx;
    *session = "s";
    return strcmp(token, "a") == 0;
}

static int dial(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    (void)snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to) < 0)
        abort();
    return fd;
}

static void check_lines(const struct buf *got)
{
    const char *at = buf_text(got), *end = at + got->len;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            abort();
        drop_json struct json *line = json_parse_copy(at, (size_t)(stop - at), JSON_STRICT, NULL);
        if (!json_is_object(line))
            abort();
        at = stop + 1;
    }
}

static void talk(struct loop *loop, int fd, const char *text, size_t n, struct buf *got)
{
    for (size_t at = 0; at < n;) {
        ssize_t sent = send(fd, text + at, n - at, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            break;
        at += sent > 0 ? (size_t)sent : 0;
        loop_turn(loop, 0);
        while (fake_toolplane.open > 0)
            fake_toolplane_done(0, TOOLPLANE_OK, "");
        char bytes[4096];
        for (ssize_t r; (r = read(fd, bytes, sizeof bytes)) > 0;)
            (void)buf_add(got, bytes, (size_t)r);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct loop *loop;
    if (!loop && loop_new(&loop, NULL) < 0)
        abort();
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/fuzz-toolsock-%d", (int)getpid());
    struct toolsock_config config = {.loop = loop, .path = path, .may_reset = "s", .who = who};
    struct toolsock *sock = NULL;
    if (toolsock_open(&config, &sock, NULL) < 0)
        abort();
    drop_buf struct buf got = BUF_INIT(SIZE_MAX / 2);
    int fd = dial(path);
    loop_turn(loop, 0);
    talk(loop, fd, HELLO, sizeof HELLO - 1, &got);
    talk(loop, fd, (const char *)data, size, &got);
    (void)fd_close(fd);
    loop_turn(loop, 0);
    loop_turn(loop, 0);
    check_lines(&got);
    if (fake_toolplane.open > 0)
        abort();
    fake_toolplane_clear();
    (void)toolsock_close(sock);
    return 0;
}
