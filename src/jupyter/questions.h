/* SPDX-License-Identifier: Apache-2.0
 *
 * jupyter/questions.h - what a kernel was asked beside its cells and has not answered yet.
 * Owns:    the questions, each until it is answered, forgotten, or its time is over.
 * Once:    each is told once: its answer, or why there is none (-ETIMEDOUT; the one that ended
 *          them all). It must not give the kernel up.
 * Limits:  QUESTIONS_MAX at a time, QUESTION_MS each.
 * Calls:   loop thread only. No answer comes from inside question_put(). */
#ifndef JUPYTER_QUESTIONS_H
#define JUPYTER_QUESTIONS_H

#include "base/err.h"
#include "jupyter/link.h"
#include "loop/loop.h"

#define QUESTIONS_MAX 16
#define QUESTION_MS 3000

enum question_kind {
    QUESTION_COMPLETE,  /* {"code", "cursor_pos"} */
    QUESTION_INSPECT,   /* {"code", "cursor_pos", "detail_level"} */
    QUESTION_VARIABLES, /* {}: our own kernel's (variables.py) */
    QUESTION__COUNT
};

/* content: borrowed; NULL: *why says why there is none. */
typedef void (*question_fn)(void *ctx, const struct json *content, const struct err *why);

struct kernel_question;
struct questions { /* embedded in its owner, zeroed but for these: */
    struct loop *loop;
    void (*late)(void *ctx, enum question_kind kind); /* before that is told */
    void *ctx;
    struct kernel_question *first;
    size_t count;
};

/* -EAGAIN: there are too many. */
MUST_CHECK int question_put(struct questions *all, struct link *link, enum question_kind kind,
                            struct slice content, question_fn fn, void *ctx,
                            struct kernel_question **ret, struct err *e);
void question_forget(struct kernel_question *question); /* nothing is told any more */

/* A message that may be an answer. */
void questions_hear(struct questions *all, const struct jupyter_msg *m);
/* All are told why. */
void questions_end(struct questions *all, const struct err *why);

#endif
