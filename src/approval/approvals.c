/* SPDX-License-Identifier: Apache-2.0
 *
 * Who completes an approval: decide_approval() (policy, approver, timer, nobody to ask) or
 * approval_withdraw() (the caller is gone). Both only mark it as ended; end_approval() does nothing
 * the second time. on_due(), in the next turn of the loop, is the one place from which events go
 * out: listeners, then `settled` to who holds the question, then `decided` or `answered` once, and
 * the approval is freed. A withdrawn one tells its caller nothing.
 * Re-entry: no event comes from inside a call; what an event causes makes the approval due
 * again. */
#include "approval/approvals.h"

#include <stdio.h>
#include <string.h>

#include "approval/policy.h"
#include "base/alloc.h"
#include "base/list.h"
#include "base/random.h"

enum { ID_BYTES = 16 };

static const char not_connected[] = "Approval channel not connected";
static const char disconnected[] = "Approval channel disconnected";
static const char declined[] = "{\"action\":\"decline\"}";
static const char cancelled[] = "{\"action\":\"cancel\"}";

struct approver {
    struct approvals *approvals;
    struct approver *next;
    struct approver_config config;
    char *session;
    uint64_t seq; /* of equal rank, the one who came first */
};

struct waiting_approval { /* of one session */
    struct waiting_approval *next;
    char *session;
    size_t count;
    bool told;
};

struct restricted { /* a session that is stricter than the policy, or has a time of its own */
    struct restricted *next;
    char *session;
    struct approvals_rule rule;
};

struct approvals {
    struct approvals_config config;
    struct approval_policy *policy;
    struct approval *first, *last; /* all that have not told their end, oldest first */
    size_t count;                  /* of those that wait */
    size_t bytes;                  /* of what they hold */
    struct approver *approvers;    /* best first */
    uint64_t seq;
    struct waiting_approval *sessions;
    struct restricted *restricted;
    struct approvals_listener *listeners;
    struct loop_defer tell;
    void (*changed)(void *ctx, const char *session, bool waiting);
    void *changed_ctx;
};

struct approval {
    struct approvals *approvals;
    struct approval *prev, *next;
    char id[APPROVALS_ID_MAX];
    char *texts; /* what the subject and the form point to */
    size_t bytes;
    struct approval_subject subject;
    char *form;
    char note[200];
    int rule;
    int64_t timeout_ms, expires_ms;
    struct loop_timer timer;
    struct loop_defer due; /* something is to be told, or somebody to be asked */
    bool ended;            /* decided or withdrawn */
    struct approver *asked;
    struct approver *unsettled; /* has the question and does not know that it is settled */
    bool was_asked, withdrawn;
    bool passed; /* by an approver: only those behind it are asked */
    int passed_rank;
    uint64_t passed_seq;
    /* the end */
    const char *by; /* whom the audit log names; NULL: no approver has decided */
    enum approval_verdict verdict;
    char why[400]; /* as struct err has it */
    char *result;  /* of a question */
    void (*decided)(void *ctx, enum approval_verdict verdict, const char *why);
    void (*answered)(void *ctx, const char *result);
    void *ctx;
};

static void on_due(void *ctx);

static void make_due(struct approval *a)
{
    loop_defer(a->approvals->config.loop, &a->due, on_due, a);
}

/* --- who waits ------------------------------------------------------------------------------- */

static struct waiting_approval *find_waiting(const struct approvals *all, const char *session)
{
    struct waiting_approval *w = all->sessions;
    while (w && strcmp(w->session, session) != 0)
        w = w->next;
    return w;
}

static void drop_waiting_approval(struct waiting_approval **at)
{
    struct waiting_approval *w = *at;
    *at = w->next;
    xfree(w->session);
    xfree(w);
}

/* Tells one change and comes again for the next: the watcher may cause others. */
static void notify_waiting(void *ctx)
{
    struct approvals *all = ctx;
    struct waiting_approval **at = &all->sessions;
    while (*at && (*at)->told == ((*at)->count > 0))
        at = &(*at)->next;
    if (!*at)
        return;
    loop_defer(all->config.loop, &all->tell, notify_waiting, all);
    bool waiting = (*at)->told = (*at)->count > 0;
    drop_str char *session = xstrdup((*at)->session);
    if (!waiting)
        drop_waiting_approval(at);
    if (all->changed)
        all->changed(all->changed_ctx, session, waiting);
}

static void count_waiting(struct approvals *all, const char *session, bool more)
{
    struct waiting_approval *w = find_waiting(all, session);
    if (!w) {
        w = NEW(struct waiting_approval);
        *w = (struct waiting_approval){.next = all->sessions, .session = xstrdup(session)};
        all->sessions = w;
    }
    w->count += more ? 1 : (size_t)-1;
    all->count += more ? 1 : (size_t)-1;
    loop_defer(all->config.loop, &all->tell, notify_waiting, all);
}

size_t approvals_waiting(const struct approvals *all, const char *session)
{
    const struct waiting_approval *w = find_waiting(all, session);
    return w ? w->count : 0;
}

void approvals_watch(struct approvals *all,
                     void (*changed)(void *ctx, const char *session, bool waiting), void *ctx)
{
    all->changed = changed;
    all->changed_ctx = ctx;
}

/* --- the whole ------------------------------------------------------------------------------- */

int approvals_check_policy(const struct json *policy, struct err *e)
{
    struct approval_policy *parsed = NULL;
    int r = policy_open(&(struct approvals_config){.policy = policy}, &parsed, e);
    if (r == 0)
        (void)policy_close(parsed);
    return r;
}

int approvals_open(const struct approvals_config *config, struct approvals **ret, struct err *e)
{
    struct approval_policy *policy = NULL;
    int r = policy_open(config, &policy, e);
    if (r < 0)
        return r;
    struct approvals *approvals = NEW(struct approvals);
    approvals->config = *config;
    approvals->config.policy = NULL;
    approvals->policy = policy;
    *ret = approvals;
    return 0;
}

static struct restricted **find_restricted(struct approvals *all, const char *session)
{
    struct restricted **at = &all->restricted;
    while (*at && strcmp((*at)->session, session) != 0)
        at = &(*at)->next;
    return at;
}

static void drop_restricted(struct restricted **at)
{
    struct restricted *r = *at;
    *at = r->next;
    xfree(r->session);
    xfree(r);
}

void approvals_restrict(struct approvals *all, const char *session,
                        const struct approvals_rule *rule)
{
    struct restricted **at = find_restricted(all, session);
    if (*at)
        drop_restricted(at);
    if (rule->strictness == APPROVALS_BY_POLICY && !rule->own_timeout)
        return;
    struct restricted *r = NEW(struct restricted);
    *r = (struct restricted){all->restricted, xstrdup(session), *rule};
    all->restricted = r;
}

void approvals_copy_rule(struct approvals *all, const char *from, const char *to)
{
    const struct restricted *r = *find_restricted(all, from);
    const struct approvals_rule rule = r ? r->rule : (struct approvals_rule){0};
    approvals_restrict(all, to, &rule);
}

static void restrict_judgement(struct approvals *all, const struct approval_subject *subject,
                               struct policy_judgement *j)
{
    const struct restricted *r = *find_restricted(all, subject->session);
    if (!r || r->rule.strictness == APPROVALS_BY_POLICY || j->action == POLICY_DENY)
        return;
    if (r->rule.strictness == APPROVALS_DENY_ALL) {
        policy_give_back(all->policy, j->rule);
        j->action = POLICY_DENY;
        (void)snprintf(j->why, sizeof j->why, "this session may call no tools");
    } else if (j->action == POLICY_ALLOW && !j->granted &&
               !policy_use_grant(all->policy, subject, loop_now(all->config.loop))) {
        j->action = POLICY_ASK;
    }
}

static void free_approval(struct approval *a)
{
    struct approvals *all = a->approvals;
    *(a->prev ? &a->prev->next : &all->first) = a->next;
    *(a->next ? &a->next->prev : &all->last) = a->prev;
    all->bytes -= a->bytes;
    loop_timer_stop(all->config.loop, &a->timer);
    loop_defer_stop(all->config.loop, &a->due);
    xfree(a->texts);
    xfree(a->result);
    xfree(a);
}

struct approvals *approvals_close(struct approvals *all)
{
    if (!all)
        return NULL;
    while (all->first)
        free_approval(all->first);
    while (all->approvers)
        (void)approver_leave(all->approvers);
    while (all->sessions)
        drop_waiting_approval(&all->sessions);
    while (all->restricted)
        drop_restricted(&all->restricted);
    loop_defer_stop(all->config.loop, &all->tell);
    (void)policy_close(all->policy);
    xfree(all);
    return NULL;
}

void approvals_forget(struct approvals *all, const char *session)
{
    policy_forget(all->policy, session);
    approvals_restrict(all, session, &(struct approvals_rule){0});
}

/* --- the end of one -------------------------------------------------------------------------- */

/* It waits no more; whoever holds the question hears of it in the next turn. */
static void end_approval(struct approval *a)
{
    struct approvals *all = a->approvals;
    if (a->ended)
        return;
    a->ended = true;
    if (a->asked)
        a->unsettled = a->asked;
    a->asked = NULL;
    loop_timer_stop(all->config.loop, &a->timer);
    if (a->texts)
        count_waiting(all, a->subject.session, false);
    make_due(a);
}

static void audit_approval(const struct approval *a)
{
    static const char *const verdicts[] = {[APPROVAL_ACCEPTED] = "accepted",
                                           [APPROVAL_REJECTED] = "rejected",
                                           [APPROVAL_EXPIRED] = "expired",
                                           [APPROVAL_FAILED] = "failed"};
    bool judged = a->verdict == APPROVAL_ACCEPTED || a->verdict == APPROVAL_REJECTED;
    (void)audit_add(a->approvals->config.audit,
                    &(struct audit_event){.kind = AUDIT_APPROVAL,
                                          .request_id = a->subject.request_id,
                                          .session = a->subject.session,
                                          .server = a->subject.server,
                                          .tool = a->subject.tool,
                                          .by = judged && !a->by ? "policy" : a->by,
                                          .decided_in = judged && a->by ? log_request() : NULL,
                                          .outcome = verdicts[a->verdict]});
}

static void decide_approval(struct approval *a, enum approval_verdict verdict, const char *why)
{
    struct err e = ERR_NONE;
    if (verdict == APPROVAL_ACCEPTED && !a->form &&
        audit_check(a->approvals->config.audit, &e) < 0) {
        verdict = APPROVAL_FAILED;
        why = e.msg;
    }
    a->verdict = verdict;
    if (!a->form)
        audit_approval(a);
    if (a->approvals->config.metrics && !a->form)
        a->approvals->config.metrics->verdicts[verdict]++;
    (void)snprintf(a->why, sizeof a->why, "%s", verdict == APPROVAL_ACCEPTED ? "" : why);
    if (verdict != APPROVAL_ACCEPTED)
        policy_give_back(a->approvals->policy, a->rule);
    if (a->form && !a->result)
        a->result = xstrdup(verdict == APPROVAL_EXPIRED ? cancelled : declined);
    end_approval(a);
}

void approval_withdraw(struct approval *a)
{
    a->decided = NULL;
    a->answered = NULL;
    a->withdrawn |= !a->ended;
    if (!a->ended)
        policy_give_back(a->approvals->policy, a->rule);
    end_approval(a);
}

static void on_approval_timer(void *ctx)
{
    struct approval *a = ctx;
    char why[80];
    (void)snprintf(why, sizeof why, "it was not answered within %g s",
                   (double)a->timeout_ms / 1000);
    decide_approval(a, APPROVAL_EXPIRED, why);
}

/* --- asking ---------------------------------------------------------------------------------- */

static void get_view(const struct approval *a, struct approval_view *ret)
{
    *ret = (struct approval_view){.id = a->id,
                                  .subject = a->subject,
                                  .form = a->form,
                                  .note = a->note,
                                  .expires_ms = a->expires_ms,
                                  .rank = a->asked ? a->asked->config.rank : -1};
}

static bool serves(const struct approver *p, const char *session, bool is_question)
{
    const bool covers = !p->session || strcmp(p->session, session) == 0 ||
                        (p->config.covers && p->config.covers(p->config.ctx, session));
    return covers && (is_question ? p->config.elicit != NULL : p->config.ask != NULL);
}

static struct approver *find_approver(const struct approval *a)
{
    for (struct approver *p = a->approvals->approvers; p; p = p->next) {
        bool behind = !a->passed || p->config.rank > a->passed_rank ||
                      (p->config.rank == a->passed_rank && p->seq > a->passed_seq);
        if (behind && serves(p, a->subject.session, a->form != NULL))
            return p;
    }
    return NULL;
}

static void ask_somebody(struct approval *a)
{
    struct approver *p = find_approver(a);
    if (!p) {
        decide_approval(a, APPROVAL_FAILED, a->was_asked ? disconnected : not_connected);
        return;
    }
    struct approval_view view;
    get_view(a, &view);
    a->asked = p;
    a->was_asked = true;
    (a->form ? p->config.elicit : p->config.ask)(p->config.ctx, &view);
}

static const char *outcome_of(const struct approval *a)
{
    static const char *const outcomes[] = {[APPROVAL_ACCEPTED] = "accepted",
                                           [APPROVAL_REJECTED] = "rejected",
                                           [APPROVAL_EXPIRED] = "expired",
                                           [APPROVAL_FAILED] = "failed"};
    return a->withdrawn                                 ? "withdrawn"
           : a->form && a->verdict == APPROVAL_ACCEPTED ? "answered"
                                                        : outcomes[a->verdict];
}

static void notify_settled(struct approval *a)
{
    struct approver *p = a->unsettled;
    a->unsettled = NULL;
    if (p && p->config.settled)
        p->config.settled(p->config.ctx, a->id, a->ended ? outcome_of(a) : "moved");
}

static void notify_approval_end(struct approval *a)
{
    if (a->decided)
        a->decided(a->ctx, a->verdict, a->why);
    else if (a->answered)
        a->answered(a->ctx, a->result);
    free_approval(a);
}

static void notify_listeners(const struct approval *a)
{
    for (struct approvals_listener *l = a->approvals->listeners; l; l = l->next) {
        if (!a->ended)
            l->asked(l->ctx);
        else if (*a->id)
            l->settled(l->ctx, a->id, outcome_of(a));
    }
}

/* The one place from which events go out. What they cause makes it due again. */
static void on_due(void *ctx)
{
    struct approval *a = ctx;
    if (a->ended) {
        notify_listeners(a);
        notify_settled(a);
        notify_approval_end(a);
    } else if (!a->asked) {
        notify_settled(a); /* it has moved on */
        if (!a->ended)
            ask_somebody(a);
        if (a->asked)
            notify_listeners(a);
    }
}

/* Copies of the texts, one behind the other. */
static int hold_texts(struct approval *a, const struct approval_subject *s, const char *form,
                      struct err *e)
{
    const char *const from[] = {s->session, s->server,    s->shown,      s->tool,
                                s->digest,  s->arguments, s->request_id, form};
    const char **const to[] = {&a->subject.session,    &a->subject.server,
                               &a->subject.shown,      &a->subject.tool,
                               &a->subject.digest,     &a->subject.arguments,
                               &a->subject.request_id, (const char **)&a->form};
    size_t total = 0, at = 0;
    for (size_t i = 0; i < sizeof from / sizeof *from; i++)
        total += from[i] ? strlen(from[i]) + 1 : 0;
    char *texts = try_realloc(NULL, total);
    if (!texts)
        return err_set(e, -ENOMEM, "no memory for a question of %zu bytes", total);
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        if (!from[i])
            continue;
        size_t n = strlen(from[i]) + 1;
        memcpy(texts + at, from[i], n);
        *to[i] = texts + at;
        at += n;
    }
    a->texts = texts;
    a->bytes = total;
    return 0;
}

static struct approval *new_approval(struct approvals *all, void *ctx)
{
    struct approval *a = NEW(struct approval);
    a->approvals = all;
    a->ctx = ctx;
    a->rule = -1;
    a->prev = all->last;
    *(a->prev ? &a->prev->next : &all->first) = a;
    all->last = a;
    return a;
}

static bool are_approvals_full(const struct approvals *all, size_t bytes)
{
    return all->count >= APPROVALS_PENDING_MAX || all->bytes + bytes > APPROVALS_BYTES_MAX;
}

/* What cannot wait fails, for the caller like every other failure: by the event. */
static int wait_for_approval(struct approval *a, const struct approval_subject *subject,
                             const char *form, struct err *e)
{
    struct approvals *all = a->approvals;
    size_t size = strlen(form ? form : subject->arguments);
    if (are_approvals_full(all, size)) {
        a->result = form ? xstrdup(declined) : NULL;
        decide_approval(a, APPROVAL_FAILED,
                        "too many approvals are waiting, or their arguments are too large");
        return 0;
    }
    int r = hold_texts(a, subject, form, e);
    if (r < 0)
        return r;
    all->bytes += a->bytes;
    random_hex(a->id, ID_BYTES);
    count_waiting(all, a->subject.session, true);
    const struct restricted *own = *find_restricted(all, a->subject.session);
    a->timeout_ms = own && own->rule.own_timeout ? own->rule.timeout_ms : all->config.timeout_ms;
    if (a->timeout_ms > 0) {
        a->expires_ms = loop_now(all->config.loop) + a->timeout_ms;
        loop_timer_set(all->config.loop, &a->timer, a->timeout_ms, on_approval_timer, a);
    }
    make_due(a);
    return 0;
}

int approvals_ask(struct approvals *all, const struct approval_subject *subject,
                  void (*decided)(void *ctx, enum approval_verdict verdict, const char *why),
                  void *ctx, struct approval **ret, struct err *e)
{
    struct policy_judgement judgement;
    policy_judge(all->policy, subject, loop_now(all->config.loop), &judgement);
    restrict_judgement(all, subject, &judgement);
    struct approval *a = new_approval(all, ctx);
    a->decided = decided;
    a->subject = *subject; /* while it is judged */
    a->rule = judgement.action == POLICY_DENY ? -1 : judgement.rule;
    int r = 0;
    if (judgement.action == POLICY_ASK) {
        (void)snprintf(a->note, sizeof a->note, "%s", judgement.why);
        r = wait_for_approval(a, subject, NULL, e);
    } else {
        decide_approval(a, judgement.action == POLICY_ALLOW ? APPROVAL_ACCEPTED : APPROVAL_REJECTED,
                        judgement.why);
    }
    if (!a->texts)
        a->subject = (struct approval_subject){0};
    if (r < 0) {
        policy_give_back(all->policy, a->rule);
        free_approval(a);
        return r;
    }
    *ret = a;
    return 0;
}

int approvals_elicit(struct approvals *all, const struct approval_question *question,
                     void (*answered)(void *ctx, const char *result), void *ctx,
                     struct approval **ret, struct err *e)
{
    struct approval *a = new_approval(all, ctx);
    a->answered = answered;
    struct approval_subject subject = {.session = question->session,
                                       .server = question->server,
                                       .shown = question->shown,
                                       .tool = "",
                                       .arguments = "",
                                       .digest = ""};
    int r = wait_for_approval(a, &subject, question->form, e);
    if (r < 0)
        free_approval(a);
    else
        *ret = a;
    return r;
}

bool approvals_can_elicit(const struct approvals *all, const char *session)
{
    const struct approver *p = all->approvers;
    while (p && !serves(p, session, true))
        p = p->next;
    return p != NULL;
}

/* --- those who decide ------------------------------------------------------------------------ */

static void seat_approver(struct approver *p)
{
    struct approver **at = &p->approvals->approvers;
    p->seq = p->approvals->seq++;
    while (*at && (*at)->config.rank <= p->config.rank)
        at = &(*at)->next;
    p->next = *at;
    *at = p;
}

struct approver *approver_join(struct approvals *all, const struct approver_config *config)
{
    struct approver *p = NEW(struct approver);
    p->approvals = all;
    p->config = *config;
    p->session = xstrdup(config->session);
    p->config.session = p->session;
    seat_approver(p);
    return p;
}

static bool precedes(const struct approver *p, const struct approver *other)
{
    return p->config.rank < other->config.rank ||
           (p->config.rank == other->config.rank && p->seq < other->seq);
}

void approver_move(struct approver *p, int rank)
{
    if (p->config.rank == rank)
        return;
    chain_remove(&p->approvals->approvers, p);
    p->config.rank = rank;
    seat_approver(p);
    for (struct approval *a = p->approvals->first; a; a = a->next) {
        struct approver *best = a->ended || !a->asked ? NULL : find_approver(a);
        if (!best || !precedes(best, a->asked) || (best != p && a->asked != p))
            continue;
        a->unsettled = a->asked;
        a->asked = NULL;
        make_due(a);
    }
}

struct approver *approver_leave(struct approver *p)
{
    if (!p)
        return NULL;
    chain_remove(&p->approvals->approvers, p);
    for (struct approval *a = p->approvals->first; a; a = a->next) {
        if (a->unsettled == p)
            a->unsettled = NULL;
        if (a->asked == p) {
            a->asked = NULL;
            make_due(a);
        }
    }
    xfree(p->session);
    xfree(p);
    return NULL;
}

/* One that is on its way to p is p's already. */
static int find_asked_approval(const struct approver *p, const char *id, bool is_question,
                               struct approval **ret, struct err *e)
{
    for (struct approval *a = p->approvals->first; a; a = a->next) {
        const struct approver *holder = a->asked || a->ended ? a->asked : find_approver(a);
        if (!a->ended && holder == p && (a->form != NULL) == is_question &&
            strcmp(a->id, id) == 0) {
            *ret = a;
            return 0;
        }
    }
    return err_set(e, -ENOENT, "no such question waits for an answer");
}

/* Those that wait already and are the same tool: nobody should have to say it twice. */
static void use_new_grant(struct approvals *all)
{
    int64_t now = loop_now(all->config.loop);
    for (struct approval *a = all->first; a; a = a->next) {
        if (!a->ended && !a->form && policy_use_grant(all->policy, &a->subject, now))
            decide_approval(a, APPROVAL_ACCEPTED, "");
    }
}

bool approver_holds(const struct approver *p, const char *id)
{
    struct approval *a = NULL;
    return p && (find_asked_approval(p, id, false, &a, NULL) == 0 ||
                 find_asked_approval(p, id, true, &a, NULL) == 0);
}

int approver_decide(struct approver *p, const char *id, const struct approval_decision *decision,
                    struct err *e)
{
    static const char *const ranks[] = {[APPROVER_CHANNEL] = "channel",
                                        [APPROVER_API] = "api",
                                        [APPROVER_CLIENT] = "client",
                                        [APPROVER_API_AWAY] = "api"};
    struct approval *a = NULL;
    int r = find_asked_approval(p, id, false, &a, e);
    if (r < 0)
        return r;
    struct approvals *all = p->approvals;
    a->asked = NULL; /* it knows */
    a->by = ranks[p->config.rank];
    policy_remember(all->policy, &a->subject, decision, loop_now(all->config.loop));
    decide_approval(a, decision->accept ? APPROVAL_ACCEPTED : APPROVAL_REJECTED,
                    decision->accept ? "" : "rejected by the one who was asked");
    if (decision->accept)
        use_new_grant(all);
    return 0;
}

int approver_answer(struct approver *p, const char *id, const char *result, struct err *e)
{
    struct approval *a = NULL;
    int r = find_asked_approval(p, id, true, &a, e);
    if (r < 0)
        return r;
    a->asked = NULL;
    a->result = xstrdup(result);
    decide_approval(a, APPROVAL_ACCEPTED, "");
    return 0;
}

int approver_pass(struct approver *p, const char *id, struct err *e)
{
    struct approval *a = NULL;
    if (find_asked_approval(p, id, false, &a, NULL) < 0) {
        int r = find_asked_approval(p, id, true, &a, e);
        if (r < 0)
            return r;
    }
    a->asked = NULL;
    a->was_asked = false;
    a->passed = true;
    a->passed_rank = p->config.rank;
    a->passed_seq = p->seq;
    make_due(a);
    return 0;
}

bool approvals_next(const struct approvals *all, size_t *at, struct approval_view *ret)
{
    size_t index = 0;
    for (const struct approval *a = all->first; a; a = a->next) {
        if (a->ended || index++ < *at)
            continue;
        ++*at;
        get_view(a, ret);
        return true;
    }
    return false;
}

void approvals_listen(struct approvals *all, struct approvals_listener *listener)
{
    list_push(&all->listeners, listener);
}

void approvals_unlisten(struct approvals *all, struct approvals_listener *listener)
{
    list_remove(&all->listeners, listener);
}
