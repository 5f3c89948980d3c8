/* SPDX-License-Identifier: Apache-2.0
 *
 * output/display.h - rich displays of a cell: their text, their files, and their updates.
 * Text:    text/plain. Where that is missing or names no more than a class and an address: a table
 *          (displays.py of the kernel), Markdown, LaTeX or JSON.
 * Files:   the first of its images goes to images/<8 hex>.<type> below the workspace; a display
 *          that has neither text of its own nor an image, and a table, to outputs/<8 hex>.<type>,
 *          in its best form.
 * Updates: a display with an id shows its last state. Its text is changed in place; when its place
 *          is out of reach (in the file of a long output) the last state is added at the end. A
 *          new image replaces the file of the old one.
 * Failing: what cannot be saved is said in the text, never by an error. */
#ifndef OUTPUT_DISPLAY_H
#define OUTPUT_DISPLAY_H

#include "output/output.h"

/* The data of one display: a text by MIME type, or NULL. Borrowed until the next call. "*+json":
 * the first type that ends so. */
struct display_data {
    const char *(*find)(void *ctx, const char *mime);
    void *ctx;
};

/* `id` may be NULL. */
void display_show(struct output *o, const struct display_data *data, const char *id);
void display_update(struct output *o, const struct display_data *data, const char *id);

/* Called by output.c: */
void display_clear(struct output *o); /* clear_output: files and texts are gone */
void display_finish(struct output *o);
void display_done(struct output *o); /* frees memory; files stay */

#endif
