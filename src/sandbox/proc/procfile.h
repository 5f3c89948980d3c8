/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/proc/procfile.h - numbers in the small text files of /proc and /sys.
 * Caller:  any thread. */
#ifndef SANDBOX_PROC_PROCFILE_H
#define SANDBOX_PROC_PROCFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The beginning of a file, ended by NUL; "" and false where there is nothing to read. `dir` as of
 * openat(2). */
bool procfile_read(int dir, const char *path, char *text, size_t size);

/* A decimal number after blanks; 0: there is none. *ret_end, which may be NULL: what follows it. */
uint64_t procfile_number(const char *text, const char **ret_end);

/* The one behind the first `label`; 0: it is not there. */
uint64_t procfile_behind(const char *text, const char *label);

#endif
