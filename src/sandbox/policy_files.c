/* SPDX-License-Identifier: Apache-2.0
 *
 * A denied path that lies deeper than every allowed one is denied, whatever the order: a file may
 * be denied inside a directory that is allowed inside a directory that is denied. */
#include "sandbox/policy_parts.h"

static const struct rules *list(const struct policy *policy, enum policy_list which)
{
    return &policy->lists[which];
}

static bool reads(const struct policy *policy, const char *path)
{
    if (!rules_match(list(policy, LIST_DENY_READ), path))
        return true;
    if (rules_empty(list(policy, LIST_ALLOW_READ)))
        return false;
    ssize_t allowed = rules_deepest(list(policy, LIST_ALLOW_READ), path);
    return allowed >= 0 && allowed >= rules_deepest(list(policy, LIST_DENY_READ), path);
}

bool policy_may_read(const struct policy *policy, const char *path)
{
    return reads(policy, path) || rules_match(&policy->own, path);
}

static bool is_write_denied(const struct policy *policy, const char *path)
{
    return rules_match(list(policy, LIST_DENY_WRITE), path) ||
           rules_match(&policy->mandatory, path);
}

bool policy_may_write(const struct policy *policy, const char *path)
{
    if (rules_match(&policy->own, path))
        return true;
    return rules_match(list(policy, LIST_ALLOW_WRITE), path) && !is_write_denied(policy, path) &&
           reads(policy, path);
}

/* --- covers ----------------------------------------------------------------------------------- */

static bool is_own_below(const struct policy *policy, const char *dir)
{
    return rules_below(&policy->own, dir);
}

enum policy_cover policy_readable(const struct policy *policy, const char *dir)
{
    if (rules_match(&policy->own, dir))
        return COVER_ALL;
    if (reads(policy, dir))
        return rules_below(list(policy, LIST_DENY_READ), dir) ? COVER_SOME : COVER_ALL;
    bool some = rules_below(list(policy, LIST_ALLOW_READ), dir) || is_own_below(policy, dir);
    return some ? COVER_SOME : COVER_NONE;
}

static bool is_write_denied_below(const struct policy *policy, const char *dir)
{
    return rules_below(list(policy, LIST_DENY_WRITE), dir) || rules_below(&policy->mandatory, dir);
}

enum policy_cover policy_writable(const struct policy *policy, const char *dir)
{
    if (rules_match(&policy->own, dir))
        return COVER_ALL;
    if (is_own_below(policy, dir))
        return COVER_SOME;
    if (is_write_denied(policy, dir))
        return COVER_NONE;
    enum policy_cover readable = policy_readable(policy, dir);
    if (readable == COVER_NONE)
        return COVER_NONE;
    if (!rules_match(list(policy, LIST_ALLOW_WRITE), dir))
        return rules_below(list(policy, LIST_ALLOW_WRITE), dir) ? COVER_SOME : COVER_NONE;
    return readable == COVER_ALL && !is_write_denied_below(policy, dir) ? COVER_ALL : COVER_SOME;
}

bool policy_denies_reads(const struct policy *policy)
{
    return !rules_empty(list(policy, LIST_DENY_READ));
}

const struct words *policy_write_roots(const struct policy *policy)
{
    return &policy->write_roots;
}

/* --- pins ------------------------------------------------------------------------------------- */

bool policy_pins(const struct policy *policy, const char *path)
{
    return pathset_has(&policy->pinned, path) ||
           pathset_has(&list(policy, LIST_DENY_READ)->above, path) ||
           pathset_has(&list(policy, LIST_DENY_WRITE)->above, path) ||
           pathset_has(&policy->mandatory.above, path);
}
