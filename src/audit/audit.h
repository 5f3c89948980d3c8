/* SPDX-License-Identifier: Apache-2.0
 *
 * audit/audit.h - the audit log: who ran, called, approved and asked for what, in a file that is
 * only ever appended to (docs/audit.md; the lines: audit_chain.h).
 * Owner:   the server opens one and lends it to whoever has something to tell; NULL: there is none,
 *          and every function takes that.
 * Content: never code, arguments, results or secrets: names, outcomes, and of code its SHA-256.
 * Failure: what cannot be written waits, up to AUDIT_WAITING_MAX bytes. Where only room is missing
 *          each record goes to the program's log as well, and what runs goes on: cells can fill a
 *          disk. Until then AUDIT_ROOM bytes are kept for the file. Any other failure: until it is
 *          written audit_add() and audit_check() answer -EIO, so that nothing new is begun.
 * Floods:  what code can bring about by itself is bounded for each session: audit_flood.h.
 * Calls:   loop thread only. A record is one write(2) on a file, which is synced at the end. */
#ifndef AUDIT_AUDIT_H
#define AUDIT_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "loop/loop.h"

#define AUDIT_WAITING_MAX ((size_t)1 << 20)
#define AUDIT_TEXT_MAX 256 /* bytes of a name; more is cut, and ends in "..." */
#define AUDIT_PATH_MAX 1024
#define AUDIT_ROOM ((uint64_t)4 << 20)
#define AUDIT_LAST_MAX ((size_t)512 << 10) /* bytes of audit_last() */
#define AUDIT_TELL 1000 /* so many records after one another the hash is logged */

struct audit_config {      /* copied; the texts are borrowed for the call */
    const char *path;      /* made with mode 0600; an existing log is continued */
    const char *workspace; /* absolute: a file in there is refused, code writes there */
    const char *version;
    struct loop *loop; /* NULL: omissions are counted with the next record */
    void (*log)(enum log_level level, const char *text);
};

struct audit;
/* Writes a "start". -EPERM: the file is one that code could be led to, -EBUSY: another server has
 * it, -EBADMSG: its end is no record; or what open(2) and write(2) say. */
MUST_CHECK int audit_open(const struct audit_config *config, struct audit **ret, struct err *e);
/* Writes a "stop" and logs the last hash. NULL in, NULL out. */
struct audit *audit_close(struct audit *audit);

enum audit_kind {
    AUDIT_START,
    AUDIT_STOP,
    AUDIT_CELL,     /* it begins */
    AUDIT_CELL_END, /* of one that has begun */
    AUDIT_COMMAND,  /* a program is started in a session; then how it ended: */
    AUDIT_COMMAND_END,
    AUDIT_TOOL_CALL,
    AUDIT_APPROVAL, /* whether a call may be made: each call has one before it */
    AUDIT_LOGIN,
    AUDIT_LOGIN_REFUSED,
    AUDIT_SERVER_REGISTERED,
    AUDIT_SERVER_REMOVED,
    AUDIT_PACKAGE_INSTALL, /* pip is started; then how it ended: */
    AUDIT_PACKAGE_INSTALLED,
    AUDIT_FILE_WRITTEN, /* of the workspace over HTTP, as the others of files */
    AUDIT_FILE_DELETED,
    AUDIT_FILE_MOVED,
    AUDIT_FOLDER_MADE,
    AUDIT_ARCHIVE_UNPACKED,
    AUDIT_SESSION_CREATED,
    AUDIT_SESSION_ENDED,
    AUDIT_SESSION_PAUSED,
    AUDIT_SESSION_RESUMED,
    AUDIT_SANDBOX_CHANGED, /* of a session, or it could not be */
    AUDIT_LEFT_OUT,        /* so many more of a kind, which have no record each */
    AUDIT__COUNT
};

struct audit_event { /* borrowed for the call; what is NULL, 0 or not timed is left out */
    enum audit_kind kind;
    /* That caused it. NULL: the one that is being handled (log_request()), if any; "": none. */
    const char *request_id;
    const char *trace_id; /* of the trace that it came with; NULL or "": none */
    const char *session;
    uint64_t cell;         /* its number in the session */
    const char *kernel;    /* the kernel gateway's id of one that belongs to no session */
    const char *package;   /* without what a URL may hide: audit_package() */
    const char *path, *to; /* in the workspace */
    bool sized;
    uint64_t size, files; /* bytes, when `sized`; how many files an archive brought */
    const char *server, *tool;
    const char *door, *address, *role; /* of a login */
    const char *by, *decided_in;       /* of an approval; the request with the decision */
    const char *outcome;
    const char *parent; /* of a session that was forked: from which */
    enum audit_kind of; /* with AUDIT_LEFT_OUT, as `count` */
    uint64_t count;
    bool timed;
    int64_t ms;       /* it took, when `timed` */
    const char *code; /* only its SHA-256 and its length are written */
    size_t code_len;
};

/* 0: it is written. -EIO: it waits, or was dropped, and nothing new may be begun. */
int audit_add(struct audit *audit, const struct audit_event *event);

/* A package's specification without user, password, query and fragment of a URL in it. The caller
 * frees it with xfree(). */
char *audit_package(const char *package);

/* Whether something new may be begun; tries again what waits. -EIO with the reason. */
MUST_CHECK int audit_check(struct audit *audit, struct err *e);

/* Of the records in the file the last ones, at most `most`, and as many as fit AUDIT_LAST_MAX: the
 * oldest of them first, each with a newline. Reads the file once. -ENOENT: there is no log; -EDOM:
 * it is nothing that can be read, such as a pipe. */
MUST_CHECK int audit_last(const struct audit *audit, size_t most, struct buf *ret, struct err *e);

enum audit_state {
    AUDIT_OFF,
    AUDIT_WRITTEN,
    AUDIT_OUTSIDE, /* there is no room: its records are in the program's log */
    AUDIT_REFUSES, /* nothing new is begun */
    AUDIT_STATES
};
extern const char *const audit_state_names[AUDIT_STATES];

struct audit_numbers {
    uint64_t left_out; /* counted by AUDIT_LEFT_OUT, or still to be */
    uint64_t outside;  /* records in the program's log */
};
enum audit_state audit_state(const struct audit *audit, struct audit_numbers *ret);

#endif
