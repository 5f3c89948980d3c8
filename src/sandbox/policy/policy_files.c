/* SPDX-License-Identifier: Apache-2.0
 *
 * A denied path that lies deeper than every allowed one is denied, whatever the order: a file may
 * be denied inside a directory that is allowed inside a directory that is denied. */
#include <string.h>

#include "sandbox/paths/glob.h"
#include "sandbox/paths/globsearch.h"
#include "sandbox/policy/policy_internal.h"

static const struct rules *list_closed_files(const struct policy *policy, enum policy_list which)
{
    return &policy->lists[which];
}

static bool policy_reads(const struct policy *policy, const char *path)
{
    if (!rules_match(list_closed_files(policy, LIST_DENY_READ), path))
        return true;
    if (rules_empty(list_closed_files(policy, LIST_ALLOW_READ)))
        return false;
    ssize_t allowed = rules_deepest(list_closed_files(policy, LIST_ALLOW_READ), path);
    return allowed >= 0 &&
           allowed >= rules_deepest(list_closed_files(policy, LIST_DENY_READ), path);
}

/* What the server keeps apart, whatever the settings say. What it gave the child inside of that
 * lies deeper. */
static bool is_closed_file(const struct policy *policy, const struct rules *closed,
                           const char *path)
{
    const ssize_t at = rules_deepest(closed, path);
    return at >= 0 && rules_deepest(&policy->own, path) <= at;
}

bool policy_is_hidden(const struct policy *policy, const char *path)
{
    return is_closed_file(policy, &policy->hidden, path);
}

static bool is_fixed(const struct policy *policy, const char *path)
{
    return policy_is_hidden(policy, path) || is_closed_file(policy, &policy->kept, path);
}

bool policy_hides_dirs(const struct policy *policy)
{
    return policy->hides_dirs;
}

bool policy_hides_object(const struct policy *policy, const struct stat *st)
{
    for (size_t i = 0; i < policy->hidden_file_count; i++)
        if (policy->hidden_files[i].device == st->st_dev &&
            policy->hidden_files[i].inode == st->st_ino)
            return true;
    return false;
}

bool policy_may_read(const struct policy *policy, const char *path)
{
    if (policy_is_hidden(policy, path))
        return false;
    return policy_reads(policy, path) || rules_match(&policy->own, path);
}

static bool is_write_denied(const struct policy *policy, const char *path)
{
    return rules_match(list_closed_files(policy, LIST_DENY_WRITE), path) ||
           rules_match(&policy->mandatory, path);
}

bool policy_may_write(const struct policy *policy, const char *path)
{
    if (is_fixed(policy, path))
        return false;
    if (rules_match(&policy->own, path))
        return true;
    return rules_match(list_closed_files(policy, LIST_ALLOW_WRITE), path) &&
           !is_write_denied(policy, path) && policy_reads(policy, path);
}

/* --- covers ----------------------------------------------------------------------------------- */

static bool is_own_below(const struct policy *policy, const char *dir)
{
    return rules_below(&policy->own, dir);
}

static enum policy_cover settings_readable(const struct policy *policy, const char *dir)
{
    if (rules_match(&policy->own, dir))
        return COVER_ALL;
    if (policy_reads(policy, dir))
        return rules_below(list_closed_files(policy, LIST_DENY_READ), dir) ? COVER_SOME : COVER_ALL;
    bool some =
        rules_below(list_closed_files(policy, LIST_ALLOW_READ), dir) || is_own_below(policy, dir);
    return some ? COVER_SOME : COVER_NONE;
}

enum policy_cover policy_readable(const struct policy *policy, const char *dir)
{
    if (policy_is_hidden(policy, dir))
        return is_own_below(policy, dir) ? COVER_SOME : COVER_NONE;
    enum policy_cover cover = settings_readable(policy, dir);
    return cover == COVER_ALL && rules_below(&policy->hidden, dir) ? COVER_SOME : cover;
}

static bool is_write_denied_below(const struct policy *policy, const char *dir)
{
    return rules_below(list_closed_files(policy, LIST_DENY_WRITE), dir) ||
           rules_below(&policy->mandatory, dir);
}

static enum policy_cover settings_writable(const struct policy *policy, const char *dir)
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
    if (!rules_match(list_closed_files(policy, LIST_ALLOW_WRITE), dir))
        return rules_below(list_closed_files(policy, LIST_ALLOW_WRITE), dir) ? COVER_SOME
                                                                             : COVER_NONE;
    return readable == COVER_ALL && !is_write_denied_below(policy, dir) ? COVER_ALL : COVER_SOME;
}

enum policy_cover policy_writable(const struct policy *policy, const char *dir)
{
    if (is_fixed(policy, dir))
        return is_own_below(policy, dir) ? COVER_SOME : COVER_NONE;
    enum policy_cover cover = settings_writable(policy, dir);
    bool below = rules_below(&policy->hidden, dir) || rules_below(&policy->kept, dir);
    return cover == COVER_ALL && below ? COVER_SOME : cover;
}

bool policy_denies_reads(const struct policy *policy)
{
    return !rules_empty(list_closed_files(policy, LIST_DENY_READ)) || !rules_empty(&policy->hidden);
}

const struct words *policy_write_roots(const struct policy *policy)
{
    return &policy->write_roots;
}

/* --- pins ------------------------------------------------------------------------------------- */

/* The directories on the way to a pattern are pinned, and those in which it matches something now;
 * where nobody can tell, too. What it would match in a directory that has been moved keeps to the
 * pattern, or was named by it no more when it was made. */
static bool glob_pins(const struct rules *rules, const char *path)
{
    size_t n = strlen(path);
    for (size_t i = 0; i < rules->glob_count; i++) {
        const char *glob = rules->globs[i];
        if (n < rules->fixed[i] && strncmp(glob, path, n) == 0 && (n == 1 || glob[n] == '/'))
            return true;
        if (glob_reaches_below(glob, path) && glob_search(glob, path, path) != 0)
            return true;
    }
    return false;
}

bool policy_gives(const struct policy *policy, const char *path)
{
    return pathset_has(&policy->given, path);
}

bool policy_pins(const struct policy *policy, const char *path)
{
    const struct rules *reads_not = list_closed_files(policy, LIST_DENY_READ);
    const struct rules *writes_not = list_closed_files(policy, LIST_DENY_WRITE);
    return pathset_has(&policy->pinned, path) || policy_gives(policy, path) ||
           pathset_has(&reads_not->above, path) || pathset_has(&writes_not->above, path) ||
           pathset_has(&policy->mandatory.above, path) ||
           pathset_has(&policy->hidden.above, path) || pathset_has(&policy->kept.above, path) ||
           glob_pins(reads_not, path) || glob_pins(writes_not, path);
}

/* A name that the pattern denies at the new place may be made at the old one, also while we look.
 * So where it reaches below the new place alone, nobody needs to look. */
static bool glob_meets(const struct rules *rules, const char *from, const char *to)
{
    for (size_t i = 0; i < rules->glob_count; i++) {
        const char *glob = rules->globs[i];
        if (glob_reaches_below(glob, to) &&
            (!glob_reaches_below(glob, from) || glob_search(glob, from, to) != 0))
            return true;
    }
    return false;
}

bool policy_may_move_dir(const struct policy *policy, const char *from, const char *to)
{
    return !glob_meets(list_closed_files(policy, LIST_DENY_READ), from, to) &&
           !glob_meets(list_closed_files(policy, LIST_DENY_WRITE), from, to);
}
