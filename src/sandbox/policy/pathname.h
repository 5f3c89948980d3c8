/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/policy/pathname.h - the names of a policy: made absolute and canonical, with what need
 * not exist (private to policy.c and its parts).
 * Canonical: no ".", "..", empty component or slash at the end, and no symbolic link on the way. */
#ifndef SANDBOX_POLICY_PATHNAME_H
#define SANDBOX_POLICY_PATHNAME_H

#include <limits.h>
#include <stdbool.h>

#include "sandbox/policy/settings.h"

/* Without ".", ".." and double slashes, by the text alone; a relative path begins at base, which
 * is absolute. -ENAMETOOLONG: over PATH_MAX. */
MUST_CHECK int path_clean(const char *base, const char *path, char ret[PATH_MAX]);

/* Follows the links of a clean path as far as there is something; the rest stays as it is, also
 * behind a link that leads nowhere yet. Every link on the way is added to `links`, by its canonical
 * name; NULL: nobody asks. -ENAMETOOLONG, -ELOOP. */
MUST_CHECK int path_resolve(const char *clean, char ret[PATH_MAX], struct words *links);

bool path_is_under(const char *path, const char *dir); /* or is it; both canonical */

#endif
