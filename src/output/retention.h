/* SPDX-License-Identifier: Apache-2.0
 *
 * output/retention.h - how many of the files in images/ and outputs/ stay.
 * Deletes: the oldest files, both folders together, until all limits hold. Only files with a name
 *          that the server gives (8 hexadecimal digits and an extension), never one of the cell
 *          that has just ended, and nothing through a link.
 * When:    at the end of a cell that has saved a file, so nothing goes that its answer names.
 * Limits:  RETENTION_FILES_MAX files of a folder are looked at; one pass takes a few microseconds
 *          for each.
 * Failing: what cannot be read or deleted stays, and the next pass tries again. */
#ifndef OUTPUT_RETENTION_H
#define OUTPUT_RETENTION_H

#include "output/output.h"

#define RETENTION_FILES_MAX 20000

struct retention { /* 0: no limit */
    size_t files;
    uint64_t bytes;
    int64_t age_s;
};

struct retention_result {
    size_t files;
    uint64_t bytes;
};

/* Whether a cell has saved something and there is a limit. */
bool retention_is_due(const struct retention *r, const struct output *o);
/* What it has deleted. */
struct retention_result retention_apply(const struct retention *r, const struct output *o);

#endif
