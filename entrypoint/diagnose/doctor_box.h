/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/diagnose/doctor_box.h - the part of `ipybox doctor` that looks at the container it
 * runs in: whether files of a cell could take part in commands of `docker exec`, and whether cells
 * may read files with keys or tokens. It looks at modes and owners and changes nothing.
 * Root:    of a user namespace or not, counts as the owner that cells are not. */
#ifndef ENTRYPOINT_DIAGNOSE_DOCTOR_BOX_H
#define ENTRYPOINT_DIAGNOSE_DOCTOR_BOX_H

#include <stdbool.h>

/* Both print a line for each thing, and return how many are open. The first is for who has started
 * the command: PATH, HOME and tokens in files; the second for who cells are. */
int doctor_start(void);
int doctor_box(void);

/* Whether somebody who is not root may put a file at `path`, or move what is above it: by the owner
 * and the mode of every directory on the way that is there. A relative path is open. */
bool doctor_can_plant(const char *path);

#endif
