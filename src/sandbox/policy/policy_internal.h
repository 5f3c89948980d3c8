/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/policy/policy_internal.h - what a policy is made of. Private to policy*.c. */
#ifndef SANDBOX_POLICY_POLICY_INTERNAL_H
#define SANDBOX_POLICY_POLICY_INTERNAL_H

#include "sandbox/policy/domains.h"
#include "sandbox/policy/policy.h"
#include "sandbox/policy/rules.h"

enum policy_list {
    LIST_DENY_READ,
    LIST_ALLOW_READ,
    LIST_ALLOW_WRITE,
    LIST_DENY_WRITE,
    LIST_UNIX,
    LIST__COUNT
};

struct policy_entry { /* of a list, for people */
    char *written;
    char *path; /* what it became: canonical, maybe a pattern */
    bool glob;
    bool doubtful; /* a link that sandboxed code may have made: it is not followed */
};

struct policy_object {
    dev_t device;
    ino_t inode;
};

struct policy {
    bool walls; /* there are no settings */
    bool distrusts_cwd;
    struct rules lists[LIST__COUNT];
    struct rules mandatory; /* no setting allows it to be written; in any case */
    struct rules own;       /* private directories */
    struct rules hidden, kept;
    struct rules own_sockets; /* may be connected to, also where they are hidden */
    struct policy_object *hidden_files;
    size_t hidden_file_count;
    bool hides_dirs;       /* one of the hidden is a directory */
    struct rules named;    /* what entries allow to be written, also as they were written */
    struct pathset pinned; /* the working directory, links that entries go through, and above */
    struct pathset given;  /* what every sandbox may write: into it, and no more */

    struct policy_entry *entries[LIST__COUNT];
    size_t entry_counts[LIST__COUNT];
    struct words write_roots, domains, denied_domains, without_effect, ignored;

    struct domain *allowed, *denied;
    size_t allowed_count, denied_count;
    uint16_t *loopback_ports; /* ends with 0; NULL: none */
    uint16_t http_port, socks_port;
    bool all_unix, may_bind, allow_git_config;
    int search_depth; /* for the mandatory ones */
    char *cwd, *home;
};

/* policy_files.c */
bool policy_is_hidden(const struct policy *policy, const char *path);

/* policy_net.c: everything of `network` but the sockets that the settings list. */
MUST_CHECK int policy_add_network(struct policy *policy, const struct sandbox_settings *settings,
                                  const struct policy_place *place, struct err *e);

#endif
