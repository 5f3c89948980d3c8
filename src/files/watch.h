/* SPDX-License-Identifier: Apache-2.0
 *
 * files/watch.h - what happens in a folder, by inotify(7).
 * Tells:   names that come, go and move, and files that were written and closed. Not: each write,
 *          what is read, and the temporary names of newfile.h.
 * Below:   with `below`, folders that come later, too; what they hold already when they are found
 *          is told as created, so that nothing is missed; it may then be told twice.
 * Limits:  WATCH_FOLDERS_MAX folders, WATCH_PATHS_MAX; those beyond are told (WATCH_LIMIT) and
 *          not watched. The kernel keeps fs.inotify.max_queued_events for who does not fetch them;
 *          WATCH_OVERFLOW: some are lost, look for yourself. */
#ifndef FILES_WATCH_H
#define FILES_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "files/beneath.h"

#define WATCH_FOLDERS_MAX 4096
#define WATCH_PATHS_MAX (2 << 20) /* bytes of their paths */
#define WATCH_STEP 64             /* names that are read at once, in folders that are new */

enum watch_kind {
    WATCH_READY, /* from here on nothing is missed; once */
    WATCH_CREATED,
    WATCH_WRITTEN,
    WATCH_ATTRIBUTES,
    WATCH_DELETED,
    WATCH_MOVED_FROM,
    WATCH_MOVED_TO, /* the same cookie as that of MOVED_FROM */
    WATCH_OVERFLOW,
    WATCH_LIMIT, /* path: the first folder that is not watched; once */
    WATCH_GONE,  /* the folder itself; the last. Its deletion is not readable: ask now and then */
    WATCH__COUNT
};

struct watch_event { /* lent until the next call */
    enum watch_kind kind;
    const char *path; /* from the folder; "" is itself */
    bool folder;
    uint32_t cookie; /* of the two MOVED, else 0 */
};

struct watch;
/* top: open, taken over, also on failure. -EMFILE, -ENOSPC: inotify has no more of this user. */
MUST_CHECK int watch_open(int top, bool below, struct watch **ret);
/* Asked of each folder below; those that may not be read are not watched. Borrowed. */
struct spot_rules; /* spot.h */
void watch_judge(struct watch *w, const struct spot_rules *rules);
struct watch *watch_close(struct watch *w); /* NULL in, NULL out */

int watch_fd(const struct watch *w);       /* readable: there are events */
bool watch_is_busy(const struct watch *w); /* watch_next() has more to do without being readable */
size_t watch_folders(const struct watch *w);

/* 1: *ret is there; 0: nothing now. */
MUST_CHECK int watch_next(struct watch *w, struct watch_event *ret);

#endif
