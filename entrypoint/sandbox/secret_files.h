/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/sandbox/secret_files.h - files with the server's secrets: hidden from what it starts.
 * Which:   those of the NAME_FILE variables, and of the options that name files with secrets or
 *          with rules. One that the user of cells can neither read nor replace needs nothing.
 * Else:    it is hidden from kernels, MCP servers and pip, with the links that lead to it; of a
 *          volume of Kubernetes, where a link "..data" leads to this hour's files, the whole. What
 *          cannot be hidden ends the start.
 * Told by: process 1, which reads them, in the variable SECRET_FILES_VARIABLE. */
#ifndef ENTRYPOINT_SANDBOX_SECRET_FILES_H
#define ENTRYPOINT_SANDBOX_SECRET_FILES_H

#include "entrypoint/sandbox/server_sandbox.h"

#define SECRET_FILES_VARIABLE "IPYBOX_SECRET_FILES" /* NAME_FILE=path, one a line */

/* Adds one, in the environment. */
MUST_CHECK int secret_files_note(const char *variable, const char *path, struct err *e);

/* Before other places are added. -EPERM: one cannot be hidden. */
MUST_CHECK int secret_files_hide(const struct options *options, struct server_sandbox *sandbox,
                                 struct err *e);

#endif
