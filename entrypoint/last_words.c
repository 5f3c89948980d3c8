/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/last_words.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

void last_words_write(const char *path, const char *text)
{
    struct stat at;
    drop_fd int fd =
        path ? open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY) : -1;
    if (fd < 0 || fstat(fd, &at) < 0 || !S_ISREG(at.st_mode) || ftruncate(fd, 0) < 0)
        return;
    size_t n = strnlen(text, LAST_WORDS_MAX - 1);
    bool whole = write(fd, text, n) == (ssize_t)n;
    if (whole)
        (void)!write(fd, "\n", 1);
}
