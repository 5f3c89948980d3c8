/* SPDX-License-Identifier: Apache-2.0
 *
 * base/err.h - errors are values: a code and a sentence on the caller's stack.
 * Rule:   a function that can fail returns 0 (or a count) or a negative errno and takes
 *         `struct err *` last; on success neither it nor any `ret_` output has been touched before.
 * Memory: none is allocated, so errors work out of memory, after fork and in PID 1.
 * NULL:   every function takes e == NULL, for callers who want only the code. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <errno.h>

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

struct err {
    int code;      /* negative errno */
    char msg[400]; /* a sentence without a final full stop, cut at a character's boundary */
};

#define ERR_NONE (struct err){0}

/* Fills *e and returns `code`, so that it can be returned at once. */
int err_set(struct err *e, int code, const char *fmt, ...) PRINTF(3, 4);

/* The sentence, then the end of the words: what a program says last is why it failed. Cut at the
 * beginning of a line where there is one, and marked with an ellipsis. */
int err_set_words(struct err *e, int code, const char *sentence, const char *words);

/* Puts "context: " before the message and returns the code that is already there. */
int err_wrap(struct err *e, const char *fmt, ...) PRINTF(2, 3);

#endif
