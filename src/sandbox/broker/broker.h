/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/broker/broker.h - performs, for the sandboxed processes below this one, the system calls
 * that their ruleset does not grant, after asking the policy; the result is handed back as a
 * descriptor.
 * Why:      a call that is checked and then continued reads its arguments a second time, from
 *           memory that hostile code changes meanwhile. Nothing is continued here that the ruleset
 *           would not refuse by itself.
 * Who:      the parent of the sandboxed process (ptrace access needs an ancestor under Yama), with
 *           the same uid, no capability, not dumpable, umask 0.
 * Threads:  BROKER_THREADS that answer, one for each call that may block (a FIFO, a connection),
 *           at most BROKER_BLOCKED_MAX; one for the DNS stub and the proxies.
 * Ends:     when the last process of the sandbox has gone, or with the process. Then every call
 *           that is notified fails with ENOSYS in whoever is left: fail closed. */
#ifndef SANDBOX_BROKER_BROKER_H
#define SANDBOX_BROKER_BROKER_H

#include <sys/types.h>

#include "sandbox/landlock/ruleset.h"

#define BROKER_THREADS 2
#define BROKER_BLOCKED_MAX 256

struct net_proxies; /* net/net.h */
struct policy;      /* policy/policy.h */

struct refusal { /* borrowed for the call */
    pid_t pid;
    const char *call; /* "openat" */
    const char *what; /* a path, "host:port" */
};

struct broker_config {
    const struct policy *policy; /* the first one; outlives the broker; NULL: walls alone */
    const struct landlock_ruleset
        *ruleset;                      /* outlives the broker; NULL: the kernel enforces nothing */
    int listener;                      /* taken */
    int tasks_max;                     /* 0: no limit */
    int write_error;                   /* errno of a refused change of files; 0: EPERM */
    const struct net_proxies *proxies; /* NULL: none; the descriptors are taken */
#ifdef IPYBOX_TESTS
    bool naive; /* proves that the attacks of the tests work: check, then let Linux do the call */
#endif
    void (*refused)(void *ctx, const struct refusal *refusal); /* from any thread */
    void *ctx;
};

struct broker;
/* -EPERM: the process is dumpable, has a umask or a capability. Whoever becomes a broker (`ipybox
 * shim`, `ipybox sandbox`) drops these first, has forked the child before, and is a subreaper if
 * tasks are counted. A child that does not exec after that has to become dumpable again itself:
 * its memory is read. */
MUST_CHECK int broker_start(const struct broker_config *config, struct broker **ret, struct err *e);
/* Every call that begins from now on is judged by this policy, which is the broker's; it is freed
 * when another one holds and the last call that began under it has ended. One that waits (for a
 * connection, at a FIFO) began when it was made. The ruleset stays as it is: it must not grant what
 * this policy takes away (policy_includes()). Any thread. */
void broker_set_policy(struct broker *broker, struct policy *policy);
/* How often the task limit was met; for the message of the cell that met it. */
long broker_task_refusals(const struct broker *broker);
/* Waits for the last process of the sandbox, if this process continues after it. NULL in, NULL
 * out. */
struct broker *broker_free(struct broker *broker);

#endif
