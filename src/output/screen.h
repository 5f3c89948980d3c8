/* SPDX-License-Identifier: Apache-2.0
 *
 * output/screen.h - what a terminal would show of a text: progress bars in their last state.
 * Knows:   carriage return, backspace, cursor up/down/forward/back/column, erase in line and
 *          display (ECMA-48 CSI A B C D E F G K J). Other sequences are dropped: colours, links
 *          (ESC ]). A tab is a character like any other.
 * Rows:    the last SCREEN_ROWS lines can still be changed; older ones are handed out and final.
 * Speed:   text without control characters is handed out as it comes, but for its last rows.
 * Limits:  a row of SCREEN_ROW_MAX bytes is handed out unfinished; memory is rows times that. */
#ifndef OUTPUT_SCREEN_H
#define OUTPUT_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define SCREEN_ROWS 24
#define SCREEN_ROW_MAX ((size_t)4096)

struct screen {
    void (*out)(void *ctx, const char *text, size_t n); /* text that is final */
    void *ctx;
    struct buf rows[SCREEN_ROWS]; /* without their line breaks; a ring from `first` */
    size_t first, count;          /* count >= 1: the row that is being written exists */
    size_t row, column;           /* of the cursor; the row counts from `first` */
    bool behind;                  /* the cursor is known to be behind all of its row's text */
    struct buf escape;            /* a sequence that is not complete yet */
};

void screen_init(struct screen *s, void (*out)(void *ctx, const char *text, size_t n), void *ctx);
void screen_done(struct screen *s);

/* Valid UTF-8; a character is never split between two calls. */
void screen_write(struct screen *s, const char *text, size_t n);

void screen_flush(struct screen *s); /* hands out all rows and starts anew */
void screen_clear(struct screen *s); /* forgets all rows that are not out yet */

#endif
