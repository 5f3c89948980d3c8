/* SPDX-License-Identifier: Apache-2.0
 *
 * output/output.h - what one cell printed and displayed, in bounded memory.
 * Text:    stream text and text of displays in the order of arrival, as a terminal would show it at
 *          the end (screen.h), displays in their last state and on lines of their own, line breaks
 *          stripped at both ends. The first `max_chars` characters and the last stay in memory
 *          (fit.h), and once there are more the whole text goes to outputs/<8 hex>.txt below the
 *          workspace while it arrives.
 * Images:  see display.h.
 * Limits:  max_chars is cut to OUTPUT_HEAD_MAX; a file ends at `file_limit` bytes, then the rest is
 *          counted and dropped, and `file_note` says so.
 * Failing: what cannot be saved (full disk, read-only workspace) is said in `file_note` or in the
 *          text, never by an error: the cell itself has run. */
#ifndef OUTPUT_OUTPUT_H
#define OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "output/screen.h"

#define OUTPUT_HEAD_MAX ((size_t)10000000) /* characters */
#define OUTPUT_FILES_MAX 1000              /* saved displays of one cell */
#define OUTPUT_SLOTS_MAX 256               /* displays that can be updated */

struct output_file {
    char *path; /* absolute */
    const char *mime;
    bool is_image;
    char *display_id; /* NULL: it cannot be updated */
    uint64_t bytes;
};

struct output_slot { /* the text of a display that can be updated */
    char *display_id;
    size_t offset, len; /* in `text` */
    char *later;        /* its last state, when its place can no longer be changed */
};

struct output {
    /* as given */
    const char *workspace; /* absolute */
    size_t max_chars;
    uint64_t file_limit;
    size_t files_max;   /* saved displays; OUTPUT_FILES_MAX unless it is set after output_init(), */
    uint64_t saved_max; /* and their bytes together; no limit likewise */
    bool unsaved;       /* the next display gets no files; the text alone is kept */
    bool late; /* likewise: it comes after the cell's end. The whole text has no file, and an
                  update shows a display that is not there: it was the cell's */
    /* results, final after output_finish() */
    struct buf text;     /* at most max_chars characters, stripped */
    size_t text_chars;   /* how many */
    bool truncated;      /* there was more text: */
    uint64_t chars;      /* characters of the whole stripped text */
    char *file;          /* path of the file with the whole text, NULL when none could be made */
    char file_note[420]; /* why the file is missing or incomplete, "" when it is whole */
    struct output_file *files;
    size_t file_count;
    /* inside */
    uint64_t saved_bytes; /* of the files */
    int fd;
    uint64_t file_bytes;
    uint64_t space_chars; /* line breaks at the end of what came so far */
    size_t head_chars;
    struct buf tail; /* the end of what came behind the head */
    bool started;    /* something but line breaks came */
    bool open_line;  /* the text so far does not end with a line break */
    bool shown;      /* a display was the last; what follows begins on a line of its own */
    bool clear_due;  /* at the next output */
    struct buf pending;
    struct screen screen;
    struct output_slot *slots;
    size_t slot_count;
};

void output_init(struct output *o, const char *workspace, size_t max_chars, uint64_t file_limit);
void output_done(struct output *o);

/* Valid UTF-8, with C0 80 for NUL. */
void output_text(struct output *o, const char *text, size_t n);

/* clear_output: drops the output so far, at once or (wait) with the next output. */
void output_clear(struct output *o, bool wait);

/* What comes next begins on a line of its own. */
void output_new_line(struct output *o);

/* Nothing follows: `chars` is final. Then the text is cut, to max_chars or to the room that others
 * have left for it. */
void output_end(struct output *o);
void output_finish(struct output *o, size_t max_chars);

/* For display.c: */
void output_settle(struct output *o); /* all text so far is in `text` or its file */
void output_break(struct output *o);  /* likewise, with the line break of output_new_line() */
/* In a file a NUL is a NUL: C0 80 is the form inside the program. */
void output_add_bytes(struct buf *to, const char *text, size_t n);

#endif
