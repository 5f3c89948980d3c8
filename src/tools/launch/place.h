/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/launch/place.h - where stdio MCP servers live: one folder a server, with its HOME, the
 * caches of uv and npm, and its own copy of packages (private to tools/; the door is tools.h).
 * Why:     servers run outside the walls of kernels and may hold secrets, so nothing that they load
 *          may lie where a cell can write. A sandbox's `kept` keeps cells out of the place.
 * Folders: NAME of a server without a secret, NAME.secret of one with: what the first has run may
 *          have been the cells', and must not wait for the second.
 * Specs:   what install_package was asked for, newest first, in memory and in the place: a server
 *          with a secret gets a copy of its own of one of them, never one of another name.
 * Trust:   metadata in the user base may choose among the specs, and no more.
 * Limits:  PLACE_SPECS_MAX specs; PLACE_DISTS_MAX packages are looked at. */
#ifndef TOOLS_LAUNCH_PLACE_H
#define TOOLS_LAUNCH_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "tools/tools.h"

#define PLACE_SPECS_MAX 200
#define PLACE_DISTS_MAX 2000
#define PLACE_TEXT_MAX ((size_t)1 << 20) /* of one file of metadata, and of the specs */

struct place_specs {
    char **items; /* newest first */
    size_t n;
};

/* NULL: there is no place, or it cannot be made. The caller frees it. */
char *place_folder(const struct tools_place *place, const char *name, bool secret);

/* The user base of a server, where its packages are: bin/ and lib/. The caller frees it. */
char *place_packages(const char *folder);

void place_specs_load(const struct tools_place *place, struct place_specs *ret);
void place_specs_add(const struct tools_place *place, struct place_specs *specs, const char *spec);
void place_specs_done(struct place_specs *specs);

/* A command in bin/ of a user base; the caller frees it. NULL: it is not there. */
char *place_command(const char *base, const char *command);
/* Whether the user base has a module of that name: its first part. */
bool place_has_module(const char *base, const char *module);

/* The spec which brings a command, or a module; NULL: none that was asked for. Borrowed. */
const char *place_spec_of(const struct tools_place *place, const struct place_specs *specs,
                          const char *name, bool module);

/* Which spec the folder has a copy of. */
void place_note_copy(const char *folder, const char *spec);
bool place_has_copy(const char *folder, const char *spec);

#endif
