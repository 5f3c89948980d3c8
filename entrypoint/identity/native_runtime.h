/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/identity/native_runtime.h - runtime directories of servers that are started natively:
 * one for each process, BASE/PID, so that a user may have many.
 * Base:    $XDG_RUNTIME_DIR/ipybox where that directory is the user's, else /tmp/ipybox-UID.
 * Ends:    native_runtime_remove() when the server does; what was killed leaves its directory to
 *          the next start. */
#ifndef ENTRYPOINT_IDENTITY_NATIVE_RUNTIME_H
#define ENTRYPOINT_IDENTITY_NATIVE_RUNTIME_H

#include <stdbool.h>

#include "base/err.h"

/* IDENTITY_PATH_MAX bytes each. The base is only named. */
void native_runtime_base(char *ret);
/* Makes the base and the caller's directory in it, of mode 0700, and removes those of processes
 * that have ended. */
MUST_CHECK int native_runtime_dir(char *ret, struct err *e);
/* With all that is in it, if it is such a directory of this process. */
void native_runtime_remove(const char *path);

#endif
