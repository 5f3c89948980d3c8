/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/policy/mandatory.h - the files below a working directory that run code or steer tools
 * outside the sandbox: no settings allow them to be written (private to policy.c).
 * Which:   .gitconfig .gitmodules .bashrc .bash_profile .zshrc .zprofile .profile .ripgreprc
 *          .mcp.json, .vscode, .idea, .claude/commands, .claude/agents, .git/hooks, .git/config
 *          (unless it is allowed), in any case.
 * Where:   what is there at the time, in directories down to `depth` levels; not in node_modules.
 *          Directly in the working directory also what is missing; of .git only when it is a
 *          directory, for there would be no `git init` otherwise.
 * Limits:  `names_max` names are looked at; more are -E2BIG. */
#ifndef SANDBOX_POLICY_MANDATORY_H
#define SANDBOX_POLICY_MANDATORY_H

#include <stdbool.h>

#include "base/err.h"

#define MANDATORY_NAMES_MAX 500000

struct mandatory {
    const char *cwd; /* canonical */
    int depth;       /* 1: the working directory alone */
    bool allow_git_config;
    long names_max; /* MANDATORY_NAMES_MAX, but for tests */
    /* Below cwd. `link`: it may be one, or there may be one on the way to it. */
    void (*found)(void *ctx, const char *path, bool link);
    void *ctx;
};

/* In steps of n names: 1: that was all; 0: there are more. `what` is copied. */
struct mandatory_walk;
MUST_CHECK int mandatory_open(const struct mandatory *what, struct mandatory_walk **ret,
                              struct err *e);
MUST_CHECK int mandatory_step(struct mandatory_walk *walk, long n, struct err *e);
struct mandatory_walk *mandatory_close(struct mandatory_walk *walk); /* NULL in, NULL out */

/* At once. */
MUST_CHECK int mandatory_find(const struct mandatory *what, struct err *e);

#endif
