/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/identity/native_runtime.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "entrypoint/identity/identity.h"

enum { OPEN_FOLDERS = 16 };

void native_runtime_base(char *ret)
{
    const char *given = getenv("XDG_RUNTIME_DIR");
    struct stat st;
    bool usable = given && *given == '/' && strlen(given) < IDENTITY_PATH_MAX / 2 &&
                  stat(given, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == getuid();
    if (usable)
        (void)snprintf(ret, IDENTITY_PATH_MAX, "%s/ipybox", given);
    else
        (void)snprintf(ret, IDENTITY_PATH_MAX, "/tmp/ipybox-%u", (unsigned)getuid());
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st, (void)kind, (void)where;
    (void)remove(path);
    return 0;
}

static void remove_directory(const char *path)
{
    (void)nftw(path, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static void sweep_ended(const char *base)
{
    DIR *dir = opendir(base);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char path[IDENTITY_PATH_MAX], *end;
        long pid = strtol(entry->d_name, &end, 10);
        if (pid <= 0 || *end || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
            continue;
        int n = snprintf(path, sizeof path, "%s/%s", base, entry->d_name);
        if (n > 0 && (size_t)n < sizeof path)
            remove_directory(path);
    }
    if (dir)
        (void)closedir(dir);
}

int native_runtime_dir(char *ret, struct err *e)
{
    char base[IDENTITY_PATH_MAX];
    native_runtime_base(base);
    int r = identity_private_dir(base, e);
    if (r < 0)
        return err_wrap(e,
                        "no usable directory for sockets (IPYBOX_RUNTIME_DIR names another one)");
    sweep_ended(base);
    int n = snprintf(ret, IDENTITY_PATH_MAX, "%s/%d", base, (int)getpid());
    if (n < 0 || n >= IDENTITY_PATH_MAX)
        return err_set(e, -ENAMETOOLONG, "%s: too long", base);
    return identity_private_dir(ret, e);
}

void native_runtime_remove(const char *path)
{
    char base[IDENTITY_PATH_MAX], own[IDENTITY_PATH_MAX + 16];
    native_runtime_base(base);
    (void)snprintf(own, sizeof own, "%s/%d", base, (int)getpid());
    if (path && strcmp(path, own) == 0)
        remove_directory(path);
}
