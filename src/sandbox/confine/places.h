/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/confine/places.h - how hidden and kept places are enforced behind the walls alone.
 * Cheap:   where code cannot make names beside such a place, or above it, Landlock rules are
 *          enough: no call waits.
 * Dear:    else new files there have no rule, so the broker judges opens and changes: this takes
 *          the level full, and calls cost as much as with settings.
 * Neither: without Landlock (ABI 2), and at the level landlock where it takes a broker. Then such a
 *          place is not protected, and the server reports it.
 * Moves:   a directory above such a place may be moved by who may write it; Landlock goes by what
 *          the directory is, so that gives nobody anything. */
#ifndef SANDBOX_CONFINE_PLACES_H
#define SANDBOX_CONFINE_PLACES_H

#include "sandbox/confine/level.h"
#include "sandbox/confine/spec.h"
#include "sandbox/policy/settings.h"

/* Does it take a broker to hold this one, for this process's effective user? `closed` are places
 * that nobody writes anyway. */
bool places_need_broker(const char *path, const char *const *hidden, const char *const *kept);

/* Of a spec without settings: does what it hides and keeps take the broker that its level has? */
bool places_ask(const struct sandbox_spec *spec);
/* What of it is held. The caller's: xfree() both. */
void places_held(const struct sandbox_spec *spec, const char ***ret_hidden, const char ***ret_kept);

/* Can all that the spec hides and keeps be held at its level? *ret_not: the first that cannot,
 * borrowed, or NULL. */
bool places_can_be_held(const struct sandbox_spec *spec, const char **ret_not);

#endif
