/* SPDX-License-Identifier: Apache-2.0
 *
 * A working directory and a home that are thrown away, and policies in them. */
#ifndef POLICYTEST_H
#define POLICYTEST_H

#include <acutest.h>

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/policy/policy.h"

static char top[PATH_MAX]; /* canonical; cwd and home are in it */
static char full_names[8][2 * PATH_MAX];

/* "@w/x" is in the working directory, "@h/x" in the home, "@/x" beside both; good for a while. */
static const char *full(const char *name)
{
    static int next;
    char *text = full_names[next++ % 8];
    if (*name != '@')
        (void)snprintf(text, sizeof full_names[0], "%s", name);
    else
        (void)snprintf(text, sizeof full_names[0], "%s%s%s", top,
                       name[1] == 'w'   ? "/place"
                       : name[1] == 'h' ? "/home"
                                        : "",
                       name + 1 + (name[1] == 'w' || name[1] == 'h'));
    return text;
}

static void make_dir(const char *name)
{
    char path[2 * PATH_MAX];
    (void)snprintf(path, sizeof path, "%s", full(name));
    for (char *at = path + 1; *at; at++)
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(path, 0755);
            *at = '/';
        }
    TEST_ASSERT(mkdir(path, 0755) == 0 || errno == EEXIST);
}

static inline void make_file(const char *name)
{
    int fd = open(full(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    TEST_ASSERT(fd >= 0);
    (void)close(fd);
}

static inline void make_link(const char *name, const char *target)
{
    TEST_ASSERT(symlink(full(target), full(name)) == 0);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

static void remove_place(void)
{
    (void)nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_place(void)
{
    char text[] = "/tmp/ipybox-policy-XXXXXX";
    TEST_ASSERT(mkdtemp(text) && realpath(text, top));
    (void)atexit(remove_place);
    make_dir("@w");
    make_dir("@h");
}

/* The members of "filesystem" beside the three that are needed, each a JSON list. */
struct lists {
    const char *deny_read, *allow_read, *allow_write, *deny_write, *more, *network, *top;
};

static struct sandbox_settings *parse(const struct lists *lists)
{
    struct sandbox_settings *settings = NULL;
    struct err e = ERR_NONE;
    drop_str char *text = xasprintf(
        "{\"network\":{%s},\"filesystem\":{\"denyRead\":%s,\"allowRead\":%s,\"allowWrite\":%s,"
        "\"denyWrite\":%s%s}%s}",
        lists->network ? lists->network : "\"allowedDomains\":[],\"deniedDomains\":[]",
        lists->deny_read ? lists->deny_read : "[]", lists->allow_read ? lists->allow_read : "[]",
        lists->allow_write ? lists->allow_write : "[\".\"]",
        lists->deny_write ? lists->deny_write : "[]", lists->more ? lists->more : "",
        lists->top ? lists->top : "");
    TEST_ASSERT_(sandbox_settings_parse(text, strlen(text), &settings, &e) == 0, "%s", e.msg);
    return settings;
}

static struct policy *policy_of_place(const struct lists *lists, const struct policy_place *more)
{
    drop_str char *cwd = xstrdup(full("@w")), *home = xstrdup(full("@h"));
    struct policy_place place = *more;
    place.cwd = cwd;
    place.home = home;
    struct sandbox_settings *settings = parse(lists);
    struct policy *policy = NULL;
    struct err e = ERR_NONE;
    TEST_ASSERT_(policy_new(settings, &place, &policy, &e) == 0, "%s", e.msg);
    (void)sandbox_settings_free(settings);
    return policy;
}

#define POLICY(...) policy_of_place(&(struct lists){__VA_ARGS__}, &(struct policy_place){0})

#define READS(policy, name) TEST_CHECK_(policy_may_read(policy, full(name)), "%s", name)
#define READS_NOT(policy, name) TEST_CHECK_(!policy_may_read(policy, full(name)), "%s", name)
#define WRITES(policy, name) TEST_CHECK_(policy_may_write(policy, full(name)), "%s", name)
#define WRITES_NOT(policy, name) TEST_CHECK_(!policy_may_write(policy, full(name)), "%s", name)
#define PINS(policy, name) TEST_CHECK_(policy_pins(policy, full(name)), "%s", name)
#define PINS_NOT(policy, name) TEST_CHECK_(!policy_pins(policy, full(name)), "%s", name)

#endif
