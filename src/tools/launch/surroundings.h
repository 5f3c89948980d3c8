/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/launch/surroundings.h - the environment of one stdio MCP server: the one for all of them,
 * and where its own folder is (private to tools/).
 * Switched off: what Python, uv, npm and git would load from the working directory and from the
 *          HOME of others: servers work where cells write. Git reads .git/config of a repository
 *          all the same; what it runs of that is in docs/tools.md.
 * Order:   HOME, PATH and their like are always the server's own; settings of uv, npm and git only
 *          where the base has none; the parameters' "env" comes over all of it. */
#ifndef TOOLS_LAUNCH_SURROUNDINGS_H
#define TOOLS_LAUNCH_SURROUNDINGS_H

#include <stdbool.h>

#include "tools/tools.h"

/* `folder`: the server's own; NULL: it has none. `work`: where it will work. The result ends in
 * NULL; the caller frees it with surroundings_free(). */
char **surroundings_new(const char *const *base, const struct tools_place *place,
                        const char *folder, bool secret, const char *work);
char **surroundings_free(char **envp); /* NULL in, NULL out */

/* The value in an environment, or NULL. */
const char *surroundings_get(char *const *envp, const char *name);

/* Sets NAME=value in an environment that surroundings_new() or params_read() has made. */
void surroundings_put(char ***envp, const char *name, const char *value);

#endif
