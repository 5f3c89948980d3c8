/* SPDX-License-Identifier: Apache-2.0 */
#include "session/packages/package_look.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { VERSION_MAX = 16, FOLDERS = 4 };

struct python_place {
    char version[VERSION_MAX]; /* "3.13", or "" */
    char folders[FOLDERS][PATH_MAX];
};

/* "/usr/bin/python3.13" is what python3 leads to; in a virtual environment its folder counts. One
 * that is named python3 itself may be a script that starts any: nobody knows. */
static void read_version(const char *python, struct python_place *ret)
{
    char real[PATH_MAX];
    const char *name = realpath(python, real) ? strrchr(real, '/') : NULL;
    static const char start[] = "/python";
    const char *version =
        name && strncmp(name, start, sizeof start - 1) == 0 ? name + sizeof start - 1 : "";
    size_t n = strspn(version, "0123456789.");
    if (n < sizeof ret->version && version[n] == '\0' && strchr(version, '.'))
        (void)snprintf(ret->version, sizeof ret->version, "%s", version);
}

static const char *environment_value(const char *const *envp, const char *name)
{
    size_t n = strlen(name);
    for (; envp && *envp; envp++)
        if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
            return *envp + n + 1;
    return NULL;
}

static void find_folders(const struct packages_config *config, struct python_place *at)
{
    const char *slash = strrchr(config->python, '/');
    int bin = slash ? (int)(slash - config->python) : 0;
    const char *base = environment_value(config->envp, "PYTHONUSERBASE");
    const char *home = environment_value(config->envp, "HOME");
    (void)snprintf(at->folders[0], PATH_MAX, "%.*s/../lib/python%s/site-packages", bin,
                   config->python, at->version);
    (void)snprintf(at->folders[1], PATH_MAX, "/usr/local/lib/python%s/dist-packages", at->version);
    (void)snprintf(at->folders[2], PATH_MAX, "/usr/lib/python3/dist-packages");
    (void)snprintf(at->folders[3], PATH_MAX, "%s%s/lib/python%s/site-packages",
                   base   ? base
                   : home ? home
                          : "",
                   base ? "" : "/.local", at->version);
}

static bool is_installed(const struct python_place *at, const char *package)
{
    char path[PATH_MAX + 32];
    struct stat st;
    for (int i = 0; i < FOLDERS; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", at->folders[i], package);
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            return true;
    }
    return false;
}

static void put_python_about(struct buf *out, const struct python_place *at)
{
    static const char *const wanted[] = {"numpy", "pandas",  "polars",   "matplotlib",
                                         "scipy", "sklearn", "requests", "PIL"};
    size_t n[2] = {0};
    (void)buf_addf(out, "Python %s. ", at->version);
    for (int installed = 1; installed >= 0; installed--) {
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            if (is_installed(at, wanted[i]) == (bool)installed)
                (void)buf_addf(out, "%s%s",
                               n[installed]++ ? ", "
                               : installed    ? "Installed: "
                                              : "Not installed: ",
                               wanted[i]);
        (void)buf_adds(out, n[installed] ? ". " : "");
    }
}

void packages_put_about(struct buf *out, const struct packages_config *config)
{
    struct python_place at = {.version = ""};
    if (config->python)
        read_version(config->python, &at);
    if (*at.version) {
        find_folders(config, &at);
        put_python_about(out, &at);
    }
    (void)buf_adds(out, "install_package adds packages.");
}
