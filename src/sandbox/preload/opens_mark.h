/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/preload/opens_mark.h - how an open says that the ruleset alone may judge it.
 * openat(2) reads four of the six argument registers, and a filter sees all six. The filter lets an
 * openat with the mark in the other two pass without the broker if it only reads
 * (filter_rules.c); opens.c sets the mark. It is no secret: whoever sets it gets what Landlock
 * grants, which is docs/sandbox-broker.md's whole promise for the answer "continue".
 * Include: after a header that has O_*; opens.c and filter_rules.c take different ones. */
#ifndef SANDBOX_PRELOAD_OPENS_MARK_H
#define SANDBOX_PRELOAD_OPENS_MARK_H

#define OPENS_MARK_5TH 0x1b0c0de5L
#define OPENS_MARK_6TH 0x0be25f1cL

/* The kernel's O_LARGEFILE; glibc's own says 0. */
#if defined __x86_64__
#define OPENS_LARGEFILE 0100000
#else
#define OPENS_LARGEFILE 0400000
#endif

/* O_RDONLY is 0: what may stand beside it. None of these writes, makes or truncates a file. */
#define OPENS_FLAGS (O_CLOEXEC | O_DIRECTORY | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK | OPENS_LARGEFILE)

#endif
