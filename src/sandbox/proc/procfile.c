/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/proc/procfile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

bool procfile_read(int dir, const char *path, char *text, size_t size)
{
    drop_fd int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

uint64_t procfile_number(const char *text, const char **ret_end)
{
    char *end;
    const unsigned long long n = strtoull(text, &end, 10);
    if (ret_end)
        *ret_end = end;
    return end > text ? n : 0;
}

uint64_t procfile_behind(const char *text, const char *label)
{
    const char *at = strstr(text, label);
    return at ? procfile_number(at + strlen(label), NULL) : 0;
}
