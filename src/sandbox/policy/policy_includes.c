/* SPDX-License-Identifier: Apache-2.0
 *
 * Is all that one policy allows of files allowed by another? Decided entry by entry, so that it is
 * true of every path, also of those that come later. Where the entries do not say, the answer is
 * no. */
#include <string.h>

#include "base/alloc.h"
#include "sandbox/paths/glob.h"
#include "sandbox/policy/policy_internal.h"

struct comparison {
    const struct policy *first, *next;
    struct err *e;
};

static bool has_entry(const struct policy *policy, enum policy_list list,
                      const struct policy_entry *entry)
{
    for (size_t i = 0; i < policy->entry_counts[list]; i++) {
        const struct policy_entry *other = &policy->entries[list][i];
        if (other->glob == entry->glob && strcmp(other->path, entry->path) == 0)
            return true;
    }
    return false;
}

/* The path, or the directory that a pattern begins in. Free it with xfree(). */
static char *root_of(const struct policy_entry *entry)
{
    size_t n = entry->glob ? glob_fixed(entry->path) : 0;
    return !entry->glob ? xstrdup(entry->path)
           : n > 1      ? xstrndup(entry->path, n - 1)
                        : xstrdup("/");
}

/* Where the first policy allows nothing anyway, nothing is taken away. */
static bool denies_nothing_new(const struct comparison *c, enum policy_list list,
                               const struct policy_entry *entry)
{
    if (has_entry(c->first, list, entry))
        return true;
    drop_str char *root = root_of(entry);
    return (list == LIST_DENY_READ ? policy_readable : policy_writable)(c->first, root) ==
           COVER_NONE;
}

/* An entry that allows is there still, or something that stands for all of it. What is read again
 * inside of what is denied goes by the depth of the entry, so only a whole cover will do there. */
static bool is_allowed_still(const struct comparison *c, enum policy_list list,
                             const struct policy_entry *entry)
{
    if (has_entry(c->next, list, entry))
        return true;
    drop_str char *root = root_of(entry);
    return list == LIST_ALLOW_READ ? policy_readable(c->next, root) == COVER_ALL
                                   : rules_match(&c->next->lists[list], root);
}

static int refuse_include(const struct comparison *c, const char *key, const char *entry)
{
    return err_set(c->e, -EBUSY,
                   "%s: %.120s: the running processes hold what this takes away; it takes a new "
                   "kernel: reset the session",
                   key, entry);
}

static int compare_list(const struct comparison *c, enum policy_list list, const char *key)
{
    bool denies = list == LIST_DENY_READ || list == LIST_DENY_WRITE;
    const struct policy *from = denies ? c->next : c->first;
    for (size_t i = 0; i < from->entry_counts[list]; i++) {
        const struct policy_entry *entry = &from->entries[list][i];
        if (!(denies ? denies_nothing_new : is_allowed_still)(c, list, entry))
            return refuse_include(c, key, entry->written);
    }
    return 0;
}

int policy_includes(const struct policy *next, const struct policy *first, struct err *e)
{
    const struct comparison c = {.first = first, .next = next, .e = e};
    int r = compare_list(&c, LIST_DENY_READ, "filesystem.denyRead");
    if (r == 0)
        r = compare_list(&c, LIST_ALLOW_READ, "filesystem.allowRead without");
    if (r == 0)
        r = compare_list(&c, LIST_ALLOW_WRITE, "filesystem.allowWrite without");
    if (r == 0)
        r = compare_list(&c, LIST_DENY_WRITE, "filesystem.denyWrite");
    if (r == 0 && first->allow_git_config && !next->allow_git_config)
        r = refuse_include(&c, "filesystem.allowGitConfig", "false");
    if (r == 0 && next->search_depth > first->search_depth)
        r = refuse_include(&c, "mandatoryDenySearchDepth", "more than before");
    return r;
}
