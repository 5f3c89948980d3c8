/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/shim/shim.h - the small process above one kernel or other child: `ipybox shim` and what
 * the server says to it and hears from it.
 * Why:      whatever the child forks, hides in sessions of its own or orphans comes to the shim
 *           (a subreaper), so ending the child ends everything it started, also when the server
 *           was killed. The shim holds no data, no capability and cannot be traced.
 * Start:    the server makes socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC), keeps one end,
 *           and runs one of
 *               ipybox shim CONTROL_FD [--program] [--sandbox FD] [--given N] -- PROGRAM ARG...
 *               ipybox shim CONTROL_FD --adopt PID [--sandbox FD --confine SOCK]
 *           with the other end as CONTROL_FD (not close-on-exec), the child's 0, 1 and 2, its
 *           environment and working directory. N further descriptors, from CHILD_FIRST_FD on
 *           (spawn.h), go to the child, and no other does, whatever is open here; the shim keeps
 *           none of them, so end-of-file on a pipe of the child means that no process of the
 *           child's holds it.
 * --program: what the child leaves behind goes on when it ends, until SHIM_KILL or its own end;
 *           the file then ends behind it. Without a terminal the child leads no group and no
 *           session, so that `setsid PROGRAM` does not fork.
 * --adopt:  the calling process forked PID and then execs the shim: exec keeps children. PID has
 *           already done setsid(); it should set PR_SET_PDEATHSIG itself, and must have been
 *           forked by the main thread (that signal follows the thread).
 * Walls:    FD holds what spec.h describes. The child goes behind it before anything of it runs;
 *           then the shim is its broker (broker.h). SOCK is the broker's end of a pair as in
 *           confine.h, whose other end PID has. A child that cannot be confined is never run:
 *           FAILED. When the shim is killed every call that the broker answers fails in whoever
 *           is left.
 * Branches: kernels that are forked from the running child, each with a control socket of its own
 *           on which it is spoken of as a child is here; branch_line.h has what SHIM_FORK brings.
 *           The shim stays until the last of them has ended.
 * To it:    one byte per message, enum shim_order; with SHIM_CONFINE a descriptor as FD. End of
 *           file, also after kill -9 of the server, is SHIM_KILL. What comes before STARTED was
 *           reported is lost, but for SHIM_KILL.
 * From it:  struct shim_report per message, with a text behind it that may be empty:
 *             STARTED  once, when exec has succeeded. a = PID of the child, b = 0
 *             FAILED   instead of it. a = errno, b = enum shim_step; text: of the sandbox's step.
 *                      The last message.
 *             REFUSED  the policy has refused a call. a = the caller, b = how many refusals were
 *                      not told before (there are too many); text: "call=CALL path=PATH".
 *             LIMIT    a budget was used up. a = enum shim_limit; text: which, and how much it is.
 *             CONFINED the answer to SHIM_CONFINE. a = 0: every call of the child that begins from
 *                      now on is judged by the new settings; or an errno, text: why not. Then the
 *                      settings before hold.
 *             HOLDS    the answer to SHIM_LOOK. a = 0: nothing (open_resources.h); 1: something, or
 *             it has
 *                      not started yet.
 *             USES     the answer to SHIM_MEASURE. a = its memory, of what is shared its part, in
 *                      units of 1 << SHIM_USES_SHIFT bytes.
 *             EXITED   once after STARTED. a = exit status or -1, b = signal or 0. Before it the
 *                      shim ends what the child left behind, without grace. The last message.
 *                      Of a --program: text "left" when something is left and goes on; only LIMIT
 *                      may follow.
 *           End of file without EXITED: the shim itself was killed. The child gets KILL then
 *           (PR_SET_PDEATHSIG), its own children go to the next subreaper above.
 * Status:   0 after EXITED, 1 after FAILED, 2 for wrong words.
 * Signals:  TERM from outside is SHIM_TERMINATE and, after SHIM_TERM_GRACE_MS, SHIM_KILL; others
 *           are swallowed: what a terminal or a group is sent is not meant for the shim. */
#ifndef SANDBOX_SHIM_SHIM_H
#define SANDBOX_SHIM_SHIM_H

#include <stdint.h>

#define SHIM_TERM_GRACE_MS 2000
#define SHIM_TEXT_MAX 1024      /* bytes behind a report */
#define SHIM_REFUSALS_BURST 20  /* reports of refusals at once, */
#define SHIM_REFUSALS_SECOND 10 /* and in each second after that */
#define SHIM_LOOK_MS 200        /* between two looks at what the tree uses; more, */
#define SHIM_LOOK_SHARE 20      /* where a look takes more than this part of the time */

enum shim_order {
    SHIM_INTERRUPT = 'I', /* SIGINT to the child's process group; to it alone where it left that */
    SHIM_TERMINATE = 'T', /* SIGTERM likewise; to the tree when the child has ended */
    SHIM_FREEZE = 'Z',    /* SIGSTOP to the whole tree, until all of it stands still */
    SHIM_RESUME = 'C',    /* SIGCONT to the whole tree */
    SHIM_KILL = 'K',      /* end the whole tree at once */
    SHIM_CONFINE = 'S',   /* other settings for the running child */
    SHIM_FORK = 'F',      /* a branch of the running child: branches.h */
    SHIM_LOOK = 'L',      /* does the tree hold anything that others could miss? */
    SHIM_SLEEP = 'P',     /* of a branch alone, as the next two: branches.h */
    SHIM_WAKE = 'W',
    SHIM_MEASURE = 'M',
};

enum shim_kind {
    SHIM_STARTED = 1,
    SHIM_FAILED,
    SHIM_EXITED,
    SHIM_REFUSED,
    SHIM_LIMIT,
    SHIM_CONFINED,
    SHIM_HOLDS,
    SHIM_USES,
};

#define SHIM_USES_SHIFT 12 /* it counts in pages */

enum shim_limit {
    SHIM_LIMIT_MEMORY = 1,
    SHIM_LIMIT_TASKS,
    SHIM_LIMIT_CPU, /* of the child */
    SHIM_LIMIT_DISK,
};

enum shim_step {                      /* where a start failed */
                 SHIM_STEP_SETUP = 1, /* the shim's own: signalfd, prctl, pipe */
                 SHIM_STEP_FORK,
                 SHIM_STEP_SETSID,
                 SHIM_STEP_PARENT, /* the shim had gone already */
                 SHIM_STEP_LIMITS,
                 SHIM_STEP_EXEC,
                 SHIM_STEP_ADOPT,   /* PID is no child of ours */
                 SHIM_STEP_SANDBOX, /* the walls; the text says which part of them */
                 SHIM_STEP_BRANCH,  /* a fork of a running child */
                 SHIM_STEP__COUNT
};

struct shim_report {
    uint32_t kind; /* enum shim_kind */
    int32_t a, b;
};

/* "fork", "exec"…; "unknown step" for any other number. */
const char *shim_step_name(int step);

/* The role: argv[0] is "shim", argv[1] CONTROL_FD. Returns the exit status. */
int shim_main(int argc, char **argv);

/* The role of a branch's root (branches.h): argv[0] is "branch", argv[1] its line, argv[2] the
 * branch, which is its child. Returns the exit status. */
int branch_main(int argc, char **argv);

#endif
