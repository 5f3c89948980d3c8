/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/fakes/fake_toolplane.h - stands in for approval/toolplane.c at link time: a test plays the
 * tools under a front door. */
#ifndef FAKES_FAKE_TOOLPLANE_H
#define FAKES_FAKE_TOOLPLANE_H

#include "approval/toolplane.h"

struct fake_toolplane {
    void (*say)(void *ctx, const char *text, size_t n); /* of a registration */
    void *say_ctx;
    bool launched; /* the server is a program, of which more is known */
    int calls, approvals, cancels, resets, registrations, removals; /* so far */
    size_t open;
    const char *failed;  /* why the start of a server "broken" failed; NULL: there is none */
    bool refuse;         /* the next call is refused */
    const char *result;  /* JSON text that toolplane_put_result() writes; NULL: null */
    const char *content; /* of toolplane_put_content(); NULL: no such member */
    /* Of the last request: */
    enum toolplane_role role;
    char session[64], server[64], tool[64], params[256];
    char *arguments;
    struct request_context origin;
};

extern struct fake_toolplane fake_toolplane;

/* The n-th call that is open, the newest is 0. The reason is "" for TOOLPLANE_OK. */
void fake_toolplane_done(size_t n, enum toolplane_failure failure, const char *why);
/* The end of the registration that is under way. */
void fake_toolplane_registered(char *const *modules, size_t n, const struct err *why);
/* What a tool says of its progress; dropped when nobody watches. */
void fake_toolplane_progress(const struct toolplane_progress *p);
/* Those who listen hear that a server was registered or removed. */
void fake_toolplane_changed(void);
void fake_toolplane_clear(void);

#endif
