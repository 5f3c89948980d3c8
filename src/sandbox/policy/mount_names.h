/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/policy/mount_names.h - other names of a file or directory, where it is mounted more than
 * once.
 * Caller:  any thread. */
#ifndef SANDBOX_POLICY_MOUNT_NAMES_H
#define SANDBOX_POLICY_MOUNT_NAMES_H

#include "sandbox/policy/settings.h"

/* Appends to *ret the other names of what this canonical path names. Names of the same file in one
 * mount (hard links) are not found. */
void mount_names(const char *path, struct words *ret);

#endif
