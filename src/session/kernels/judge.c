/* SPDX-License-Identifier: Apache-2.0 */
#include "session/kernels/judge.h"

#include <string.h>

#include "base/alloc.h"
#include "sandbox/policy/pathname.h"
#include "sandbox/policy/policy.h"

struct judge {
    const struct session_config *base;
    struct sessions *sessions;
    char *settings; /* of the policy */
    int64_t made_ms;
    struct policy *policy;        /* NULL: none is made yet, or could be made */
    struct policy_making *making; /* of the next one, or NULL */
    struct loop_timer next;
    struct spot_rules rules, of_admins, of_archives;
};

static bool code_may(void *ctx, enum spot_act act, const char *path);
static bool code_may_move(void *ctx, const char *from, const char *to, bool is_dir);
static bool is_hidden_content(void *ctx, const struct stat *st);
static bool admin_may(void *ctx, enum spot_act act, const char *path);
static bool admin_may_move(void *ctx, const char *from, const char *to, bool is_dir);
static bool archive_holds(void *ctx, enum spot_act act, const char *path);

struct judge *judge_new(struct sessions *sessions)
{
    struct judge *judge = NEW(struct judge);
    judge->base = sessions_base(sessions);
    judge->sessions = sessions;
    judge->rules = (struct spot_rules){code_may, code_may_move, is_hidden_content, judge};
    judge->of_admins = (struct spot_rules){admin_may, admin_may_move, NULL, judge};
    judge->of_archives = (struct spot_rules){archive_holds, admin_may_move, NULL, judge};
    return judge;
}

static void stop_making(struct judge *judge)
{
    loop_timer_stop(judge->base->kernel.loop, &judge->next);
    judge->making = policy_give_up(judge->making);
}

struct judge *judge_free(struct judge *judge)
{
    if (!judge)
        return NULL;
    stop_making(judge);
    judge->policy = policy_free(judge->policy);
    xfree(judge->settings);
    xfree(judge);
    return NULL;
}

static const char *settings_now(const struct judge *judge)
{
    const char *settings = sessions_settings(judge->sessions);
    return settings ? settings : sandbox_settings_default;
}

static int begin_judging(struct judge *judge)
{
    const struct sandbox_spec *spec = judge->base->kernel.sandbox;
    const struct judge_places *closed = judge->base->closed;
    const struct policy_place place = {.cwd = judge->base->workspace,
                                       .home = spec && spec->home ? spec->home : "/nonexistent",
                                       .hidden = closed ? closed->hidden : NULL,
                                       .kept = closed ? closed->kept : NULL};
    struct sandbox_settings *settings = NULL;
    int r = sandbox_settings_parse(judge->settings, strlen(judge->settings), &settings, NULL);
    if (r == 0)
        r = policy_begin(settings, &place, &judge->making, NULL);
    (void)sandbox_settings_free(settings);
    return r;
}

static void end_judging(struct judge *judge, struct policy *policy)
{
    stop_making(judge);
    (void)policy_free(judge->policy);
    judge->policy = policy;
    judge->made_ms = loop_now(judge->base->kernel.loop);
}

static void go_on_judging(void *ctx)
{
    struct judge *judge = ctx;
    struct policy *policy = NULL;
    int r = policy_step(judge->making, JUDGE_NAMES, &policy, NULL);
    if (r == 0)
        loop_timer_set(judge->base->kernel.loop, &judge->next, JUDGE_PAUSE_MS, go_on_judging,
                       judge);
    else
        end_judging(judge, policy);
}

/* That of other settings judges nothing. One that is old does while the next one is made. */
static void renew_judge(struct judge *judge, const char *text)
{
    if (!judge->settings || strcmp(judge->settings, text) != 0) {
        end_judging(judge, NULL);
        xfree(judge->settings);
        judge->settings = xstrdup(text);
    } else if (judge->making || loop_now(judge->base->kernel.loop) - judge->made_ms < JUDGE_MS) {
        return;
    }
    if (begin_judging(judge) < 0)
        end_judging(judge, NULL);
    else
        go_on_judging(judge);
    for (int i = 1; i < JUDGE_FIRST && !judge->policy && judge->making; i++)
        go_on_judging(judge);
}

bool judge_is_ready(const struct judge *judge)
{
    return judge->policy || !judge->making;
}

static const struct policy *policy_now(struct judge *judge)
{
    renew_judge(judge, settings_now(judge));
    return judge->policy;
}

/* --- the rules -------------------------------------------------------------------------------- */

/* By the name itself: whoever makes a link of it gets no registration believed. */
static bool is_record(const struct judge *judge, const char *path)
{
    const struct judge_places *closed = judge->base->closed;
    return closed && closed->records && path_is_under(path, closed->records);
}

static bool is_above_records(const struct judge *judge, const char *path)
{
    const struct judge_places *closed = judge->base->closed;
    return closed && closed->records && path_is_under(closed->records, path);
}

static bool code_may(void *ctx, enum spot_act act, const char *path)
{
    struct judge *judge = ctx;
    const struct policy *policy = policy_now(judge);
    if (!policy || !policy_may_read(policy, path) || is_record(judge, path))
        return false;
    if (act == SPOT_REMOVE && (policy_pins(policy, path) || is_above_records(judge, path)))
        return false;
    return act == SPOT_READ || policy_may_write(policy, path);
}

static bool code_may_move(void *ctx, const char *from, const char *to, bool is_dir)
{
    const struct policy *policy = policy_now(ctx);
    return policy && code_may(ctx, SPOT_REMOVE, from) && code_may(ctx, SPOT_REMOVE, to) &&
           (!is_dir || policy_may_move_dir(policy, from, to));
}

static bool is_hidden_content(void *ctx, const struct stat *st)
{
    const struct policy *policy = policy_now(ctx);
    return !policy || policy_hides_object(policy, st);
}

static bool admin_may(void *ctx, enum spot_act act, const char *path)
{
    return act != SPOT_WRITE || !is_record(ctx, path);
}

/* A folder that takes the place of one above brings what is in it. */
static bool admin_may_move(void *ctx, const char *from, const char *to, bool is_dir)
{
    (void)from;
    return !is_record(ctx, to) && !(is_dir && is_above_records(ctx, to));
}

static bool archive_holds(void *ctx, enum spot_act act, const char *path)
{
    (void)act;
    return !is_record(ctx, path);
}

const struct spot_rules *judge_rules(const struct judge *judge)
{
    return &judge->rules;
}

const struct spot_rules *judge_rules_of_admins(const struct judge *judge)
{
    return &judge->of_admins;
}

const struct spot_rules *judge_rules_of_archives(const struct judge *judge)
{
    return &judge->of_archives;
}
