/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/installation.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/service.h"

#define OPENS "/usr/lib/ipybox/opens.so"
#define FORKS "/usr/lib/ipybox/forks.so"
#define HOME "/opt/ipybox/home"
#define CONSOLE "/usr/lib/ipybox/console"
#define NPM_SHELL "/opt/ipybox/bin/npm-shell"

enum { NAME_LENGTH_MAX = 32 };

static struct {
    bool known, native;
    char opens[PATH_MAX + NAME_LENGTH_MAX], forks[PATH_MAX + NAME_LENGTH_MAX],
        home[PATH_MAX + NAME_LENGTH_MAX], console[PATH_MAX + NAME_LENGTH_MAX],
        npm_shell[PATH_MAX + NAME_LENGTH_MAX];
} found;

static void look_beside_program(void)
{
    char folder[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
    found.known = true;
    if (n <= 0)
        return;
    folder[n] = '\0';
    *strrchr(folder, '/') = '\0';
    (void)snprintf(found.opens, sizeof found.opens, "%s/opens.so", folder);
    (void)snprintf(found.forks, sizeof found.forks, "%s/forks.so", folder);
    (void)snprintf(found.home, sizeof found.home, "%s/home", folder);
    (void)snprintf(found.console, sizeof found.console, "%s/console", folder);
    (void)snprintf(found.npm_shell, sizeof found.npm_shell, "%s/npm-shell", folder);
    found.native = may_access(found.opens, R_OK);
}

bool installation_is_native(void)
{
    if (!found.known)
        look_beside_program();
    return found.native;
}

const char *installation_opens(void)
{
    return installation_is_native() ? found.opens : OPENS;
}

const char *installation_forks(void)
{
    return installation_is_native() ? found.forks : FORKS;
}

const char *installation_home(void)
{
    return installation_is_native() ? found.home : HOME;
}

const char *installation_console(void)
{
    return installation_is_native() ? found.console : CONSOLE;
}

const char *installation_npm_shell(void)
{
    return installation_is_native() ? found.npm_shell : NPM_SHELL;
}
