/* SPDX-License-Identifier: Apache-2.0
 *
 * session/queue/late.h - what threads, tasks and children of a cell say after it has ended, kept
 * for the answer to a later one (private to session/).
 * Text:    as of a cell, with progress bars and displays in their last state; a clear_output does
 *          nothing, because what it would clear may be another one's.
 * Files:   displays are saved as those of a cell are, and listed at the end of the text.
 * Limits:  LATE_CHARS_MAX characters of text, LATE_FILES_MAX files of LATE_BYTES_MAX bytes
 *          together; what goes beyond is dropped, and the text says so. */
#ifndef SESSION_QUEUE_LATE_H
#define SESSION_QUEUE_LATE_H

#include "output/output.h"
#include "wire/jupyter_msg.h"

#define LATE_CHARS_MAX ((size_t)64 << 10)
#define LATE_FILES_MAX 50
#define LATE_BYTES_MAX ((uint64_t)64 << 20)

struct late {
    const char *workspace; /* borrowed */
    struct output output;
    bool any; /* something came */
    struct buf told;
};

void late_init(struct late *late, const char *workspace);
void late_done(struct late *late); /* files stay */

void late_message(struct late *late, const struct jupyter_msg *m);
void late_text(struct late *late, const char *text);

/* All that came, or "". Good until the next call, which must be one of those below. */
const char *late_tell(struct late *late);
void late_told(struct late *late); /* begins anew */
void late_drop(struct late *late); /* likewise; nobody has heard of its files, which go with it */

#endif
