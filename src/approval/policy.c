/* SPDX-License-Identifier: Apache-2.0 */
#include "approval/policy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hmac.h"
#include "base/text/utf8.h"

enum { MAX_CALLS_MAX = 1000000000, PLACE_MAX = 40 };

struct rule {
    char *server, *tool; /* globs */
    enum policy_action action;
    bool pin;
    char *digest; /* the only one that is allowed, or NULL */
    bool has_budget;
    uint32_t max_calls, calls;
};

struct pin { /* the digest that a tool had when a pinning rule allowed it first */
    struct pin *next;
    char *server, *tool, *digest;
};

struct policy_grant {
    struct policy_grant *next; /* the newest first */
    char *session, *server, *tool, *digest;
    int64_t until_ms; /* 0: no end */
    bool counted;
    uint32_t calls;
};

struct approval_policy {
    enum policy_action otherwise;
    const char *ask_for; /* or NULL */
    struct rule *rules;
    size_t n_rules;
    struct pin *pins;
    size_t n_pins;
    struct policy_grant *grants;
    size_t n_grants;
};

/* --- reading the rules ----------------------------------------------------------------------- */

static const char *const action_names[] = {"allow", "ask", "deny"};

static int read_action(const struct json *value, const char *place, enum policy_action *ret,
                       struct err *e)
{
    const char *text = json_text(value);
    for (int i = POLICY_ALLOW; text && i <= POLICY_DENY; i++) {
        if (strcmp(text, action_names[i]) == 0) {
            *ret = (enum policy_action)i;
            return 0;
        }
    }
    return err_set(e, -EINVAL, "%s: \"allow\", \"ask\" or \"deny\" is needed", place);
}

static int read_glob(const struct json *value, const char *place, char **ret, struct err *e)
{
    const char *text = json_text(value);
    if (!text || !*text)
        return err_set(e, -EINVAL, "%s: a pattern is needed", place);
    *ret = xstrdup(text);
    return 0;
}

static int read_max_calls(const struct json *value, const char *place, struct rule *rule,
                          struct err *e)
{
    double n = json_number(value);
    if (!json_is_number(value) || n < 0 || n > MAX_CALLS_MAX || floor(n) != n)
        return err_set(e, -EINVAL, "%s: a whole number up to %d is needed", place, MAX_CALLS_MAX);
    rule->has_budget = true;
    rule->max_calls = (uint32_t)n;
    return 0;
}

static int read_digest(const struct json *value, const char *place, char **ret, struct err *e)
{
    const char *text = json_text(value);
    if (!text || strlen(text) != HMAC_HEX || strspn(text, "0123456789abcdef") != HMAC_HEX)
        return err_set(e, -EINVAL, "%s: %d digits 0-9 and a-f are needed", place, HMAC_HEX);
    *ret = xstrdup(text);
    return 0;
}

static int read_policy_member(const struct json *value, const char *name, const char *place,
                              struct rule *rule, struct err *e)
{
    if (strcmp(name, "server") == 0)
        return rule->server ? err_set(e, -EINVAL, "%s: it is there twice", place)
                            : read_glob(value, place, &rule->server, e);
    if (strcmp(name, "tool") == 0)
        return rule->tool ? err_set(e, -EINVAL, "%s: it is there twice", place)
                          : read_glob(value, place, &rule->tool, e);
    if (strcmp(name, "action") == 0)
        return read_action(value, place, &rule->action, e);
    if (strcmp(name, "max_calls") == 0)
        return read_max_calls(value, place, rule, e);
    if (strcmp(name, "digest") == 0)
        return rule->digest ? err_set(e, -EINVAL, "%s: it is there twice", place)
                            : read_digest(value, place, &rule->digest, e);
    if (strcmp(name, "pin") == 0) {
        rule->pin = json_true(value);
        return json_is_bool(value) ? 0 : err_set(e, -EINVAL, "%s: true or false is needed", place);
    }
    return err_set(e, -EINVAL, "%s: there is no such member", place);
}

static int read_rule(const struct json *json, size_t index, struct rule *rule, struct err *e)
{
    if (!json_is_object(json))
        return err_set(e, -EINVAL, "rules[%zu]: an object is needed", index);
    if (!json_get(json, "action"))
        return err_set(e, -EINVAL, "rules[%zu].action: it is needed", index);
    for (const struct json *member = json_first(json); member; member = json_next(member)) {
        char place[32 + PLACE_MAX];
        (void)snprintf(place, sizeof place, "rules[%zu].%.*s", index, PLACE_MAX, json_name(member));
        int r = read_policy_member(member, json_name(member), place, rule, e);
        if (r < 0)
            return r;
    }
    if ((rule->pin || rule->digest) && rule->action != POLICY_ALLOW)
        return err_set(e, -EINVAL, "rules[%zu]: \"pin\" and \"digest\" belong to \"allow\"", index);
    return 0;
}

static int read_rules(struct approval_policy *policy, const struct json *rules, struct err *e)
{
    if (!json_is_array(rules))
        return err_set(e, -EINVAL, "rules: an array is needed");
    if (json_count(rules) > POLICY_RULES_MAX)
        return err_set(e, -EINVAL, "rules: at most %d are possible", POLICY_RULES_MAX);
    policy->rules = xcalloc(json_count(rules) + 1, sizeof *policy->rules);
    for (const struct json *one = json_first(rules); one; one = json_next(one)) {
        size_t index = policy->n_rules++;
        int r = read_rule(one, index, &policy->rules[index], e);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_policy(struct approval_policy *policy, const struct json *json, struct err *e)
{
    if (!json_is_object(json))
        return err_set(e, -EINVAL, "the policy: an object is needed");
    for (const struct json *member = json_first(json); member; member = json_next(member)) {
        const char *name = json_name(member);
        int r = 0;
        if (strcmp(name, "default") == 0)
            r = read_action(member, name, &policy->otherwise, e);
        else if (strcmp(name, "rules") != 0)
            r = err_set(e, -EINVAL, "%.*s: there is no such member", PLACE_MAX, name);
        else if (policy->rules)
            r = err_set(e, -EINVAL, "rules: it is there twice");
        else
            r = read_rules(policy, member, e);
        if (r < 0)
            return r;
    }
    return 0;
}

int policy_open(const struct approvals_config *config, struct approval_policy **ret, struct err *e)
{
    const struct json *json = config->policy;
    struct approval_policy *policy = NEW(struct approval_policy);
    policy->otherwise = config->ask_by_default ? POLICY_ASK : POLICY_ALLOW;
    policy->ask_for = config->ask_for;
    int r = json ? read_policy(policy, json, e) : 0;
    if (r < 0)
        policy = policy_close(policy);
    else
        *ret = policy;
    return r;
}

/* --- the end --------------------------------------------------------------------------------- */

static void drop_grant(struct approval_policy *policy, struct policy_grant **at)
{
    struct policy_grant *grant = *at;
    *at = grant->next;
    policy->n_grants--;
    xfree(grant->session);
    xfree(grant->server);
    xfree(grant->tool);
    xfree(grant->digest);
    xfree(grant);
}

static void drop_pins(struct approval_policy *policy)
{
    while (policy->pins) {
        struct pin *pin = policy->pins;
        policy->pins = pin->next;
        xfree(pin->server);
        xfree(pin->tool);
        xfree(pin->digest);
        xfree(pin);
    }
}

struct approval_policy *policy_close(struct approval_policy *policy)
{
    if (!policy)
        return NULL;
    while (policy->grants)
        drop_grant(policy, &policy->grants);
    drop_pins(policy);
    for (size_t i = 0; i < policy->n_rules; i++) {
        xfree(policy->rules[i].server);
        xfree(policy->rules[i].tool);
        xfree(policy->rules[i].digest);
    }
    xfree(policy->rules);
    xfree(policy);
    return NULL;
}

/* --- judging --------------------------------------------------------------------------------- */

static size_t char_length(const char *s)
{
    size_t n = utf8_char(s, strnlen(s, 4), NULL);
    return n ? n : 1;
}

/* Goes back to the last star alone, so it takes at most pattern times text steps. */
static bool glob_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *resume = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            resume = text;
        } else if (*pattern == '?') {
            pattern++;
            text += char_length(text);
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = resume += char_length(resume);
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

static struct rule *find_rule(struct approval_policy *policy,
                              const struct approval_subject *subject)
{
    for (size_t i = 0; i < policy->n_rules; i++) {
        struct rule *rule = &policy->rules[i];
        if ((!rule->server || glob_matches(rule->server, subject->server)) &&
            (!rule->tool || glob_matches(rule->tool, subject->tool)))
            return rule;
    }
    return NULL;
}

static bool add_pin(struct approval_policy *policy, const struct approval_subject *subject)
{
    if (policy->n_pins >= POLICY_PINS_MAX)
        return false;
    struct pin *pin = NEW(struct pin);
    *pin = (struct pin){.next = policy->pins,
                        .server = xstrdup(subject->server),
                        .tool = xstrdup(subject->tool),
                        .digest = xstrdup(subject->digest)};
    policy->pins = pin;
    policy->n_pins++;
    return true;
}

/* A tool without a digest is in no server's list: there is nothing to hold it to. */
static bool is_pinned(struct approval_policy *policy, const struct approval_subject *subject)
{
    if (!*subject->digest)
        return false;
    const struct pin *pin = policy->pins;
    while (pin &&
           (strcmp(pin->server, subject->server) != 0 || strcmp(pin->tool, subject->tool) != 0))
        pin = pin->next;
    return pin ? strcmp(pin->digest, subject->digest) == 0 : add_pin(policy, subject);
}

static void judge_digest(struct approval_policy *policy, const struct rule *rule,
                         const struct approval_subject *subject, struct policy_judgement *ret)
{
    bool same = !rule->digest || strcmp(rule->digest, subject->digest) == 0;
    if (same && (!rule->pin || is_pinned(policy, subject)))
        return;
    ret->action = POLICY_ASK;
    (void)snprintf(ret->why, sizeof ret->why, "%s",
                   *subject->digest ? "the tool is not the one that the policy allows: its "
                                      "description or its schema has changed"
                                    : "the policy allows a pinned tool, and this one is not in its "
                                      "server's list");
}

/* What no rule matches. */
static enum policy_action by_default(const struct approval_policy *policy,
                                     const struct approval_subject *subject)
{
    bool asked = policy->ask_for && strcmp(subject->server, policy->ask_for) == 0;
    return asked && policy->otherwise == POLICY_ALLOW ? POLICY_ASK : policy->otherwise;
}

void policy_judge(struct approval_policy *policy, const struct approval_subject *subject,
                  int64_t now_ms, struct policy_judgement *ret)
{
    struct rule *rule = find_rule(policy, subject);
    *ret = (struct policy_judgement){.action = rule ? rule->action : by_default(policy, subject),
                                     .rule = rule ? (int)(rule - policy->rules) : -1};
    if (ret->action == POLICY_DENY) {
        (void)snprintf(ret->why, sizeof ret->why, "denied by the policy");
        return;
    }
    if (rule && rule->has_budget && rule->calls >= rule->max_calls) {
        ret->action = POLICY_DENY;
        (void)snprintf(ret->why, sizeof ret->why,
                       "denied by the policy: its budget of %u calls is used up", rule->max_calls);
        return;
    }
    if (rule && rule->has_budget)
        rule->calls++;
    if (rule && ret->action == POLICY_ALLOW)
        judge_digest(policy, rule, subject, ret);
    ret->granted = ret->action == POLICY_ASK && policy_use_grant(policy, subject, now_ms);
    if (ret->granted)
        ret->action = POLICY_ALLOW;
}

void policy_give_back(struct approval_policy *policy, int rule)
{
    if (rule >= 0 && policy->rules[rule].has_budget)
        policy->rules[rule].calls--;
}

/* --- grants ---------------------------------------------------------------------------------- */

void policy_remember(struct approval_policy *policy, const struct approval_subject *subject,
                     const struct approval_decision *decision, int64_t now_ms)
{
    if (!decision->accept || (decision->remember_ms <= 0 && decision->remember_calls == 0))
        return;
    if (policy->n_grants >= POLICY_GRANTS_MAX) {
        struct policy_grant **at = &policy->grants;
        while ((*at)->next)
            at = &(*at)->next;
        drop_grant(policy, at);
    }
    bool ends = decision->remember_ms > 0 && decision->remember_ms < INT64_MAX - now_ms;
    struct policy_grant *grant = NEW(struct policy_grant);
    *grant = (struct policy_grant){.next = policy->grants,
                                   .session = xstrdup(subject->session),
                                   .server = xstrdup(subject->server),
                                   .tool = xstrdup(subject->tool),
                                   .digest = xstrdup(subject->digest),
                                   .until_ms = ends ? now_ms + decision->remember_ms : 0,
                                   .counted = decision->remember_calls > 0,
                                   .calls = decision->remember_calls};
    policy->grants = grant;
    policy->n_grants++;
}

static bool is_for(const struct policy_grant *grant, const struct approval_subject *subject)
{
    return strcmp(grant->session, subject->session) == 0 &&
           strcmp(grant->server, subject->server) == 0 && strcmp(grant->tool, subject->tool) == 0;
}

bool policy_use_grant(struct approval_policy *policy, const struct approval_subject *subject,
                      int64_t now_ms)
{
    struct policy_grant **at = &policy->grants;
    while (*at) {
        struct policy_grant *grant = *at;
        if (!is_for(grant, subject)) {
            at = &grant->next;
            continue;
        }
        bool good = (grant->until_ms == 0 || now_ms < grant->until_ms) &&
                    strcmp(grant->digest, subject->digest) == 0;
        bool last = good && grant->counted && --grant->calls == 0;
        if (!good || last)
            drop_grant(policy, at);
        if (good)
            return true;
    }
    return false;
}

void policy_forget(struct approval_policy *policy, const char *session)
{
    struct policy_grant **at = &policy->grants;
    while (*at) {
        if (strcmp((*at)->session, session) == 0)
            drop_grant(policy, at);
        else
            at = &(*at)->next;
    }
}
