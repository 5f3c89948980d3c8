/* SPDX-License-Identifier: Apache-2.0
 *
 * The policy in force, and those that calls which were begun before are still judged by. Looking at
 * it and counting oneself among its users must be one act, or it could be gone in between: hence a
 * lock, held for that alone. */
#include "base/alloc.h"
#include "sandbox/broker/broker_internal.h"

struct policy_reference {
    const struct policy *policy;
    struct policy *own; /* freed with it; NULL: lent */
    unsigned users;     /* the broker is one of them while it is in force */
};

static struct policy_reference *policy_reference_new(const struct policy *policy,
                                                     struct policy *own)
{
    struct policy_reference *reference = NEW(struct policy_reference);
    *reference = (struct policy_reference){.policy = policy, .own = own, .users = 1};
    return reference;
}

void policy_reference_first(struct broker *broker, const struct policy *policy)
{
    (void)pthread_mutex_init(&broker->policy_reference_lock, NULL);
    broker->reference = policy_reference_new(policy, NULL);
}

struct policy_reference *policy_reference_take(struct broker *broker)
{
    (void)pthread_mutex_lock(&broker->policy_reference_lock);
    struct policy_reference *reference = broker->reference;
    reference->users++;
    (void)pthread_mutex_unlock(&broker->policy_reference_lock);
    return reference;
}

void policy_reference_keep(struct broker *broker, struct policy_reference *reference)
{
    (void)pthread_mutex_lock(&broker->policy_reference_lock);
    reference->users++;
    (void)pthread_mutex_unlock(&broker->policy_reference_lock);
}

void policy_reference_drop(struct broker *broker, struct policy_reference *reference)
{
    (void)pthread_mutex_lock(&broker->policy_reference_lock);
    bool last = --reference->users == 0;
    (void)pthread_mutex_unlock(&broker->policy_reference_lock);
    if (!last)
        return;
    (void)policy_free(reference->own);
    xfree(reference);
}

const struct policy *policy_reference_policy(const struct policy_reference *reference)
{
    return reference->policy;
}

void broker_set_policy(struct broker *broker, struct policy *policy)
{
    struct policy_reference *next = policy_reference_new(policy, policy);
    (void)pthread_mutex_lock(&broker->policy_reference_lock);
    struct policy_reference *before = broker->reference;
    broker->reference = next;
    (void)pthread_mutex_unlock(&broker->policy_reference_lock);
    policy_reference_drop(broker, before);
}

void policy_reference_last(struct broker *broker)
{
    policy_reference_drop(broker, broker->reference);
    broker->reference = NULL;
    (void)pthread_mutex_destroy(&broker->policy_reference_lock);
}
