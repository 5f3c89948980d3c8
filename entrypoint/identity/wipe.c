/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/identity/wipe.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

extern char **environ;

void wipe_environment(void)
{
    size_t n = 0;
    while (environ && environ[n])
        n++;
    char **moved = xcalloc(n + 1, sizeof *moved);
    for (size_t i = 0; i < n; i++) {
        moved[i] = xstrdup(environ[i]);
        explicit_bzero(environ[i], strlen(environ[i]));
    }
    environ = moved; /* for as long as the process lives */
}
