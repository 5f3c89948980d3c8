/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/become_shim.h - a test program that starts children is the shim above them, too: the
 * spawner executes /proc/self/exe with the word `shim`. */
#ifndef UNIT_BECOME_SHIM_H
#define UNIT_BECOME_SHIM_H

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/shim/shim.h"

enum { SHIM_WORDS_MAX = 32 };

__attribute__((constructor)) static void become_shim(void)
{
    static char text[4096];
    static char *words[SHIM_WORDS_MAX + 1];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    (void)fd_close(fd);
    int count = 0;
    for (char *at = text; at < text + n && count < SHIM_WORDS_MAX; at += strlen(at) + 1)
        words[count++] = at;
    if (count > 1 && strcmp(words[1], "shim") == 0)
        _exit(shim_main(count - 1, words + 1));
}

#endif
