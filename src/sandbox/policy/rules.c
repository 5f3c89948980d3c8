/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/policy/rules.h"

#include <string.h>

#include "base/alloc.h"
#include "sandbox/paths/glob.h"

void rules_done(struct rules *rules)
{
    pathset_done(&rules->at);
    pathset_done(&rules->above);
    for (size_t i = 0; i < rules->glob_count; i++)
        xfree(rules->globs[i]);
    xfree(rules->globs);
    xfree(rules->fixed);
    *rules = (struct rules){0};
}

void rules_add(struct rules *rules, const char *path)
{
    if (pathset_add(&rules->at, path))
        pathset_add_above(&rules->above, path);
}

void rules_add_glob(struct rules *rules, const char *pattern)
{
    size_t n = rules->glob_count + 1;
    rules->globs = xrealloc(rules->globs, n * sizeof *rules->globs);
    rules->fixed = xrealloc(rules->fixed, n * sizeof *rules->fixed);
    rules->globs[n - 1] = xstrdup(pattern);
    rules->fixed[n - 1] = glob_fixed(pattern);
    rules->glob_count = n;
}

bool rules_empty(const struct rules *rules)
{
    return rules->at.count == 0 && rules->glob_count == 0;
}

static bool is_near(const struct rules *rules, size_t i, const char *path)
{
    return strncmp(path, rules->globs[i], rules->fixed[i]) == 0;
}

bool rules_match(const struct rules *rules, const char *path)
{
    if (pathset_longest(&rules->at, path) >= 0)
        return true;
    for (size_t i = 0; i < rules->glob_count; i++)
        if (is_near(rules, i, path) && glob_covers(rules->globs[i], path))
            return true;
    return false;
}

static ssize_t glob_deepest(const char *pattern, const char *path)
{
    for (size_t n = strlen(path); n > 0; n--)
        if ((path[n] == '\0' || path[n] == '/') && glob_matches(pattern, path, n))
            return (ssize_t)n;
    return -1;
}

ssize_t rules_deepest(const struct rules *rules, const char *path)
{
    ssize_t deepest = pathset_longest(&rules->at, path);
    for (size_t i = 0; i < rules->glob_count; i++) {
        ssize_t n = is_near(rules, i, path) ? glob_deepest(rules->globs[i], path) : -1;
        deepest = n > deepest ? n : deepest;
    }
    return deepest;
}

bool rules_below(const struct rules *rules, const char *dir)
{
    if (pathset_has(&rules->above, dir))
        return true;
    for (size_t i = 0; i < rules->glob_count; i++)
        if (glob_reaches_below(rules->globs[i], dir))
            return true;
    return false;
}
