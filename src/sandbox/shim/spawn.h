/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/shim/spawn.h - the server's only way to start a process.
 * How:     every child runs below a shim of its own (shim.h), which owns the whole tree of the
 *          child's descendants and ends it when the child ends, when it is told to, or when the
 *          server is gone. The child gets its own session, /dev/null as input (unless it is
 *          `piped`), exactly the environment that is given, and no descriptor but 0, 1 and 2, and
 *          those that are given.
 * Owner:   child_end() and child_end_gently() give a child up: no event comes after it, the tree is
 *          killed, the rest is done by the spawner in the background. They may be called inside an
 *          event.
 * Needs:   SIGPIPE is ignored in a process that writes to a child.
 * Thread:  loop thread; child_start() costs about a millisecond, nothing blocks. */
#ifndef SANDBOX_SHIM_SPAWN_H
#define SANDBOX_SHIM_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "loop/loop.h"
#include "sandbox/confine/spec.h"

struct spawner;
MUST_CHECK int spawner_new(struct loop *loop, struct spawner **ret, struct err *e);

/* Kills what still runs and waits for it, at most wait_ms. NULL in, NULL out. */
struct spawner *spawner_free(struct spawner *spawner, int64_t wait_ms);

/* What the policies of sandboxed children refused: "pid=17 call=openat path=/x". */
void spawner_on_refused(struct spawner *spawner, void (*refused)(void *ctx, const char *text),
                        void *ctx);

#define CHILD_FIRST_FD 5 /* the number of the first given descriptor in the child */
#define CHILD_FDS_MAX 6

struct child_spec {
    const char *const *argv; /* argv[0] is looked up in the environment's PATH */
    const char *const *envp;
    const char *cwd;
    /* What it leaves behind goes on. `ended` comes when it has ended and nobody has its 1 and 2
     * open; then, if something is left, `gone` when nothing is. Without a terminal it leads no
     * group. */
    bool program;
    bool piped; /* its input is what child_write() writes, and its 2 is apart from its 1 */
    /* Its 0, 1 and 2 are a terminal of this size, which controls it; child_write() types. */
    const struct child_size *terminal;  /* NULL: none */
    const struct sandbox_spec *sandbox; /* what it is put behind; NULL: nothing */
    const int *fds;                     /* given to it, in this order; they stay the caller's */
    size_t fd_count;                    /* at most CHILD_FDS_MAX */
};

struct child_size {
    unsigned short columns, rows;
};

struct child_exit {
    int code;          /* exit status, -1 when a signal ended it */
    int signal;        /* 0, or the signal that ended it */
    const char *limit; /* why the shim ended it: a budget that was used up; NULL; borrowed */
    bool left;         /* of a program: something of its tree goes on, and `gone` follows */
};

struct child_events {
    /* It runs, under this number. May be NULL. */
    void (*started)(void *ctx, pid_t pid);
    /* Bytes that the tree wrote to 1 or 2, as they come; only to 1 when it is piped. */
    void (*output)(void *ctx, const char *bytes, size_t n);
    /* Piped: bytes that it wrote to 2, and: child_write() takes bytes again, or has failed. */
    void (*errors)(void *ctx, const char *bytes, size_t n);
    void (*writable)(void *ctx);
    /* The answer to child_confine(). why == NULL: it holds. May be NULL where that is not asked. */
    void (*confined)(void *ctx, const struct err *why);
    /* The answer to child_look(). May be NULL where that is not asked. */
    void (*holds)(void *ctx, bool any);
    /* The answer to child_measure(). May be NULL where that is not asked. */
    void (*measured)(void *ctx, uint64_t bytes);
    /* It met a limit that does not end it, in a sentence; may be NULL. */
    void (*limited)(void *ctx, const char *text);
    /* Its policy refused a call, in the words of spawner_on_refused(); may be NULL. */
    void (*refused)(void *ctx, const char *text);
    /* The last event but for `gone`: the child ended, and its tree with it, or (how == NULL) it
     * never ran, for this reason. */
    void (*ended)(void *ctx, const struct child_exit *how, const struct err *why);
    void (*gone)(void *ctx); /* may be NULL where there are no programs */
};

struct child;
MUST_CHECK int child_start(struct spawner *spawner, const struct child_spec *spec,
                           const struct child_events *events, void *ctx, struct child **ret,
                           struct err *e);

/* A child that somebody else puts below a shim: `ipybox shim … --adopt`, with the two descriptors
 * that are returned here for it (owned, close-on-exec). Its events are as those of any child. */
struct child_ends {
    int control; /* the shim's */
    int output;  /* the child's 1 and 2 */
};
MUST_CHECK int child_adopt(struct spawner *spawner, const struct child_events *events, void *ctx,
                           struct child_ends *ret_ends, struct child **ret, struct err *e);

/* A child that is forked from `parent`, a running one behind walls, with all that it has in memory.
 * Its events are as those of any child; `ended` without `how` when `parent` does not fork, for the
 * reason that it gives. `fds`: CHILD_FDS_MAX of them, given as those of a child. `orders`: a file
 * with what is told to both, in slots of CHILD_SLOT bytes that end with zeros. */
#define CHILD_SLOT 4096
enum child_slot { CHILD_SLOT_BRANCH, CHILD_SLOT_ORDER, CHILD_SLOT_PARENT, CHILD_SLOTS };
MUST_CHECK int child_branch(const struct child *parent, const int *fds, int orders,
                            const struct child_events *events, void *ctx, struct child **ret,
                            struct err *e);

/* A helper of the server itself, without a shim: it finds `fd` as its descriptor 3, writes to the
 * server's standard error, and has to end when the other end of fd is closed. The spawner knows the
 * one that was started last. */
MUST_CHECK int helper_start(struct spawner *spawner, const struct child_spec *spec, int fd,
                            pid_t *ret_pid, struct err *e);

/* For one that does not look at its descriptor. Does nothing when it was buried already. */
void helper_kill(struct spawner *spawner);

/* Buries processes that became the server's children when their parents died: call it on SIGCHLD,
 * in a process that is a subreaper. */
void spawner_reap(struct spawner *spawner);

void child_interrupt(struct child *child);    /* SIGINT to its process group */
void child_terminate(struct child *child);    /* SIGTERM to it; to what a program has left */
void child_freeze(struct child *child);       /* SIGSTOP to the whole tree */
void child_resume(struct child *child);       /* SIGCONT to it */
void child_look(struct child *child);         /* `holds` follows: see open_resources.h */
void child_sleep(struct child *child);        /* of a branch: SHIM_SLEEP */
void child_wake(struct child *child);         /* SHIM_WAKE */
void child_measure(struct child *child);      /* of a branch; `measured` follows */
void child_kill(struct child *child);         /* SIGKILL to the whole tree; `ended` follows */
struct child *child_end(struct child *child); /* NULL in, NULL out */
/* Of a program: it has ended itself, and what it left has its output open still. */
bool child_has_exited(const struct child *child);

/* What it writes stays where it is, and it waits when that is full, until it may go on. What is
 * there at its end is told all the same. */
void child_pause(struct child *child, bool pause);

/* Other settings for a child that has started behind a spec with settings: those of `spec`, which
 * is the first one but for them. 0: `confined` follows, unless the child ends before. */
MUST_CHECK int child_confine(struct child *child, const struct sandbox_spec *spec, struct err *e);

/* --- a piped child, or one with a terminal ---------------------------------------------------- */

/* -ENOTTY: it has no terminal. */
MUST_CHECK int child_resize(const struct child *child, const struct child_size *size);

void child_close_input(struct child *child); /* its end of file; of a terminal: nothing */

/* Returns how many of the n > 0 bytes were taken. -EAGAIN: none, `writable` comes; -EPIPE: nobody
 * reads its input any more. */
MUST_CHECK ssize_t child_write(struct child *child, const char *bytes, size_t n);

/* Gives it up in order: the end of its input; grace_ms later SIGTERM, another grace_ms later the
 * end of its tree. What it writes meanwhile is thrown away. NULL in, NULL out. */
struct child *child_end_gently(struct child *child, int64_t grace_ms);

#endif
