/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/diagnose/health.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "entrypoint/cli/find.h"

enum { PATIENCE_MS = 2000, LINE_MAX_BYTES = 64 * 1024, WORDS_BYTES = 4096, BAD_STATUS = 1 };

#define SOCKET_NAME "control.sock"

/* One line, without its end. */
static int read_status_line(int fd, char *into, size_t size, struct err *e)
{
    int64_t until = clock_ms() + PATIENCE_MS;
    size_t n = 0;
    while (n + 1 < size) {
        int64_t left = until - clock_ms();
        struct pollfd p = {fd, POLLIN, 0};
        if (left <= 0 || poll(&p, 1, (int)left) == 0)
            return err_set(e, -ETIMEDOUT, "the server did not answer within %d ms", PATIENCE_MS);
        ssize_t r = read(fd, into + n, size - 1 - n);
        if (r < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (r < 0)
            return err_set(e, -errno, "read: %s", strerror(errno));
        n += (size_t)r;
        into[n] = '\0';
        char *end = strchr(into, '\n');
        if (end)
            *end = '\0';
        if (end || (r == 0 && n > 0))
            return 0;
        if (r == 0)
            return err_set(e, -EPIPE, "the server closed without an answer");
    }
    return err_set(e, -EMSGSIZE, "the server's answer is too long");
}

/* The word behind this one, or NULL at the end. */
static const char *next_argument(const char *word, const char *end)
{
    word += strlen(word) + 1;
    return word < end ? word : NULL;
}

static bool ends_in(const char *word, const char *name)
{
    const char *slash = strrchr(word, '/');
    return strcmp(slash ? slash + 1 : word, name) == 0;
}

bool health_has_no_server(const char *words, size_t n)
{
    static const char *const servers[] = {"server", "serve", "serve-all"};
    const char *word = n > 0 && words[n - 1] == '\0' ? words : NULL;
    while (word && !ends_in(word, "ipybox"))
        word = next_argument(word, words + n);
    word = word ? next_argument(word, words + n) : NULL;
    if (!word || strcmp(word, "init") != 0)
        return false;
    word = next_argument(word, words + n);
    bool server = !word || word[0] == '-';
    for (size_t i = 0; !server && i < sizeof servers / sizeof *servers; i++)
        server = strcmp(word, servers[i]) == 0;
    return !server;
}

/* `docker run IMAGE PROGRAM`: as PID 1 says, or what is PID 1 above it (docker run --init). */
static bool runs_program(void)
{
    char words[WORDS_BYTES];
    drop_fd int fd = open("/proc/1/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, words, sizeof words - 1);
    if (n <= 0)
        return false;
    words[n] = '\0'; /* a longer line is cut within a word that nobody asks for */
    return health_has_no_server(words, (size_t)n + (words[n - 1] != '\0'));
}

int health_main(void)
{
    static char line[LINE_MAX_BYTES];
    struct err e = ERR_NONE;
    /* It has the container's environment, and with --user the uid of cells. */
    (void)prctl(PR_SET_DUMPABLE, 0);
    drop_fd int fd = find_server(SOCKET_NAME, &e);
    if (fd == -ENOENT && runs_program()) {
        (void)dprintf(STDOUT_FILENO, "{\"status\":\"ok\",\"server\":false}\n");
        return 0;
    }
    if (fd < 0 || read_status_line(fd, line, sizeof line, &e) < 0) {
        (void)dprintf(STDERR_FILENO, "ipybox health: %s\n", e.msg);
        return BAD_STATUS;
    }
    (void)dprintf(STDOUT_FILENO, "%s\n", line);
    if (strstr(line, "\"status\":\"ok\""))
        return 0;
    (void)dprintf(STDERR_FILENO, "ipybox health: the server says that it is not well\n");
    return BAD_STATUS;
}
