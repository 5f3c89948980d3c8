/* SPDX-License-Identifier: Apache-2.0
 *
 * What it prints is for people: `ok` and `FAILED` as in doctor.c, and `note` for what the walls of
 * kernels keep from code in cells, while nothing else does. */
#include "entrypoint/diagnose/doctor_box.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/service.h"
#include "entrypoint/options.h"

static const char *const runtime_dirs[] = {"/run/ipybox/*", "/tmp/ipybox/*", "/dev/shm/ipybox/*"};

enum { RUNTIME_DIRS = sizeof runtime_dirs / sizeof *runtime_dirs, OTHERS = S_IWGRP | S_IWOTH };

static void tell(bool well, const char *what, const char *how)
{
    (void)dprintf(STDOUT_FILENO, "%-6s %s: %s\n", well ? "ok" : "FAILED", what, how);
}

/* --- programs and settings of `docker exec` --------------------------------------------------- */

bool doctor_can_plant(const char *path)
{
    struct stat st;
    if (*path != '/')
        return true;
    drop_str char *dir = xstrdup(path);
    for (;;) {
        bool there = stat(*dir ? dir : "/", &st) == 0;
        if (there && (st.st_uid != 0 || (st.st_mode & OTHERS)))
            return true;
        char *slash = strrchr(dir, '/');
        if (!slash)
            return false;
        *slash = '\0';
    }
}

static int look_at_path(void)
{
    const char *value = getenv("PATH");
    drop_str char *path = xstrdup(value ? value : "");
    char *rest = path, *dir;
    while ((dir = strsep(&rest, ":"))) {
        if (!doctor_can_plant(dir))
            continue;
        tell(false, "plant a program on PATH", *dir ? dir : "the working directory");
        return 1;
    }
    tell(true, "plant a program on PATH", "every folder of it is root's");
    return 0;
}

/* Of others than root it is their own, and their files are read as them. */
static int look_at_home(void)
{
    const char *home = getenv("HOME");
    if (geteuid() != 0)
        return 0;
    bool open = home && doctor_can_plant(home);
    tell(!open, "plant settings in the home of root", home ? home : "there is none");
    return open;
}

/* --- what lies about -------------------------------------------------------------------------- */

static bool is_open(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & OTHERS);
}

static int look_at_runtime_dirs(void)
{
    static const char what[] = "write in the runtime directory";
    for (int i = 0; i < RUNTIME_DIRS; i++) {
        glob_t found = {0};
        bool hit = false;
        if (glob(runtime_dirs[i], GLOB_NOSORT, NULL, &found) == 0) {
            for (size_t n = 0; !hit && n < found.gl_pathc; n++)
                if ((hit = is_open(found.gl_pathv[n])))
                    tell(false, what, found.gl_pathv[n]);
        }
        globfree(&found);
        if (hit)
            return 1;
    }
    tell(true, what, "there is none");
    return 0;
}

static void look_at_tokens(void)
{
    const char *name;
    for (size_t i = 0; (name = options_secret(i)); i++) {
        struct stat st;
        drop_str char *variable = xasprintf("%s_FILE", name);
        const char *path = getenv(variable);
        if (!path || !*path || stat(path, &st) < 0)
            continue;
        bool roots = st.st_uid == 0 && !(st.st_mode & (S_IRGRP | S_IROTH));
        (void)dprintf(
            STDOUT_FILENO, "%-6s read the file of %s: %s: %s\n", roots ? "ok" : "note", variable,
            path, roots ? "it is root's" : "its mode is open, and the walls of kernels hide it");
    }
}

int doctor_start(void)
{
    look_at_tokens();
    return look_at_path() + look_at_home();
}

int doctor_box(void)
{
    return look_at_runtime_dirs();
}
