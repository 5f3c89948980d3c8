/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/fakes/fake_kernels.h - stands in for session/kernels/kernels.c at link time: a test plays
 * the kernels under the supervisor's socket. */
#ifndef FAKES_FAKE_KERNELS_H
#define FAKES_FAKE_KERNELS_H

#include "session/kernels/kernels.h"

struct fake_kernels {
    struct kernels_item items[8]; /* those with an id are there */
    char calls[1024];             /* "launch ID CWD; kill ID; " … */
    int refuse;                   /* what the next call fails with */
};

extern struct fake_kernels fake_kernels;

#endif
