/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/fakes/fake_kernel.h - stands in for jupyter/kernel.c at link time: a test plays the
 * kernel. */
#ifndef FAKES_FAKE_KERNEL_H
#define FAKES_FAKE_KERNEL_H

#include "jupyter/kernel.h"

struct fake_kernel {
    int starts, interrupts, kills, retires, looks, resumes, freezes; /* calls so far */
    int forks, renewals, sleeps, wakes, measures;
    bool same_session; /* of the last kernel_fork() */
    bool fail_start;   /* the next kernel_start() answers -ENOENT, and kernel_fork() -EDOM */
    bool finish_first; /* of the last kernel_rebind() */
    bool hold_retired; /* a retired kernel stays: fake_kernel_released(), then fake_kernel_gone() */
    char code[1024];   /* of the last cell */
    char owner[80];    /* as kernel_set_owner() had it last */
    char settings[1024];          /* as kernel_confine() had them last */
    char started_with[1024];      /* the settings of the last start; "": none */
    char environment[256];        /* its first variable; "": there is none */
    struct sandbox_limits limits; /* of the last start */
    char asked[256];              /* the last question, as it went to the kernel */
    struct kernel *current;       /* the last that was started; a test may set another */
    struct kernel *first;
};

extern struct fake_kernel fake;

/* What the kernel does: */
void fake_kernel_ready(void);
void fake_kernel_forked(void); /* of a fork */
void fake_kernel_stream(const char *text, bool current);
void fake_kernel_message(enum jupyter_type type, const char *content); /* of the running cell */
void fake_kernel_input(void);                                          /* the cell's code begins */
void fake_kernel_error(const char *ename, const char *evalue);
void fake_kernel_external(enum jupyter_type type, const char *request, const char *content);
void fake_kernel_done(const char *reply); /* JSON text of an execute_reply */
void fake_kernel_dies(const char *why, const char *last_words);
void fake_kernel_heartbeat(bool alive);
void fake_kernel_limited(const char *text);
void fake_kernel_refused(const char *text);
void fake_kernel_measured(uint64_t bytes);
void fake_kernel_released(void);
void fake_kernel_gone(void);
void fake_kernel_answers(const char *content, int code); /* the question; NULL: it does not */
bool fake_kernel_is_asked(void);
void fake_kernel_confined(int code, const char *why); /* the answer to it; NULL: they hold */

#endif
