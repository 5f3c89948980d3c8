/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/policy/rules.h - one list of the settings: canonical paths and patterns of such (private
 * to policy.c and its parts). An entry stands for what it names and everything below that. */
#ifndef SANDBOX_POLICY_RULES_H
#define SANDBOX_POLICY_RULES_H

#include "sandbox/paths/pathset.h"

struct rules { /* all zero: none */
    struct pathset at, above;
    char **globs;
    size_t *fixed; /* glob_fixed() of each */
    size_t glob_count;
};

void rules_done(struct rules *rules);
void rules_add(struct rules *rules, const char *path);
void rules_add_glob(struct rules *rules, const char *pattern);

bool rules_empty(const struct rules *rules);
bool rules_match(const struct rules *rules, const char *path);

/* Length of the longest of the path and the directories above it that an entry names; -1: none. */
ssize_t rules_deepest(const struct rules *rules, const char *path);

/* Is there an entry below the directory, or might a pattern match there? */
bool rules_below(const struct rules *rules, const char *dir);

#endif
