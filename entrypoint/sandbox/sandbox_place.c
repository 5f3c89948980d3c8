/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/sandbox/sandbox_place.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/service.h"
#include "entrypoint/installation.h"

enum { TMP_MODE = 01777 };

static bool make_tmp(void)
{
    struct stat st;
    if (mkdir(SANDBOX_TMP, TMP_MODE) == 0)
        (void)chmod(SANDBOX_TMP, TMP_MODE); /* the umask has taken some of it */
    return lstat(SANDBOX_TMP, &st) == 0 && S_ISDIR(st.st_mode) && may_access(SANDBOX_TMP, W_OK);
}

void sandbox_variables(const struct policy *policy, const struct net_proxies *proxies,
                       struct words *ret)
{
    *ret = (struct words){0};
    words_add(ret, "SANDBOX_RUNTIME=1");
    if (make_tmp())
        words_add(ret, "TMPDIR=" SANDBOX_TMP);
    net_environment(policy, proxies, ret);
}

/* The dynamic linker complains of what it cannot open on the standard error of every program. */
const char *sandbox_preload(const struct guard *guard)
{
    char path[PATH_MAX];
    bool there = guard_takes_marks(guard) && realpath(installation_opens(), path) &&
                 may_access(path, R_OK) && policy_may_read(guard_policy(guard), path);
    return there ? installation_opens() : NULL;
}

const char *sandbox_home(void)
{
    const char *home = getenv("HOME");
    return home && *home == '/' ? home : "/tmp";
}
