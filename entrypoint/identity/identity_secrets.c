/* SPDX-License-Identifier: Apache-2.0
 *
 * NAME_FILE: read while we still are who may read it. */
#include "entrypoint/identity/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "entrypoint/options.h"
#include "entrypoint/sandbox/secret_files.h"

static ssize_t read_whole_secret(int fd, char *into, size_t size)
{
    size_t n = 0;
    while (n < size) {
        ssize_t r = read(fd, into + n, size - n);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return -errno;
        if (r == 0)
            break;
        n += (size_t)r;
    }
    return (ssize_t)n;
}

static int read_secret(const char *name, const char *path, char *into, struct err *e)
{
    struct stat st;
    drop_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(e, -errno, "%s_FILE: %s: %s", name, path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(e, -EINVAL, "%s_FILE: %s: not a regular file", name, path);
    ssize_t n = read_whole_secret(fd, into, IDENTITY_SECRET_MAX + 1);
    if (n < 0)
        return err_set(e, (int)n, "%s_FILE: %s: %s", name, path, strerror((int)-n));
    if (n > IDENTITY_SECRET_MAX)
        return err_set(e, -EMSGSIZE, "%s_FILE: %s: longer than %d bytes", name, path,
                       IDENTITY_SECRET_MAX);
    if (n > 0 && into[n - 1] == '\n')
        n--;
    into[n] = '\0';
    if (n == 0)
        return err_set(e, -EINVAL, "%s_FILE: %s: empty", name, path);
    if (strlen(into) != (size_t)n)
        return err_set(e, -EINVAL, "%s_FILE: %s: has a NUL byte", name, path);
    return 0;
}

static int take_secret(const char *name, struct err *e)
{
    static char value[IDENTITY_SECRET_MAX + 2];
    char file_name[128];
    (void)snprintf(file_name, sizeof file_name, "%s_FILE", name);
    const char *path = getenv(file_name);
    const char *already = getenv(name);
    if (!path || !*path)
        return 0;
    if (already && *already)
        return err_set(e, -EINVAL, "%s and %s are both set: give one of them", name, file_name);
    int r = read_secret(name, path, value, e);
    if (r == 0)
        r = secret_files_note(file_name, path, e);
    if (r == 0 && (setenv(name, value, 1) < 0 || unsetenv(file_name) < 0))
        r = err_set(e, -errno, "%s: %s", name, strerror(errno));
    explicit_bzero(value, sizeof value);
    return r;
}

int identity_read_secrets(struct err *e)
{
    int r = 0;
    const char *name;
    for (size_t i = 0; r == 0 && (name = options_secret(i)); i++)
        r = take_secret(name, e);
    return r;
}
