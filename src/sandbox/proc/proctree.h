/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/proc/proctree.h - signals, ends and reaps everything below the calling process.
 * Caller:  one thread of a process that is PID 1 or has PR_SET_CHILD_SUBREAPER: an orphan comes
 *          to it, so "waitpid says ECHILD" means that nothing is left below. The server itself
 *          never calls this: it blocks.
 * Finds:   descendants by walking up the parent links of /proc/PID/stat, whatever sessions or
 *          groups they moved to. Nothing else is signalled: the link is read again under a pidfd,
 *          so a PID that was reused in between is left alone.
 * Roots:   processes below us whose trees are not ours to look at: a shim has one for each branch
 *          (branches.h). They and what is below them are left out, until proctree_enter() makes one
 *          of them the place below which everything here looks, or proctree_join() adds some.
 * Memory:  constant (one small table of verdicts), however large the tree is.
 * Not here: who is started and why (shim.h, spawn.h, entrypoint/init.h). */
#ifndef SANDBOX_PROC_PROCTREE_H
#define SANDBOX_PROC_PROCTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct proctree_stat { /* the first fields of /proc/PID/stat, see proc(5) */
    char state;        /* R S D T t Z X I */
    pid_t ppid, pgrp, session;
    int32_t terminal; /* that controls it, as the kernel writes device numbers there; 0: none */
};

#define PROCTREE_ROOTS_MAX 128

/* -ENOSPC: there are too many; -EEXIST: it is one. */
MUST_CHECK int proctree_add_root(pid_t pid);
void proctree_remove_root(pid_t pid);

/* What follows is about the tree below this root; 0: about our own, without those of the roots. */
void proctree_enter(pid_t root);
pid_t proctree_entered(void);

/* And about those below these roots, who are not signalled, until it is called with none.
 * Borrowed. */
void proctree_join(const pid_t *roots, size_t count);

pid_t proctree_parent(pid_t pid); /* 0: unknown */

/* Whether the chain of its parents leads to us, through roots too. */
bool proctree_is_below(pid_t pid);

/* Parses the text of a /proc/PID/stat. The name in it may hold spaces, parentheses and newlines:
 * everything up to the last ')' is skipped. -EBADMSG: not such a text. */
MUST_CHECK int proctree_parse(const char *text, struct proctree_stat *ret);

/* Calls fn for every descendant that has not ended, with a number under which /proc shows it: that
 * of another thread where the first one has ended; and for the root that was entered and those
 * that have joined. Returns 0 or
 * as proctree_signal(). */
int proctree_each(void (*fn)(void *ctx, pid_t pid), void *ctx);

/* Sends `sig` once to every descendant that has not ended. Returns how many were signalled, or a
 * negative errno: /proc cannot be read or shows another PID namespace. Children forked while it
 * looks may be missed; proctree_end() is what makes sure. */
int proctree_signal(int sig);

/* SIGSTOP to all, parents first, until nothing runs; and SIGCONT, children first: so none of them
 * sees that another one was stopped. Returns 0 or as proctree_signal(). */
int proctree_freeze(void);
int proctree_thaw(void);

/* Ends the whole tree and reaps it: TERM (and CONT, so that stopped ones can act on it) to all, up
 * to `grace_ms` for them to go, then rounds of STOP and KILL until no child is left. 0 skips the
 * TERM. Returns 0, or a negative errno when /proc cannot tell who they are; then direct children
 * may be left. A child that the system cannot end (uninterruptible sleep) is waited for. Where
 * there are roots it is over when nothing runs that is not theirs. */
int proctree_end(int64_t grace_ms);

/* The same, and keeps the wait status of one child: *ret_status is written when `pid` was reaped
 * here and is left alone otherwise. */
int proctree_end_and_note(int64_t grace_ms, pid_t pid, int *ret_status);

/* SIGKILL to all that is below the root that was entered, which stands still, until nobody of it
 * lives, at most for wait_ms; whether that is so. Its zombies are the root's to reap. */
bool proctree_end_entered(int64_t wait_ms);

#endif
