/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/identity/wipe.h - removes the environment of this process from /proc/PID/environ.
 * Why:     /proc/PID/environ is the memory in which a program found its environment when it was
 *          started, whatever it did with that later. With the container's environment come tokens.
 * Calls:   once, before anybody keeps a pointer that getenv() has returned. */
#ifndef ENTRYPOINT_IDENTITY_WIPE_H
#define ENTRYPOINT_IDENTITY_WIPE_H

/* From now on the environment is elsewhere, and there are zeros in its first place. */
void wipe_environment(void);

#endif
