/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include "sandbox/policy_parts.h"

static const char *const headings[LIST__COUNT] = {
    [LIST_DENY_READ] = "may not be read:",
    [LIST_ALLOW_READ] = "may be read nevertheless:",
    [LIST_ALLOW_WRITE] = "may be written:",
    [LIST_DENY_WRITE] = "may not be written:",
    [LIST_UNIX] = "Unix sockets that may be connected to:",
};

void policy_explain(const struct policy *policy, struct buf *text)
{
    for (int i = 0; i < LIST__COUNT; i++) {
        (void)buf_addf(text, "%s\n", headings[i]);
        for (size_t j = 0; j < policy->entry_counts[i]; j++) {
            const struct policy_entry *entry = &policy->entries[i][j];
            (void)buf_addf(text, "  %s\n", entry->path);
        }
    }
}
