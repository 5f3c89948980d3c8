/* SPDX-License-Identifier: Apache-2.0
 *
 * jupyter/kernel.h - the door of the room: one IPython kernel, from its start to its end.
 * Owns:    the process tree (through a shim) and the five channels.
 * A cell:  is done when its reply came on shell and its idle status on iopub, both: either alone
 *          may overtake output that is still on its way.
 * Calls:   loop thread only; nothing blocks. Any call may be made inside an event.
 * End:     kernel_retire() asks the kernel to shut down, or kills it while a cell is running, and
 *          tells when its processes have gone: after KERNEL_RETIRE_MS they are killed, and only
 *          what sleeps in the system is not waited for. kernel_kill() does not wait. Both give the
 *          kernel up: no event comes after them. */
#ifndef JUPYTER_KERNEL_H
#define JUPYTER_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "jupyter/questions.h"
#include "jupyter/template.h"
#include "jupyter/tokens.h"
#include "jupyter/zsock.h"
#include "loop/loop.h"
#include "sandbox/shim/spawn.h"
#include "wire/jupyter_msg.h"

/* For handlers at exit and open files; ipykernel itself can take 29 s. */
#define KERNEL_RETIRE_MS 1500

struct kernel_config { /* borrowed, for as long as a kernel of it lives */
    struct loop *loop;
    struct spawner *spawner;
    struct zctx *zctx;
    const char *channels; /* the directory of its sockets' names, which no other kernel enters */
    bool alone;           /* nobody but this process is to connect to a kernel: no gateway */
    const char *python;
    const char *const *envp;
    const char *cwd;
    int64_t start_timeout_ms;
    struct template *template;          /* NULL: kernels start the ordinary way */
    struct tokens *tokens;              /* each kernel gets one of its own; NULL: none */
    const struct sandbox_spec *sandbox; /* what kernels are put behind; NULL: nothing */
};

struct kernel_events {
    void (*ready)(void *ctx); /* it answered; the next call may be kernel_execute() */
    /* iopub messages but status, and but those of other clients' requests; `current`: it belongs to
     * the running cell. */
    void (*message)(void *ctx, const struct jupyter_msg *m, bool current);
    /* Those of other clients' requests, status too. May be NULL. */
    void (*external)(void *ctx, const struct jupyter_msg *m);
    void (*done)(void *ctx, const struct json *reply); /* the content of execute_reply, or NULL */
    void (*heartbeat)(void *ctx, bool alive);
    void (*limited)(void *ctx, const char *text); /* a budget was met, in a sentence; may be NULL */
    void (*refused)(void *ctx,
                    const char *text); /* a call, by the sandbox (spawn.h); may be NULL */
    /* Of one that was forked from another (kernel_fork()): that goes on; may be NULL. */
    void (*forked)(void *ctx);
    void (*measured)(void *ctx, uint64_t bytes); /* kernel_measure(); likewise */
    /* The last event: the process ended or never came up. `last_words`: the end of what it wrote
     * to its own standard error, "" mostly. */
    void (*ended)(void *ctx, const struct err *why, const char *last_words);
};

struct kernel;
MUST_CHECK int kernel_start(const struct kernel_config *config, const struct kernel_events *events,
                            void *ctx, struct kernel **ret, struct err *e);

struct kernel_branch { /* how a kernel is forked from another */
    bool force;        /* though the fork may lack what the other has (docs/fork.md) */
    bool keep_random;  /* its random states are the other's, not new ones */
    bool renew;        /* the other is told another token: the fork knows of the one before */
    bool same_session; /* it may take the other's place, and is not kept from it */
};

/* A kernel that begins with all that `parent`, which must be idle, has in memory. Its first event
 * is `forked` or `ended`. -EBUSY: a cell is running; -EDOM: such kernels cannot be forked. */
MUST_CHECK int kernel_fork(struct kernel *parent, const struct kernel_branch *how,
                           const struct kernel_config *config, const struct kernel_events *events,
                           void *ctx, struct kernel **ret, struct err *e);
/* The last of the forks has `forked`: from now on only the token counts that they do not know. */
void kernel_renew(struct kernel *parent);

/* Of a fork that is ready: all of its processes stand still, and its memory counts with that of the
 * kernel that it was forked from (branches.h), until it is woken in that one's place. */
void kernel_sleep(struct kernel *kernel, bool sleep);
/* `measured` follows, or `ended`: the memory of a fork, of what is shared its part. */
void kernel_measure(struct kernel *kernel);

/* Another owner: events go to it from now on. `finish_first`: a cell is running that it knows
 * nothing of; its end is told as `ready`. */
void kernel_rebind(struct kernel *kernel, const struct kernel_events *events, void *ctx,
                   bool finish_first);

/* The session that its code acts for (tokens.h); at most TOKEN_OWNER_MAX bytes. */
void kernel_set_owner(struct kernel *kernel, const char *owner);

enum kernel_code {
    KERNEL_ASIDE,       /* no user's */
    KERNEL_CELL,        /* gets a number and is kept in the kernel's history */
    KERNEL_CELL_TELLING /* likewise; the reply names the variables that there are then */
};

/* One at a time. -EBUSY: not ready, or a cell is running. */
MUST_CHECK int kernel_execute(struct kernel *kernel, struct slice code, enum kernel_code kind,
                              struct err *e);

/* Something beside its cells (questions.h). -EBUSY: it is not up; of code, also while a cell runs:
 * the kernel would not look at it before. A question about code that is not answered in time is
 * interrupted, unless a cell waits behind it: its own timeout interrupts both. */
MUST_CHECK int kernel_ask(struct kernel *kernel, enum question_kind kind, struct slice content,
                          question_fn fn, void *ctx, struct kernel_question **ret, struct err *e);

/* KeyboardInterrupt in the running cell, whatever it waits for. */
void kernel_interrupt(struct kernel *kernel);

/* What another client needs to connect to it: the text of its connection file. Borrowed. */
const char *kernel_connection(const struct kernel *kernel);

/* Other settings of its sandbox, while it runs. 0: done is called once, at the latest when the
 * kernel is given up; why == NULL: every call that its processes begin from now on is judged by
 * them. -EBUSY: it is not up, or another change is under way. */
MUST_CHECK int kernel_confine(struct kernel *kernel, const char *settings,
                              void (*done)(void *ctx, const struct err *why), void *ctx,
                              struct err *e);

void kernel_freeze(struct kernel *kernel); /* its whole tree stands still, until it is resumed */
/* SIGCONT to all of its processes; also for one that was stopped and missed its heartbeats. */
void kernel_resume(struct kernel *kernel);

struct kernel_leave {
    /* Its processes hold nothing any more that another kernel could miss (open_resources.h). */
    void (*released)(void *ctx);
    void (*gone)(void *ctx);
};

/* Both take NULL and return NULL. `released` and then `gone` are called once, maybe before
 * kernel_retire() returns. */
struct kernel *kernel_retire(struct kernel *kernel, const struct kernel_leave *leave, void *ctx);
struct kernel *kernel_kill(struct kernel *kernel);

/* Of one that is retiring, before it was released: somebody waits for that. Unasked it is told at
 * the end only. */
void kernel_look(struct kernel *kernel);

/* Removes from the directory what a server that was killed has left behind: the names of kernels'
 * sockets. Before the first kernel is opened. */
void kernel_clean_channels(const char *channels);

#endif
