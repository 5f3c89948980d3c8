/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/fakes/fake_link.h - stands in for jupyter/link.c at link time: a test plays the channels of
 * one kernel.
 * State:   of the one link that there is. `sent` has the types of all requests, one a line; the ids
 *          that they get are "r1", "r2" … */
#ifndef FAKES_FAKE_LINK_H
#define FAKES_FAKE_LINK_H

#include "jupyter/link.h"

struct fake_link {
    const struct link_events *events;
    void *ctx;
    char sent[1000];
    int requests;
    bool open, has_fds, silent;
};

extern struct fake_link fake_link;

/* A message of the kernel: `parent` is the id of the request that it belongs to, `session` that of
 * who made it ("ours": this server), `content` JSON text. */
void fake_link_say(enum link_channel channel, enum jupyter_type type, const char *parent,
                   const char *session, const char *content);

#endif
