/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "sandbox/paths/glob.h"
#include "sandbox/paths/globsearch.h"
#include "sandbox/policy/policy_internal.h"

enum { PATHS_SHOWN = 100 }; /* of the mandatory ones */

static bool explained_path_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static int is_matched(const struct policy_entry *entry)
{
    if (!entry->glob)
        return explained_path_exists(entry->path);
    size_t n = glob_fixed(entry->path);
    drop_str char *dir = n > 1 ? xstrndup(entry->path, n - 1) : xstrdup("/");
    return glob_search(entry->path, dir, dir);
}

static void explain_entry(const struct policy_entry *entry, struct buf *text)
{
    (void)buf_addf(text, "  %s", entry->written);
    if (strcmp(entry->written, entry->path) != 0)
        (void)buf_addf(text, " = %s", entry->path);
    int matched = is_matched(entry);
    if (entry->doubtful)
        (void)buf_adds(text, " (a link that sandboxed code may have made is not followed: name its "
                             "target)");
    else if (matched == 0)
        (void)buf_adds(text, " (nothing there now; it holds for what comes)");
    else if (matched < 0)
        (void)buf_addf(text, " (too much to look at, or not readable: %s)", strerror(-matched));
    (void)buf_addc(text, '\n');
}

static void explain_list(const struct policy *policy, enum policy_list list, const char *heading,
                         struct buf *text)
{
    if (policy->entry_counts[list] == 0)
        return;
    (void)buf_addf(text, "%s\n", heading);
    for (size_t i = 0; i < policy->entry_counts[list]; i++)
        explain_entry(&policy->entries[list][i], text);
}

static void explain_paths(const struct pathset *set, struct buf *text)
{
    const char **paths = pathset_sorted(set);
    for (size_t i = 0; i < set->count && i < PATHS_SHOWN; i++)
        (void)buf_addf(text, "  %s\n", *paths[i] ? paths[i] : "/");
    if (set->count > PATHS_SHOWN)
        (void)buf_addf(text, "  and %zu more\n", set->count - PATHS_SHOWN);
    xfree(paths);
}

static void explain_files(const struct policy *policy, struct buf *text)
{
    if (!policy_denies_reads(policy))
        (void)buf_adds(text, "Everything may be read.\n");
    explain_list(policy, LIST_DENY_READ,
                 "Everything may be read, except (nor may these be written):", text);
    explain_list(policy, LIST_ALLOW_READ, "In these, what is not denied deeper may be read:", text);
    if (policy->entry_counts[LIST_ALLOW_WRITE] == 0)
        (void)buf_adds(text, "The settings allow nothing to be written.\n");
    explain_list(policy, LIST_ALLOW_WRITE, "Nothing may be written, except:", text);
    (void)buf_adds(text, "Always may be written: devices as /dev/null and terminals, /dev/shm, "
                         "/tmp/claude, ~/.npm/_logs, ~/.claude/debug\n");
    if (policy->own.at.count > 0)
        (void)buf_adds(text, "Read and written, whatever the rules say:\n");
    explain_paths(&policy->own.at, text);
    if (policy->hidden.at.count > 0)
        (void)buf_adds(text, "Neither read nor written, whatever the rules say:\n");
    explain_paths(&policy->hidden.at, text);
    if (policy->kept.at.count > 0)
        (void)buf_adds(text, "Not written, whatever the rules say:\n");
    explain_paths(&policy->kept.at, text);
    explain_list(policy, LIST_DENY_WRITE, "Not to be written even there:", text);
    (void)buf_adds(text, "Never written, because programs outside read orders in them:\n");
    explain_paths(&policy->mandatory.at, text);
}

static void explain_words(const struct words *words, const char *heading, struct buf *text)
{
    if (words->count == 0)
        return;
    (void)buf_addf(text, "%s\n", heading);
    for (size_t i = 0; i < words->count; i++)
        (void)buf_addf(text, "  %s\n", words->items[i]);
}

/* An allowed name that is denied too can never be reached. */
static void explain_useless(const struct policy *policy, struct buf *text)
{
    for (size_t i = 0; i < policy->allowed_count; i++)
        for (size_t j = 0; j < policy->denied_count; j++) {
            const struct domain *allowed = &policy->allowed[i], *denied = &policy->denied[j];
            bool same = denied->kind == DOMAIN_ANY || denied->kind == allowed->kind;
            same = same && (denied->kind == DOMAIN_ANY || strcmp(denied->name, allowed->name) == 0);
            same = same && memcmp(&denied->address, &allowed->address, sizeof denied->address) == 0;
            if (same && (denied->port == 0 || denied->port == allowed->port))
                (void)buf_addf(text, "  %s is never reached: %s is denied\n",
                               policy->domains.items[i], policy->denied_domains.items[j]);
        }
}

static void explain_network(const struct policy *policy, struct buf *text)
{
    if (policy->http_port != 0 || policy->socks_port != 0)
        (void)buf_addf(text,
                       "Only the proxies on the loopback ports %u (HTTP) and %u (SOCKS) may be "
                       "connected to; 0 is none. They judge the names, the lists below do not.\n",
                       policy->http_port, policy->socks_port);
    if (policy->allowed_count == 0)
        (void)buf_adds(text, "No host may be connected to.\n");
    explain_words(&policy->domains, "No host may be connected to, except:", text);
    explain_words(&policy->denied_domains, "Never these:", text);
    explain_useless(policy, text);
    (void)buf_adds(text, policy->may_bind ? "Servers may listen on loopback addresses.\n"
                                          : "Servers may not listen.\n");
    if (policy->all_unix)
        (void)buf_adds(text, "Every Unix socket may be connected to that may be read.\n");
    else if (!policy_has_unix(policy))
        (void)buf_adds(text, "No Unix socket may be connected to.\n");
    explain_list(policy, LIST_UNIX, "Unix sockets that may be connected to:", text);
}

void policy_explain(const struct policy *policy, struct buf *text)
{
    (void)buf_addf(text, "Working directory %s, home directory %s\n", policy->cwd,
                   policy->home ? policy->home : "(none)");
    explain_files(policy, text);
    explain_network(policy, text);
    for (size_t i = 0; i + 1 < policy->ignored.count; i += 2)
        (void)buf_addf(text, "Refusals of %s with %s in the path are not logged.\n",
                       policy->ignored.items[i], policy->ignored.items[i + 1]);
    explain_words(&policy->without_effect, "Set, and without effect here:", text);
}
