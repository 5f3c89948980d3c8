/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/confine/guard.h - the walls of one child, put together from its spec: policy, ruleset,
 * filter, and the broker behind them.
 * Who:     a process that is the parent of the child: a shim, or `ipybox sandbox`. It has no
 *          capability, is not dumpable, and its umask is 0 (guard_settle()).
 * Order:   guard_open(); guard_offer() on our end of the pair that confine.h describes; when that
 *          can be read, guard_accept(): the broker's threads are there, and the child goes on. An
 *          error of either must end the child, whose end of the pair does it when ours is closed.
 * Threads: one until guard_accept(); then the broker's too, which call `refused`. */
#ifndef SANDBOX_CONFINE_GUARD_H
#define SANDBOX_CONFINE_GUARD_H

#include "sandbox/broker/broker.h"
#include "sandbox/confine/spec.h"

struct guard;
MUST_CHECK int guard_open(const struct sandbox_spec *spec, struct guard **ret, struct err *e);
/* Before the broker was started; after that it lives as long as the process. NULL in, NULL out. */
struct guard *guard_free(struct guard *guard);

/* For programs that expect srt. Before guard_accept(); without a broker they change nothing.
 * write_error and proxies: as in struct broker_config. */
void guard_set_write_error(struct guard *guard, int write_error);
void guard_set_proxies(struct guard *guard, const struct net_proxies *proxies);

/* Gives up what a broker must not have, as the child was forked already. */
MUST_CHECK int guard_settle(struct err *e);

MUST_CHECK int guard_offer(struct guard *guard, int sock, struct err *e);
/* At most wait_ms for the child's answer. `refused` may be NULL. */
MUST_CHECK int guard_accept(struct guard *guard, int sock, int wait_ms,
                            void (*refused)(void *ctx, const struct refusal *refusal), void *ctx,
                            struct err *e);

bool guard_has_broker(const struct guard *guard);
/* Opens for reading wait for the broker, but for those that are marked (opens_mark.h). */
bool guard_takes_marks(const struct guard *guard);
/* How often the limit of tasks was met. */
long guard_task_refusals(const struct guard *guard);

/* NULL: walls that hide and keep nothing. The one that it was opened with. */
const struct policy *guard_policy(const struct guard *guard);

/* Other settings for the running child: those of `spec`, which is the first one but for them.
 * -EINVAL: they are wrong; -EBUSY: the child holds what they take away, or has no broker. Then all
 * is as it was. */
MUST_CHECK int guard_change(struct guard *guard, const struct sandbox_spec *spec, struct err *e);

/* What the settings of a spec mean in its place. */
MUST_CHECK int guard_policy_of(const struct sandbox_spec *spec, struct policy **ret, struct err *e);

#endif
