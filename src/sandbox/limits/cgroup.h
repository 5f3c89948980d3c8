/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/limits/cgroup.h - where the files of this process's cgroup are, of version 1 and 2.
 * Caller:  any thread.
 * Source:  cgroups(7). A container sees its own cgroup as the root of the hierarchy, or below its
 *          path on the machine; both are looked for.
 * Limits:  limits of cgroups above a namespaced root are out of sight. */
#ifndef SANDBOX_LIMITS_CGROUP_H
#define SANDBOX_LIMITS_CGROUP_H

#include <stdbool.h>

#define CGROUP_PATH_MAX 512

struct cgroup {
    char dir[CGROUP_PATH_MAX]; /* "": there is none */
    bool unified;              /* version 2 */
};

/* The folder of `controller` ("memory", "cpu") in which a file can be read: `old` of version 1,
 * `unified` of version 2. `root` is before /proc and /sys: "" but in tests. */
bool cgroup_find(const char *root, const char *controller, const char *old, const char *unified,
                 struct cgroup *ret);

#endif
