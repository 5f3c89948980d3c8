/* SPDX-License-Identifier: Apache-2.0
 *
 * approval/approvals.h - whether a tool may be called: the policy, and the humans who are asked.
 * Policy:  rules in order, the first that matches a server/tool decides: allow, ask or deny. None
 *          matches: the default. A remembered grant stands before the rules' "ask", never before a
 *          "deny"; it ends with its lifetime, its number of calls, its session, and when the digest
 *          of the tool is another one. A rule may have a budget of calls, then it denies; an
 *          "allow" may be pinned to the tool's digest, then it asks for any other.
 * Asked:   approvers in the order of their rank, then of their coming; the best that is there gets
 *          the question, and the next one when it leaves or passes. None: it fails at once
 *          ("Approval channel not connected").
 * Closed:  what is not decided in time has expired; what cannot be asked has failed; neither is a
 *          permission.
 * Calls:   loop thread only; nothing blocks. Events come from the loop, never from inside a call.
 * Limits:  APPROVALS_PENDING_MAX wait, with APPROVALS_BYTES_MAX of arguments, more fail; arguments
 *          are shown in full. */
#ifndef APPROVAL_APPROVALS_H
#define APPROVAL_APPROVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/audit.h"
#include "base/err.h"
#include "base/json/json.h"
#include "loop/loop.h"
#include "session/events/metrics.h"

#define APPROVALS_PENDING_MAX 1000
#define APPROVALS_BYTES_MAX ((size_t)64 << 20)
#define APPROVALS_ID_MAX 40

struct approvals_config { /* copied */
    struct loop *loop;
    int64_t timeout_ms;        /* for an answer; 0: none */
    bool ask_by_default;       /* what no rule matches: ask, else allow */
    const char *ask_for;       /* a server that no default allows, or NULL; not copied */
    const struct json *policy; /* rules, or NULL (approvals_check_policy()) */
    struct metrics *metrics;   /* NULL: nobody counts */
    struct audit *audit;       /* NULL: there is none; what it cannot take is not accepted */
};

struct approvals;
/* {"default": "ask", "rules": [{"server": "git*", "tool": "git_*", "action": "allow",
 *  "max_calls": 10, "pin": true, "digest": "…"}, …]}; unknown members are errors: -EINVAL names the
 *  place. docs/approvals.md has the whole form. */
MUST_CHECK int approvals_check_policy(const struct json *policy, struct err *e);
MUST_CHECK int approvals_open(const struct approvals_config *config, struct approvals **ret,
                              struct err *e);
/* No event comes any more; the approvers have left before. Not from inside an event. */
struct approvals *approvals_close(struct approvals *approvals); /* NULL in, NULL out */

/* What one session is held to beside the policy, which it can only make stricter. */
enum approvals_strictness {
    APPROVALS_BY_POLICY,
    APPROVALS_ASK_ALL, /* what the policy allows is asked, too, unless there is a grant */
    APPROVALS_DENY_ALL,
};
struct approvals_rule { /* copied; zeroed: by the policy and the server's time */
    enum approvals_strictness strictness;
    bool own_timeout;
    int64_t timeout_ms; /* in place of the server's; 0: none */
};
void approvals_restrict(struct approvals *approvals, const char *session,
                        const struct approvals_rule *rule);

/* `to` gets the rule of `from`, and none of what was granted for it. */
void approvals_copy_rule(struct approvals *approvals, const char *from, const char *to);

/* The session has ended: what was granted for it, and its rule, is forgotten. */
void approvals_forget(struct approvals *approvals, const char *session);

/* --- those who want to call ------------------------------------------------------------------ */

enum approval_verdict {
    APPROVAL_ACCEPTED,
    APPROVAL_REJECTED, /* by a human or a rule */
    APPROVAL_EXPIRED,
    APPROVAL_FAILED, /* nobody could be asked */
};

struct approval_subject { /* copied */
    const char *session;  /* id of the session that the caller belongs to */
    const char *server;   /* "ipybox" for shell commands, as the old system has it */
    const char *shown;    /* the server's real command line or URL */
    const char *tool;
    const char *arguments;  /* JSON text of an object, complete */
    const char *digest;     /* of the tool; "" when it has none */
    const char *request_id; /* that made the call, for the audit log; NULL or "": unknown */
};

struct approval;
/* decided: the last event; why is a sentence ("" when accepted). *ret is good until then, also when
 * nobody needs to be asked. -ENOMEM. */
MUST_CHECK int approvals_ask(struct approvals *approvals, const struct approval_subject *subject,
                             void (*decided)(void *ctx, enum approval_verdict verdict,
                                             const char *why),
                             void *ctx, struct approval **ret, struct err *e);

struct approval_question { /* a form of a tool's server, for a human to fill in; copied */
    const char *session, *server, *shown; /* as above */
    const char *form;                     /* JSON text of an object: params of elicitation/create */
};

/* Asked only from approvers that can; no policy stands before it. answered: the last event, with
 * the result of elicitation/create as JSON text: {"action":"decline"} when nobody can be asked,
 * {"action":"cancel"} when no answer came in time. */
MUST_CHECK int approvals_elicit(struct approvals *approvals,
                                const struct approval_question *question,
                                void (*answered)(void *ctx, const char *result), void *ctx,
                                struct approval **ret, struct err *e);
/* Whether there is at present one who could be asked. */
bool approvals_can_elicit(const struct approvals *approvals, const char *session);

void approval_withdraw(struct approval *approval); /* the caller is gone; no event */

/* How many wait for an answer for this session; `changed` tells when there is one and when there is
 * none any more: in between the clock of its cells stands still. One watcher. */
size_t approvals_waiting(const struct approvals *approvals, const char *session);
void approvals_watch(struct approvals *approvals,
                     void (*changed)(void *ctx, const char *session, bool waiting), void *ctx);

/* --- those who decide ------------------------------------------------------------------------ */

struct approval_view { /* borrowed for the call */
    const char *id;    /* unguessable */
    struct approval_subject subject;
    const char *form;   /* of a question, whose subject has no tool and no arguments; else NULL */
    const char *note;   /* why it is asked although a rule allows it, or "" */
    int64_t expires_ms; /* loop time, 0: never */
    int rank;           /* of the approver who has it, by approvals_next(); -1: nobody yet */
};

struct approver_config {                            /* copied */
    int rank;                                       /* the lowest is asked first: APPROVER_… */
    const char *session;                            /* asked only for this one; NULL: for all */
    bool (*covers)(void *ctx, const char *session); /* and for these; NULL: no others */
    void (*ask)(void *ctx, const struct approval_view *view);    /* NULL: takes questions alone */
    void (*elicit)(void *ctx, const struct approval_view *view); /* NULL: takes no questions */
    /* Decided elsewhere, expired or withdrawn: no answer is needed any more. The outcome is one of
     * struct approvals_listener, or "moved": another approver is asked instead. */
    void (*settled)(void *ctx, const char *id, const char *outcome);
    void *ctx;
};
enum {
    APPROVER_CHANNEL,
    APPROVER_API,
    APPROVER_CLIENT,
    APPROVER_API_QUESTIONS, /* of questions: a client that has forms is nearer to its human */
    APPROVER_API_AWAY,      /* the API while nobody looks at it */
};

struct approver;
struct approver *approver_join(struct approvals *approvals, const struct approver_config *config);
/* Its open questions go to the next one, or fail: "Approval channel disconnected". */
struct approver *approver_leave(struct approver *approver); /* NULL in, NULL out */
/* Another rank: what waits goes to it from those behind it, and from it to those before it. */
void approver_move(struct approver *approver, int rank);
/* Whether it is the one who may decide this one. approver == NULL: no. */
bool approver_holds(const struct approver *approver, const char *id);

struct approval_decision { /* a grant covers also those of its session that wait already */
    bool accept;
    int64_t remember_ms;     /* > 0: a grant for this server/tool that long … */
    uint32_t remember_calls; /* … or for so many calls; 0: no limit */
};
/* -ENOENT: it waits no more, or is not this approver's. */
MUST_CHECK int approver_decide(struct approver *approver, const char *id,
                               const struct approval_decision *decision, struct err *e);

/* The answer to a question: JSON text of an object. -ENOENT likewise. */
MUST_CHECK int approver_answer(struct approver *approver, const char *id, const char *result,
                               struct err *e);

/* It cannot show this one: the next approver is asked, as if this one were not there. */
MUST_CHECK int approver_pass(struct approver *approver, const char *id, struct err *e);

/* Every one that waits, oldest first: *at is 0 first. Nothing may change in between. */
bool approvals_next(const struct approvals *approvals, size_t *at, struct approval_view *ret);

/* Hears of every one, whoever is asked. Its functions must close nothing. */
struct approvals_listener { /* embedded in its owner */
    struct approvals_listener *prev, *next;
    void (*asked)(void *ctx); /* an approver has got a question; approvals_next() has it */
    /* "accepted", "rejected", "expired", "failed", "answered" (a question) or "withdrawn" */
    void (*settled)(void *ctx, const char *id, const char *outcome);
    void *ctx;
};
void approvals_listen(struct approvals *approvals, struct approvals_listener *listener);
void approvals_unlisten(struct approvals *approvals, struct approvals_listener *listener);

#endif
