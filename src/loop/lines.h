/* SPDX-License-Identifier: Apache-2.0
 *
 * loop/lines.h - a stream of lines: whole lines come in, bytes go out as the other side reads them.
 * Owns:    both buffers and the watches; the descriptors stay the owner's, who closes them after
 *          lines_close().
 * Limits:  a line over line_max bytes is handed on piece by piece and not kept. While more than
 *          backlog_max bytes of `out` are unread no line is run and nothing is read. The limit of
 *          `out` is its cap: over it the stream breaks.
 * End:     `ended` is called once, from the loop and never from inside another call, after the
 *          stream has broken, or when all that was to be said before lines_finish() is written.
 * Freeing: lines_close() may be called in `ended`, and outside of the events. */
#ifndef LOOP_LINES_H
#define LOOP_LINES_H

#include "base/buf.h"
#include "loop/loop.h"

#define LINES_READ_MAX ((size_t)64 << 10) /* bytes a turn */

struct lines_events {
    /* Without its end; it may be written to. */
    void (*line)(void *ctx, char *line, size_t n);
    /* A piece of a line that is too long; `last`: it ends here. */
    void (*too_long)(void *ctx, const char *piece, size_t n, bool last);
    /* The input's end, after its last line, which may lack its break. NULL: this breaks the
     * stream. */
    void (*input_ended)(void *ctx);
    /* What the buffers hold may have changed. May be NULL. */
    void (*moved)(void *ctx);
    void (*ended)(void *ctx);
};

struct lines {
    struct loop *loop;
    const struct lines_events *events;
    void *ctx;
    int in_fd, out_fd; /* of a socket both are the same */
    size_t line_max, backlog_max;
    struct buf out; /* what is added to it goes out by lines_flush() */
    bool paused;    /* set by the owner: no line is run until lines_resume() */

    struct buf input; /* from here on private */
    size_t scanned;   /* bytes of `input` in which no end of a line is left to be found */
    size_t sent;      /* bytes of `out` */
    struct loop_io *in_io, *out_io;
    struct loop_defer again, end;
    bool reading, running, over, finishing, broken;
};

/* The descriptors do not block, or are read only when there is something. `l` is zero but for what
 * stands above `input`. */
MUST_CHECK int lines_open(struct lines *l, struct err *e);
void lines_close(struct lines *l); /* of what is zero, too; `ended` is not called any more */

void lines_flush(struct lines *l); /* writes what can be written */
void lines_set_max(struct lines *l, size_t line_max);
void lines_resume(struct lines *l);       /* runs the lines that have come since it was paused */
void lines_finish(struct lines *l);       /* no more lines; ends when `out` is written */
void lines_break(struct lines *l);        /* ends now */
void lines_stop_reading(struct lines *l); /* of the input nothing more is wanted */

/* The only line of a connection that is not read: it fits into a socket. Closes fd. */
void lines_say_once(int fd, struct buf *line);

/* Bytes that are in memory; whether all whole lines among them are run, and more are waited for. */
size_t lines_held(const struct lines *l);
bool lines_are_run(const struct lines *l);

#endif
