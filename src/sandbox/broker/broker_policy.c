/* SPDX-License-Identifier: Apache-2.0
 *
 * The policy in force, and those that calls which were begun before are still judged by. Looking at
 * it and counting oneself among its users must be one act, or it could be gone in between: hence a
 * lock, held for that alone. */
#include "base/alloc.h"
#include "sandbox/broker/broker_parts.h"

struct ruling {
    const struct policy *policy;
    struct policy *own; /* freed with it; NULL: lent */
    unsigned users;     /* the broker is one of them while it is in force */
};

static struct ruling *ruling_new(const struct policy *policy, struct policy *own)
{
    struct ruling *ruling = NEW(struct ruling);
    *ruling = (struct ruling){.policy = policy, .own = own, .users = 1};
    return ruling;
}

void ruling_first(struct broker *broker, const struct policy *policy)
{
    (void)pthread_mutex_init(&broker->ruling_lock, NULL);
    broker->ruling = ruling_new(policy, NULL);
}

struct ruling *ruling_take(struct broker *broker)
{
    (void)pthread_mutex_lock(&broker->ruling_lock);
    struct ruling *ruling = broker->ruling;
    ruling->users++;
    (void)pthread_mutex_unlock(&broker->ruling_lock);
    return ruling;
}

void ruling_keep(struct broker *broker, struct ruling *ruling)
{
    (void)pthread_mutex_lock(&broker->ruling_lock);
    ruling->users++;
    (void)pthread_mutex_unlock(&broker->ruling_lock);
}

void ruling_drop(struct broker *broker, struct ruling *ruling)
{
    (void)pthread_mutex_lock(&broker->ruling_lock);
    bool last = --ruling->users == 0;
    (void)pthread_mutex_unlock(&broker->ruling_lock);
    if (!last)
        return;
    (void)policy_free(ruling->own);
    xfree(ruling);
}

const struct policy *ruling_policy(const struct ruling *ruling)
{
    return ruling->policy;
}

void broker_set_policy(struct broker *broker, struct policy *policy)
{
    struct ruling *next = ruling_new(policy, policy);
    (void)pthread_mutex_lock(&broker->ruling_lock);
    struct ruling *before = broker->ruling;
    broker->ruling = next;
    (void)pthread_mutex_unlock(&broker->ruling_lock);
    ruling_drop(broker, before);
}

void ruling_last(struct broker *broker)
{
    ruling_drop(broker, broker->ruling);
    broker->ruling = NULL;
    (void)pthread_mutex_destroy(&broker->ruling_lock);
}
