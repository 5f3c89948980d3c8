/* SPDX-License-Identifier: Apache-2.0
 *
 * approval/policy.h - decisions without a human: rules, budgets, pinned tools and remembered grants
 * (private to session/).
 * Order:  the first rule that matches decides. "deny" and a used budget come before every grant; a
 *         grant stands in for an "ask".
 * Globs:  * any characters, ? one character; nothing else is special, case counts.
 * Limits: POLICY_RULES_MAX rules; GRANTS_MAX grants, the oldest makes room; PINS_MAX pinned tools,
 *         what cannot be pinned is asked.
 * Calls:  plain functions, no events. */
#ifndef APPROVAL_POLICY_H
#define APPROVAL_POLICY_H

#include "approval/approvals.h"

#define POLICY_RULES_MAX 10000
#define POLICY_GRANTS_MAX 4096
#define POLICY_PINS_MAX 16384

struct approval_policy;
MUST_CHECK int policy_open(const struct approvals_config *config, struct approval_policy **ret,
                           struct err *e);
struct approval_policy *policy_close(struct approval_policy *policy); /* NULL in, NULL out */

enum policy_action { POLICY_ALLOW, POLICY_ASK, POLICY_DENY };

struct policy_judgement {
    enum policy_action action;
    int rule;      /* which one, -1: none; its budget has one call less unless denied */
    bool granted;  /* allowed by a grant, one of whose calls it took */
    char why[200]; /* denied: why; ask: what is special about it, or "" */
};

void policy_judge(struct approval_policy *policy, const struct approval_subject *subject,
                  int64_t now_ms, struct policy_judgement *ret);
void policy_give_back(struct approval_policy *policy, int rule); /* the call is not made */

/* A grant as the decision asks for; nothing when it asks for none. */
void policy_remember(struct approval_policy *policy, const struct approval_subject *subject,
                     const struct approval_decision *decision, int64_t now_ms);

/* True when a grant covers it; takes one of its calls. A grant for another digest of the tool ends
 * here. */
bool policy_use_grant(struct approval_policy *policy, const struct approval_subject *subject,
                      int64_t now_ms);

void policy_forget(struct approval_policy *policy, const char *session); /* its grants end */

#endif
