/* SPDX-License-Identifier: Apache-2.0
 *
 * session/output.h - what one cell printed and displayed, in memory that its size cannot grow.
 * Text:    stream text and text/plain in the order of arrival, white space stripped at both ends;
 *          the first `max_chars` characters stay in memory, and once there are more the whole text
 *          goes to outputs/<8 hex>.txt below the workspace while it arrives.
 * Images:  images/<8 hex>.<type>; other displays without a text form: outputs/<8 hex>.<type>.
 * Limits:  max_chars is cut to OUTPUT_HEAD_MAX; a file ends at `file_limit` bytes, then the rest is
 *          counted and dropped, and `file_note` says so.
 * Failing: what cannot be saved (full disk, read-only workspace) is said in `file_note` or in the
 *          text, never by an error: the cell itself has run. */
#ifndef SESSION_OUTPUT_H
#define SESSION_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define OUTPUT_HEAD_MAX ((size_t)10000000) /* characters */
#define OUTPUT_FILES_MAX 1000              /* saved displays of one cell */

struct output_file {
    char *path; /* absolute */
    const char *mime;
    bool is_image;
};

struct output {
    /* as given */
    const char *workspace; /* absolute */
    size_t max_chars;
    uint64_t file_limit;
    /* results, final after output_finish() */
    struct buf text;      /* at most max_chars characters, stripped */
    bool truncated;       /* there was more text: */
    uint64_t chars;       /* characters of the whole stripped text */
    char *file;           /* path of the file with the whole text, NULL when none could be made */
    char file_note[420];  /* why the file is missing or incomplete, "" when it is whole */
    struct output_file *files;
    size_t file_count;
    /* inside */
    int fd;
    uint64_t file_bytes;
    uint64_t space_chars; /* white space at the end of what came so far */
    size_t head_chars;
    bool started; /* something but white space came */
    struct buf pending;
};

void output_init(struct output *o, const char *workspace, size_t max_chars, uint64_t file_limit);
void output_done(struct output *o);

/* Valid UTF-8, with C0 80 for NUL. */
void output_text(struct output *o, const char *text, size_t n);

/* One display as a MIME bundle: `find` answers the data of a type, or NULL. Adds its text form,
 * saves its images. */
void output_display(struct output *o, const char *(*find)(void *ctx, const char *mime), void *ctx);

void output_finish(struct output *o);

#endif
