/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/confine/guard.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/confine/confine.h"
#include "sandbox/confine/places.h"
#include "sandbox/landlock/landlock_abi.h"

struct guard {
    struct policy *policy; /* NULL: the walls alone, with nothing hidden or kept */
    bool asks;             /* of these with places: the broker holds them, too */
    struct landlock_ruleset *ruleset;
    struct sock_filter *filter;
    unsigned short filter_count;
    bool listener;
    bool marks;
    struct sandbox_limits limits;
    int write_error;
    const struct net_proxies *proxies;
    struct broker *broker; /* NULL until it was started, or for ever without a listener */
};

/* --- making --------------------------------------------------------------------------------- */

int guard_policy_of(const struct sandbox_spec *spec, struct policy **ret, struct err *e)
{
    struct sandbox_settings *settings = NULL;
    const struct policy_place place = {.cwd = spec->cwd,
                                       .home = spec->home,
                                       .private_dirs = spec->private_dirs,
                                       .distrusts_cwd = spec->distrusts_cwd,
                                       .unix_sockets = spec->unix_sockets,
                                       .loopback_ports = spec->ports,
                                       .hidden = spec->hidden,
                                       .kept = spec->kept};
    int r = sandbox_settings_parse(spec->settings, strlen(spec->settings), &settings, e);
    if (r == 0)
        r = policy_new(settings, &place, ret, e);
    (void)sandbox_settings_free(settings);
    return r;
}

/* Whoever is refused a terminal needs somebody to ask for its own. */
static bool walls_have_terminals(const struct sandbox_spec *spec)
{
    return spec->terminals && spec->level == SANDBOX_FULL;
}

/* Who may not list one directory asks about all. */
static bool lists(const struct sandbox_spec *spec, const struct guard *guard)
{
    return spec->level == SANDBOX_FULL && policy_hides_dirs(guard->policy);
}

static bool has_places(const struct sandbox_spec *spec)
{
    return (spec->hidden && *spec->hidden) || (spec->kept && *spec->kept);
}

static int open_walls(const struct sandbox_spec *spec, struct guard *guard, struct err *e)
{
    if (!has_places(spec) || spec->level == SANDBOX_NONE)
        return ruleset_build_walls(walls_have_terminals(spec), &guard->ruleset, e);
    const char **hidden, **kept;
    places_held(spec, &hidden, &kept);
    const struct policy_place place = {
        .private_dirs = spec->private_dirs, .hidden = hidden, .kept = kept};
    guard->asks = places_ask(spec);
    int r = policy_new_walls(&place, &guard->policy, e);
    if (r == 0) {
        const struct ruleset_walls how = {.brokered = guard->asks,
                                          .terminals = walls_have_terminals(spec),
                                          .lists = lists(spec, guard)};
        r = ruleset_build_places(guard->policy, &how, &guard->ruleset, e);
    }
    xfree(hidden);
    xfree(kept);
    return r;
}

static int make_filter(const struct sandbox_spec *spec, struct guard *guard, struct err *e)
{
    const struct policy *policy = guard->policy;
    const bool disk = spec->limits.disk > 0, counted = disk || spec->limits.memory > 0;
    struct filter_wants wants = {.open_network = true,
                                 .tasks = spec->limits.tasks > 0,
                                 .terminals = walls_have_terminals(spec),
                                 .counted = counted,
                                 .disk = disk,
                                 .memory = spec->limits.memory > 0};
    if (policy && policy_is_walls(policy)) {
        wants.lists = lists(spec, guard);
        wants.reads = guard->asks && policy_denies_reads(policy);
        wants.writes = guard->asks;
        wants.marks = guard->ruleset && ruleset_holds_reads(guard->ruleset);
        wants.attributes = true;
    }
    wants.listener = wants.tasks || wants.terminals || wants.lists || guard->asks;
    if (policy && !policy_is_walls(policy)) {
        bool full = spec->level == SANDBOX_FULL;
        wants = (struct filter_wants){
            .listener = full,
            .reads = full && (policy_denies_reads(policy) || policy_has_inet(policy)),
            .marks = guard->ruleset && ruleset_holds_reads(guard->ruleset),
            .writes = full,
            .network = full, /* a later policy may allow some: the broker refuses until then */
            .unix_sockets = policy_has_unix(policy) || policy_all_unix(policy) ||
                            (spec->private_dirs && *spec->private_dirs),
            .tasks = full && spec->limits.tasks > 0,
            .terminals = full,
            .signals = full && landlock_abi() < LANDLOCK_ABI_SCOPES,
            .counted = counted,
            .disk = disk,
            .memory = spec->limits.memory > 0,
        };
    }
    guard->listener = wants.listener;
    guard->marks = wants.reads && wants.marks;
    return filter_build(&wants, &guard->filter, &guard->filter_count, e);
}

int guard_open(const struct sandbox_spec *spec, struct guard **ret, struct err *e)
{
    struct guard *guard = NEW(struct guard);
    guard->limits = spec->limits;
    int r = spec->settings ? guard_policy_of(spec, &guard->policy, e) : 0;
    if (r == 0 && !spec->settings)
        r = open_walls(spec, guard, e);
    else if (r == 0 && spec->level >= SANDBOX_LANDLOCK)
        r = ruleset_build(guard->policy, spec->level == SANDBOX_FULL, &guard->ruleset, e);
    if (r == 0)
        r = make_filter(spec, guard, e);
    if (r < 0)
        (void)guard_free(guard);
    else
        *ret = guard;
    return r;
}

struct guard *guard_free(struct guard *guard)
{
    if (!guard)
        return NULL;
    xfree(guard->filter);
    (void)ruleset_free(guard->ruleset);
    (void)policy_free(guard->policy);
    xfree(guard);
    return NULL;
}

/* --- the parent of the child ---------------------------------------------------------------- */

/* The broker acts for the child: with a capability it would get past what the child may not. */
static int drop_guard_capabilities(struct err *e)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}, {0}};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_capset, &head, none) < 0)
        return err_set(e, -errno, "give up capabilities: %s", strerror(errno));
    return 0;
}

int guard_settle(struct err *e)
{
    (void)umask(0);
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return err_set(e, -errno, "prctl: %s", strerror(errno));
    return drop_guard_capabilities(e);
}

static void add_limit(struct confine_offer *offer, int resource, uint64_t most)
{
    if (most == 0)
        return;
    offer->limits[offer->limit_count].resource = (uint32_t)resource;
    offer->limits[offer->limit_count++].most = most;
}

/* The shim counts all processes exactly and says why it ends them. Linux counts one process by
 * ticks, which on a busy machine may be a tenth too many, and kills it without a word: its limit is
 * for the case that the shim does not come to look. */
static uint64_t cpu_of_one(int seconds)
{
    return (uint64_t)seconds + (uint64_t)seconds / 4 + 1;
}

int guard_offer(struct guard *guard, int sock, struct err *e)
{
    struct confine_offer limits = {.version = CONFINE_VERSION};
    add_limit(&limits, RLIMIT_NOFILE, (uint64_t)guard->limits.files);
    add_limit(&limits, RLIMIT_FSIZE, guard->limits.file_size);
    if (guard->limits.cpu > 0)
        add_limit(&limits, RLIMIT_CPU, cpu_of_one(guard->limits.cpu));
    int ruleset = guard->ruleset ? ruleset_fd(guard->ruleset) : -1;
    return confine_send(sock, ruleset, guard->filter, guard->filter_count, guard->listener, &limits,
                        e);
}

static int start_broker(struct guard *guard, int listener,
                        void (*refused)(void *ctx, const struct refusal *refusal), void *ctx,
                        struct err *e)
{
    const struct broker_config config = {.policy = guard->policy,
                                         .ruleset = guard->ruleset,
                                         .listener = listener,
                                         .tasks_max = guard->limits.tasks,
                                         .write_error = guard->write_error,
                                         .proxies = guard->proxies,
                                         .refused = refused,
                                         .ctx = ctx};
    return broker_start(&config, &guard->broker, e);
}

int guard_accept(struct guard *guard, int sock, int wait_ms,
                 void (*refused)(void *ctx, const struct refusal *refusal), void *ctx,
                 struct err *e)
{
    int listener = -1;
    int r = confine_receive(sock, wait_ms, &listener, e);
    if (r == 0 && guard->listener)
        r = start_broker(guard, listener, refused, ctx, e);
    if (r == 0)
        r = confine_release(sock, e);
    return r;
}

void guard_set_write_error(struct guard *guard, int write_error)
{
    guard->write_error = write_error;
}

void guard_set_proxies(struct guard *guard, const struct net_proxies *proxies)
{
    guard->proxies = proxies;
}

bool guard_has_broker(const struct guard *guard)
{
    return guard->broker != NULL;
}

bool guard_takes_marks(const struct guard *guard)
{
    return guard->marks;
}

long guard_task_refusals(const struct guard *guard)
{
    return guard->broker ? broker_task_refusals(guard->broker) : 0;
}

const struct policy *guard_policy(const struct guard *guard)
{
    return guard->policy;
}

int guard_change(struct guard *guard, const struct sandbox_spec *spec, struct err *e)
{
    struct policy *next = NULL;
    if (!guard->broker || !guard->policy || policy_is_walls(guard->policy))
        return err_set(
            e, -EBUSY,
            "without a broker (the level full) this change takes a new kernel: reset the session");
    int r = guard_policy_of(spec, &next, e);
    if (r == 0)
        r = policy_includes(next, guard->policy, e);
    if (r < 0) {
        (void)policy_free(next);
        return r;
    }
    broker_set_policy(guard->broker, next);
    return 0;
}
