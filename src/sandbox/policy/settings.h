/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/policy/settings.h - the settings of a sandbox as they were written: srt's JSON, plain
 * data.
 * Source:  the configuration of Anthropic's sandbox-runtime; docs/sandbox-settings.md has the
 *          table of keys.
 * Errors:  an unknown key, a value of another kind, settings that contradict each other or ask for
 *          something that is not enforced here: -EINVAL, and the message names the key. Nothing is
 *          ever replaced by a default.
 * Limits:  SANDBOX_SETTINGS_MAX bytes, SANDBOX_WORDS_MAX entries of a list. */
#ifndef SANDBOX_POLICY_SETTINGS_H
#define SANDBOX_POLICY_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define SANDBOX_SETTINGS_MAX (1 << 20)
#define SANDBOX_WORDS_MAX 4096

struct words {
    char **items; /* owned */
    size_t count;
};

struct sandbox_settings {
    struct words allowed_domains, denied_domains;
    struct words allow_unix_sockets; /* paths, as written */
    bool allow_all_unix_sockets, allow_local_binding;
    int http_proxy_port, socks_proxy_port; /* 0: none; else only these are reached */

    struct words deny_read, allow_read, allow_write, deny_write; /* paths and globs, as written */
    bool allow_git_config;
    int mandatory_deny_search_depth;

    /* What the log of refusals passes over, in pairs: a part of the command or "*", a part of the
     * path. */
    struct words ignored_violations;
    struct words without_effect; /* keys that were set and mean nothing here */
};

/* The settings of the documents: read all but .env, write the workspace, no network. */
extern const char sandbox_settings_default[];

MUST_CHECK int sandbox_settings_parse(const char *text, size_t n, struct sandbox_settings **ret,
                                      struct err *e);
/* The whole text of a file; *ret is the caller's (xfree). A message names the path. */
MUST_CHECK int sandbox_settings_read(const char *path, char **ret_text, struct err *e);
struct sandbox_settings *sandbox_settings_free(struct sandbox_settings *settings);

void words_add(struct words *words, const char *word); /* copied */
void words_done(struct words *words);

#endif
