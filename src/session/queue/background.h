/* SPDX-License-Identifier: Apache-2.0
 *
 * session/queue/background.h - output of a cell's threads, tasks and children after its end, kept
 * for the answer to a later cell (private to session/).
 * Text:    as of a cell, with progress bars and displays in their last state; a clear_output does
 *          nothing, because what it would clear may be another one's.
 * Files:   displays are saved as those of a cell are, and listed at the end of the text.
 * Limits:  BACKGROUND_CHARS_MAX characters of text, BACKGROUND_FILES_MAX files of
 *          BACKGROUND_BYTES_MAX bytes together; what goes beyond is dropped, and the text says
 *          so. What is told is less: the text has a file of its own then. */
#ifndef SESSION_QUEUE_BACKGROUND_H
#define SESSION_QUEUE_BACKGROUND_H

#include "output/output.h"
#include "wire/jupyter_msg.h"

#define BACKGROUND_CHARS_MAX ((size_t)64 << 10)
#define BACKGROUND_FILES_MAX 50
#define BACKGROUND_BYTES_MAX ((uint64_t)64 << 20)

struct background_output {
    const char *workspace; /* borrowed */
    struct output output;
    bool any; /* something came */
    struct buf told;
};

void background_init(struct background_output *late, const char *workspace);
void background_done(struct background_output *late); /* files stay */

void background_message(struct background_output *late, const struct jupyter_msg *m);
void background_text(struct background_output *late, const char *text);

/* How many characters there are to tell. Nothing comes before they are told. */
size_t background_chars(struct background_output *late);

/* All that came, cut to max_chars, or "". Good until the next call, which must be one of those
 * below. */
const char *background_tell(struct background_output *late, size_t max_chars);
void background_told(struct background_output *late); /* begins anew */
void background_drop(
    struct background_output *late); /* likewise; nobody has heard of its files, which go with it */

#endif
