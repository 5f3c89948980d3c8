/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/confine/confine.h - how a process puts itself behind the walls, and gets them from its
 * broker.
 * Between: two ends of socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC).
 *          broker -> child  struct confine_offer with descriptors: the Landlock ruleset, if any,
 *                           and a memfd with the seccomp program
 *          child -> broker  struct confine_answer, with the listener if one was asked for
 *          broker -> child  one byte: go on
 *          The end of file instead of any of these ends the child: it must not run unconfined.
 * Child:   runs raw system calls on its stack only, so it may be a fork of a process with threads.
 *          One thread at the time: Landlock binds the calling thread and its children.
 *          rootfs/opt/ipybox/python/ipybox_kernel/confine.py speaks the same in a forked kernel. */
#ifndef SANDBOX_CONFINE_CONFINE_H
#define SANDBOX_CONFINE_CONFINE_H

#include <stdint.h>
#include <sys/resource.h>

#include "base/err.h"
#include "sandbox/landlock/ruleset.h"
#include "sandbox/seccomp/filter.h"

#define CONFINE_LIMITS_MAX 8

struct confine_offer {
    uint32_t version;     /* CONFINE_VERSION */
    uint32_t has_ruleset; /* the first descriptor is one */
    uint32_t wants_listener;
    uint32_t filter_count; /* instructions in the memfd */
    uint32_t limit_count;
    struct {
        uint32_t resource; /* RLIMIT_* */
        uint32_t pad;
        uint64_t most; /* soft and hard */
    } limits[CONFINE_LIMITS_MAX];
};

#define CONFINE_VERSION 1

enum confine_step { /* where it failed */
                    CONFINE_OFFER = 1,
                    CONFINE_CAPABILITIES,
                    CONFINE_PRIVILEGES,
                    CONFINE_LIMITS,
                    CONFINE_LANDLOCK,
                    CONFINE_SECCOMP,
                    CONFINE_GO,
                    CONFINE__COUNT
};

struct confine_answer {
    int32_t error; /* 0, or errno at `step` */
    int32_t step;  /* enum confine_step */
};

const char *confine_step_name(int step);

/* The broker's half. ruleset may be -1. */
MUST_CHECK int confine_send(int sock, int ruleset, const struct sock_filter *filter,
                            unsigned short count, bool listener, const struct confine_offer *limits,
                            struct err *e);
/* Waits for the answer, at most wait_ms; *ret_listener is owned, -1 when none was asked for. */
MUST_CHECK int confine_receive(int sock, int wait_ms, int *ret_listener, struct err *e);
MUST_CHECK int confine_release(int sock, struct err *e);

/* The child's half: 0, or a negative errno with the step at *ret_step; then it must _exit(). */
MUST_CHECK int confine_self(int sock, int *ret_step);

#endif
