/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/sandbox/sandbox.h - `ipybox sandbox`: one command with the settings of a file, in the
 * foreground; and the same as `srt`, with srt's words.
 * Status:  the command's; 128+N, of srt 1, when signal N ended it; 126 and 127 when it cannot be
 *          run; 1 when the sandbox cannot be made; 2 for wrong words.
 * Signals: go on to the command. It shares our process group, so a terminal's reach it anyway. */
#ifndef ENTRYPOINT_SANDBOX_SANDBOX_H
#define ENTRYPOINT_SANDBOX_SANDBOX_H

#include <stdbool.h>

/* argv: the words behind "sandbox" or "srt". */
int sandbox_main(bool as_srt, int argc, char **argv);

/* Was the program called by the name srt? */
bool sandbox_is_srt(const char *program);

#endif
