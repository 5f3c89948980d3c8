/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings of a sandbox, and after a NUL the paths and hosts, one a line, that a policy made of
 * them is asked about: whatever they are, its answers agree with each other. The working directory
 * and the home are not there. */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "sandbox/policy/pathname.h"
#include "sandbox/policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* What holds for a path holds for its directory's cover. */
static void ask_about_path(const struct policy *policy, const char *path)
{
    bool reads = policy_may_read(policy, path), writes = policy_may_write(policy, path);
    check(reads || !writes);
    check(reads || policy_readable(policy, path) != COVER_ALL);
    check(writes || policy_writable(policy, path) != COVER_ALL);
    check(!reads || policy_readable(policy, path) != COVER_NONE);
    check(!writes || policy_writable(policy, path) != COVER_NONE);
    (void)policy_may_connect_unix(policy, path);
    char dir[PATH_MAX];
    for (size_t n = strlen(path); n > 1;) {
        while (path[--n] != '/')
            ;
        memcpy(dir, path, n);
        memcpy(dir + n, n == 0 ? "/" : "", n == 0 ? 2 : 1);
        enum policy_cover readable = policy_readable(policy, dir);
        enum policy_cover writable = policy_writable(policy, dir);
        check(readable == COVER_SOME || reads == (readable == COVER_ALL));
        check(writable == COVER_SOME || writes == (writable == COVER_ALL));
        check(readable == COVER_ALL || writable != COVER_ALL);
    }
}

static void ask(const struct policy *policy, char *lines)
{
    char path[PATH_MAX];
    for (char *at = lines; *at;) {
        size_t n = strcspn(at, "\n");
        char *next = at + n + (at[n] == '\n');
        at[n] = '\0';
        if (path_clean("/cwd", at, path) == 0)
            ask_about_path(policy, path);
        if (policy_may_connect(policy, at, 443))
            check(policy_has_network(policy));
        (void)policy_ignores(policy, at, at);
        at = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    drop_str char *text = xcalloc(1, size + 2);
    if (size > 0)
        memcpy(text, data, size);
    size_t n = strlen(text);
    struct sandbox_settings *settings = NULL;
    struct err e = ERR_NONE;
    if (sandbox_settings_parse(text, n, &settings, &e) < 0) {
        check(*e.msg != '\0' && e.code < 0 && !settings);
        return 0;
    }
    const char *const dirs[] = {"/cwd/own", NULL};
    struct policy_place place = {.cwd = "/cwd", .home = "/cwd/home", .private_dirs = dirs};
    struct policy *policy = NULL;
    if (policy_new(settings, &place, &policy, &e) == 0)
        ask(policy, text + n + 1);
    else
        check(*e.msg != '\0');
    (void)policy_free(policy);
    (void)sandbox_settings_free(settings);
    return 0;
}
