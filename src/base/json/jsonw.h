/* SPDX-License-Identifier: Apache-2.0
 *
 * base/json/jsonw.h - JSON out: written straight into a capped buffer, commas by themselves.
 * Errors:  sticky in the buffer (`failed`); check once at the end.
 * Nesting: at most JSONW_DEPTH levels, which the programmer guarantees (asserted).
 * Text:    valid UTF-8 is expected and kept; C0 80 becomes \u0000; bytes that are not UTF-8
 *          become U+FFFD, so the output is always valid JSON. */
#ifndef BASE_JSON_JSONW_H
#define BASE_JSON_JSONW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define JSONW_DEPTH 144 /* a parsed tree (JSON_DEPTH_MAX) inside a message */

struct jsonw {
    struct buf *out;
    int depth;
    bool more[JSONW_DEPTH];   /* a value stands before: a comma is due */
    char closer[JSONW_DEPTH]; /* } or ] */
    bool named;               /* a name was written: its value is due */
};

#define JSONW(buffer)                                                                              \
    (struct jsonw)                                                                                 \
    {                                                                                              \
        .out = (buffer)                                                                            \
    }

void jsonw_object(struct jsonw *w); /* { */
void jsonw_array(struct jsonw *w);  /* [ */
void jsonw_end(struct jsonw *w);    /* the matching } or ] */
void jsonw_name(struct jsonw *w, const char *name);

void jsonw_text(struct jsonw *w, const char *text); /* NULL writes null */
void jsonw_text_n(struct jsonw *w, const char *text, size_t n);
void jsonw_int(struct jsonw *w, int64_t value);
void jsonw_double(struct jsonw *w, double value); /* shortest that reads back; NaN writes null */
void jsonw_bool(struct jsonw *w, bool value);
void jsonw_null(struct jsonw *w);
void jsonw_raw(struct jsonw *w, const char *json); /* text that already is a JSON value */
void jsonw_raw_n(struct jsonw *w, const char *json, size_t n);

/* name + value in one call */
void jsonw_set_text(struct jsonw *w, const char *name, const char *text);
void jsonw_set_int(struct jsonw *w, const char *name, int64_t value);
void jsonw_set_bool(struct jsonw *w, const char *name, bool value);
void jsonw_set_time(struct jsonw *w, const char *name, int64_t real_ms); /* as clock_iso() */
void jsonw_set_raw(struct jsonw *w, const char *name, const char *json);
void jsonw_set_object(struct jsonw *w, const char *name);
void jsonw_set_array(struct jsonw *w, const char *name);

/* A text in several pieces: begin, any number of parts (cut at characters), end. */
void jsonw_text_begin(struct jsonw *w);
void jsonw_text_part(struct jsonw *w, const char *text, size_t n);
void jsonw_text_end(struct jsonw *w);

#endif
