/* SPDX-License-Identifier: Apache-2.0
 *
 * session/events/eventlog.h - the numbered events of a session, kept for clients that reconnect.
 * Numbers: one more for each event of a session. The first is 1, or with `apart` it follows a
 *          random multiple of EVENTLOG_LIFE: so the numbers of a session from before a restart, or
 *          of one that had its name, are none of this one's, and who brings such a one is told.
 *          What is no longer kept leaves a gap at the front only.
 * Kept:    the newest memory_max bytes in memory; what falls out of there goes to an unlinked file
 *          in spill_dir, the newest spill_max / 2 to spill_max bytes of it. Without spill_dir, or
 *          when its disk is full, it is gone; with spill_for_readers also until the first reader
 *          has come: a file that nobody may ever read costs a twentieth of the processor time of a
 *          flood of output.
 * Readers: keep their own number and ask for what comes after it; a watcher is told, once in a turn
 *          of the loop, that there is more.
 * Calls:   loop thread only. */
#ifndef SESSION_EVENTS_EVENTLOG_H
#define SESSION_EVENTS_EVENTLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json/json.h"
#include "loop/loop.h"

#define EVENTLOG_LIFE ((uint64_t)1 << 26) /* 2^26 lives of it are exact as a double, too */

enum logged_kind {
    LOGGED_BEGIN,    /* a cell begins to run: {"code", "truncated"?, "client"?} */
    LOGGED_STDOUT,   /* data is the text itself; of all other kinds a JSON object */
    LOGGED_STDERR,   /* likewise */
    LOGGED_DISPLAY,  /* the content of display_data: the whole MIME bundle */
    LOGGED_UPDATE,   /* of update_display_data */
    LOGGED_CLEAR,    /* of clear_output */
    LOGGED_RESULT,   /* of execute_result */
    LOGGED_ERROR,    /* of error: ename, evalue, traceback */
    LOGGED_END,      /* a cell ended: {"status": "ok" | "error" | "timeout" | …} */
    LOGGED_APPROVAL, /* a human is asked over HTTP: {"state": "asked" | "settled", "id", …} */
    LOGGED_KERNEL,   /* {"state": "ready" | "lost" | "replaced", "reason"} */
    LOGGED_PROGRESS, /* of a tool that code calls: {"call", "server", "tool", "progress", …} */
    LOGGED__COUNT
};
extern const char *const logged_names[LOGGED__COUNT]; /* "begin", "stdout" … */

struct logged { /* data is borrowed until the next call */
    uint64_t number;
    uint64_t cell;   /* its number in the session, 0: none */
    int64_t time_ms; /* since 1970 */
    enum logged_kind kind;
    bool late; /* of a cell that has ended: from a thread, a task or a child of it */
    const char *data;
    size_t n;
};

struct eventlog_config { /* copied */
    struct loop *loop;
    size_t memory_max;
    size_t data_max;       /* of one event; 0: memory_max / 2 */
    const char *spill_dir; /* NULL: none; copied, too */
    uint64_t spill_max;
    bool apart;             /* the numbers are no other log's */
    bool spill_for_readers; /* only from the first eventlog_next() or eventlog_watch() on */
};

struct eventlog;
struct eventlog *eventlog_open(const struct eventlog_config *config);
struct eventlog *eventlog_close(struct eventlog *log); /* NULL in, NULL out */

/* number and time are filled in here. Data over data_max becomes several events (kinds of text,
 * cut at characters) or {"omitted": BYTES}. */
void eventlog_add(struct eventlog *log, const struct logged *event);

/* A message's content; NULL is {}. False: {"omitted": BYTES} stands in its place. */
bool eventlog_add_json(struct eventlog *log, enum logged_kind kind, uint64_t cell, bool late,
                       const struct json *content);

/* Whether this number is one of an event here, or 0: all of them. */
bool eventlog_knows(const struct eventlog *log, uint64_t number);
uint64_t eventlog_last(const struct eventlog *log); /* its number, 0: none yet */

/* The first that is kept after this number. -EAGAIN: there is none yet. *ret_missed: how many
 * between were dropped. */
MUST_CHECK int eventlog_next(struct eventlog *log, uint64_t after, struct logged *ret,
                             uint64_t *ret_missed);

struct eventlog_watcher { /* embedded in its owner; all zero: none */
    struct eventlog_watcher *prev, *next;
    loop_fn fn;
    void *ctx;
    bool watching;
};
void eventlog_watch(struct eventlog *log, struct eventlog_watcher *w, loop_fn fn, void *ctx);
void eventlog_unwatch(struct eventlog *log, struct eventlog_watcher *w);

#endif
