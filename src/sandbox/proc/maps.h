/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/proc/maps.h - one line of /proc/PID/maps, or the first line of a mapping in smaps; see
 * proc_pid_maps(5). */
#ifndef SANDBOX_PROC_MAPS_H
#define SANDBOX_PROC_MAPS_H

#include <stdbool.h>
#include <sys/types.h>

struct maps_line {
    dev_t dev;
    ino_t ino;        /* 0: no file */
    const char *name; /* borrowed from the line, with its end of line; "" without a name */
};

/* False: the line is not of that form. */
bool maps_parse(const char *line, struct maps_line *ret);

#endif
