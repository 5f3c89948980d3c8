/* SPDX-License-Identifier: Apache-2.0 */
#include "session/kernels/sessions_internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/random.h"
#include "sandbox/policy/settings.h"
#include "session/commands/commands.h"
#include "session/executions/executions.h"
#include "session/kernels/setup.h"

enum { RANDOM_ID_BYTES = 8 };

/* --- finding --------------------------------------------------------------------------------- */

static struct session_entry *find_session(const struct sessions *all, const char *id)
{
    for (struct session_entry *entry = all->first; entry; entry = entry->next)
        if (strcmp(entry->id, id) == 0)
            return entry;
    return NULL;
}

static void describe_session_entry(const struct session_entry *entry, struct sessions_view *ret)
{
    *ret = (struct sessions_view){.id = entry->id,
                                  .cwd = entry->cwd,
                                  .parent = *entry->parent ? entry->parent : NULL,
                                  .timeout_ms = entry->timeout_ms,
                                  .idle_ms = entry->idle_ms,
                                  .created_ms = entry->created_ms,
                                  .session = entry->session,
                                  .executions = entry->executions,
                                  .commands = entry->commands};
    ret->sandbox = session_sandbox_settings(&entry->walls, &ret->own_sandbox);
    ret->limits = session_sandbox_limits(&entry->walls);
}

bool sessions_find(const struct sessions *all, const char *id, struct sessions_view *ret)
{
    const struct session_entry *entry = find_session(all, id);
    if (!entry || entry->ending || entry->fork)
        return false;
    describe_session_entry(entry, ret);
    return true;
}

const char *sessions_settings(const struct sessions *all)
{
    struct sessions_view view;
    return sessions_find(all, SESSIONS_DEFAULT, &view) ? view.sandbox : NULL;
}

bool sessions_next(const struct sessions *all, size_t *at, struct sessions_view *ret)
{
    size_t n = 0;
    for (const struct session_entry *entry = all->first; entry; entry = entry->next) {
        if (entry->ending || entry->fork || n++ < *at)
            continue;
        ++*at;
        describe_session_entry(entry, ret);
        return true;
    }
    return false;
}

size_t sessions_count(const struct sessions *all)
{
    return all->count;
}

const struct session_config *sessions_base(const struct sessions *all)
{
    return all->config.base;
}

/* --- ending ---------------------------------------------------------------------------------- */

void sessions_free_entry(struct session_entry *entry)
{
    struct sessions *all = entry->owner;
    chain_remove(&all->first, entry);
    all->count--;
    loop_timer_stop(all->loop, &entry->idle);
    loop_defer_stop(all->loop, &entry->gone);
    entry->commands = commands_close(entry->commands);
    entry->executions = executions_close(entry->executions);
    entry->session = session_free(entry->session);
    session_sandbox_close(&entry->walls);
    xfree(entry->cwd);
    xfree(entry->setup);
    (void)json_free(entry->env);
    xfree(entry);
}

static void on_session_gone(void *ctx)
{
    struct session_entry *entry = ctx;
    struct sessions *all = entry->owner;
    for (struct sessions_watcher *w = all->watchers, *next; w; w = next) {
        next = w->next;
        w->ended(w->ctx, entry->id);
    }
    sessions_free_entry(entry);
}

static void on_stopped(void *ctx)
{
    struct sessions *all = ctx;
    loop_fn stopped = all->stopped;
    all->stopped = NULL;
    if (stopped)
        stopped(all->stopped_ctx);
}

static void check_stopped(struct sessions *all)
{
    for (const struct session_entry *entry = all->first; entry; entry = entry->next)
        if (!entry->closed)
            return;
    loop_defer(all->loop, &all->notify_stopped, on_stopped, all);
}

static void on_session_closed(void *ctx)
{
    struct session_entry *entry = ctx;
    entry->closed = true;
    if (entry->owner->stopping)
        check_stopped(entry->owner);
    else /* the session's own call is still under way */
        loop_defer(entry->owner->loop, &entry->gone, on_session_gone, entry);
}

static void audit_session(const struct session_entry *entry, enum audit_kind kind,
                          const char *outcome)
{
    (void)audit_add(entry->config.audit,
                    &(struct audit_event){.kind = kind, .session = entry->id, .outcome = outcome});
}

static void end_session_entry(struct session_entry *entry, const char *why)
{
    audit_session(entry, AUDIT_SESSION_ENDED, why);
    entry->ending = true;
    loop_timer_stop(entry->owner->loop, &entry->idle);
    entry->commands = commands_close(entry->commands);
    session_close(entry->session, 0, on_session_closed, entry);
}

int sessions_end(struct sessions *all, const char *id, struct err *e)
{
    struct session_entry *entry = find_session(all, id);
    if (!entry || entry->ending || entry->fork)
        return err_set(e, -ENOENT, "there is no session %.80s", id);
    if (strcmp(id, SESSIONS_DEFAULT) == 0)
        return err_set(e, -EPERM, "the session " SESSIONS_DEFAULT " cannot be ended");
    if (all->stopping)
        return err_set(e, -ESHUTDOWN, "the server is stopping");
    end_session_entry(entry, "deleted");
    return 0;
}

void sessions_stop(struct sessions *all, int64_t grace_ms, loop_fn done, void *ctx)
{
    all->stopping = true;
    sessions_drop_forks(all);
    all->stopped = done;
    all->stopped_ctx = ctx;
    for (struct session_entry *entry = all->first; entry; entry = entry->next) {
        loop_defer_stop(all->loop, &entry->gone);
        loop_timer_stop(all->loop, &entry->idle);
        if (entry->commands)
            commands_stop(entry->commands);
        if (!entry->closed)
            session_close(entry->session, grace_ms, on_session_closed, entry);
    }
    check_stopped(all);
}

/* --- idling ---------------------------------------------------------------------------------- */

static void on_session_idle(void *ctx)
{
    struct session_entry *entry = ctx;
    int64_t now = loop_now(entry->owner->loop);
    if (session_waiting(entry->session) > 0 || commands_running(entry->commands) > 0)
        entry->used_ms = now;
    int64_t left = entry->used_ms + entry->idle_ms - now;
    if (left > 0)
        loop_timer_set(entry->owner->loop, &entry->idle, left, on_session_idle, entry);
    else
        end_session_entry(entry, "idle");
}

void sessions_touch(struct sessions *all, const char *id)
{
    struct session_entry *entry = find_session(all, id);
    if (entry)
        entry->used_ms = loop_now(all->loop);
}

/* --- creating -------------------------------------------------------------------------------- */

static int check_id(const char *id, struct err *e)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t n = strlen(id);
    if (n > 0 && n <= SESSIONS_ID_MAX && strspn(id, good) == n && *id != '.')
        return 0;
    return err_set(e, -EINVAL,
                   "id: 1 to %d letters, digits, dots, dashes and underscores are needed, no dot "
                   "at the front",
                   SESSIONS_ID_MAX);
}

static int check_env(const struct json *env, struct err *e)
{
    if (!env || json_is_null(env))
        return 0;
    if (!json_is_object(env) || json_count(env) > SESSIONS_ENV_MAX)
        return err_set(e, -EINVAL, "env: an object of at most %d texts is needed",
                       SESSIONS_ENV_MAX);
    for (const struct json *item = json_first(env); item; item = json_next(item)) {
        const char *name = json_name(item), *text = json_text(item);
        if (!text || !*name || strchr(name, '=') || strstr(name, "\xC0\x80") ||
            strstr(text, "\xC0\x80"))
            return err_set(e, -EINVAL, "env.%.80s: a text without NUL is needed", name);
    }
    return 0;
}

/* Where it really is must be in the workspace; code may go elsewhere later, as it likes. */
static int find_cwd(const char *workspace, const char *cwd, char **ret, struct err *e)
{
    char resolved[PATH_MAX];
    struct stat st;
    if (!cwd || !*cwd) {
        *ret = xstrdup(workspace);
        return 0;
    }
    drop_str char *path = *cwd == '/' ? xstrdup(cwd) : xasprintf("%s/%s", workspace, cwd);
    if (!realpath(path, resolved) || stat(resolved, &st) < 0)
        return err_set(e, -EDOM, "cwd: %.200s: %s", cwd, strerror(errno));
    size_t n = strlen(workspace);
    bool root = strcmp(workspace, "/") == 0;
    if (!root && (strncmp(resolved, workspace, n) != 0 || !strchr("/", resolved[n])))
        return err_set(e, -EDOM, "cwd: %.200s is not in the workspace", cwd);
    if (!S_ISDIR(st.st_mode))
        return err_set(e, -EDOM, "cwd: %.200s is not a folder", cwd);
    *ret = xstrdup(resolved);
    return 0;
}

static int check_ms(const char *name, int64_t ms, struct err *e)
{
    if (ms >= 0 && ms <= SESSIONS_MS_MAX)
        return 0;
    return err_set(e, -EINVAL, "%s: 0 to %lld milliseconds are possible", name,
                   (long long)SESSIONS_MS_MAX);
}

/* One that ends and has no kernel takes no place any more. */
static bool are_sessions_full(const struct sessions *all)
{
    size_t n = 0;
    for (const struct session_entry *entry = all->first; entry; entry = entry->next)
        n += !entry->ending || !session_is_untouched(entry->session);
    return n >= all->config.max;
}

static bool make_room_for_session(const struct sessions *all)
{
    for (struct sessions_watcher *w = all->watchers; w && are_sessions_full(all); w = w->next)
        if (w->make_room)
            (void)w->make_room(w->ctx);
    return !are_sessions_full(all);
}

static int check_session_id(const struct sessions *all, const struct sessions_spec *spec,
                            struct err *e)
{
    int r = spec->id ? check_id(spec->id, e) : 0;
    if (r == 0)
        r = check_env(spec->env, e);
    if (r == 0)
        r = check_ms("timeout_ms", spec->timeout_ms, e);
    if (r == 0)
        r = check_ms("idle_timeout_ms", spec->idle_ms, e);
    if (r < 0)
        return r;
    if (all->stopping)
        return err_set(e, -ESHUTDOWN, "the server is stopping");
    if (spec->id && find_session(all, spec->id))
        return err_set(e, -EEXIST, "there is a session %s already", spec->id);
    if (are_sessions_full(all) && !make_room_for_session(all))
        return err_set(e, -EAGAIN,
                       "there are %zu sessions, which is the limit (--max-sessions): end one first",
                       all->count);
    return 0;
}

static void on_used(void *ctx)
{
    struct session_entry *entry = ctx;
    entry->used_ms = loop_now(entry->owner->loop);
}

static const char *own_settings_of(const struct sessions_spec *spec,
                                   const struct session_config *base)
{
    const struct sandbox_spec *server = base->kernel.sandbox;
    if (spec->sandbox || !spec->sandboxed || (server && server->settings))
        return spec->sandbox;
    return sandbox_settings_default;
}

static void on_walls_changed(void *ctx)
{
    const struct session_entry *entry = ctx;
    if (entry->commands)
        commands_confine(entry->commands);
}

/* env: checked. */
static void open_commands(struct session_entry *entry, const struct json *env)
{
    drop_str char *text = json_count(env) > 0 ? json_print(env) : NULL;
    entry->env = text ? json_parse_copy(text, strlen(text), JSON_STRICT, NULL) : NULL;
    entry->commands = commands_open(
        &(struct commands_config){.config = &entry->config, .cwd = entry->cwd, .env = entry->env});
    entry->walls.changed = on_walls_changed;
    entry->walls.changed_ctx = entry;
}

static int start_session(struct session_entry *entry, const struct sessions_spec *spec,
                         struct err *e)
{
    const struct session_config *base = entry->owner->config.base;
    int r = find_cwd(base->workspace, spec->cwd, &entry->cwd, e);
    bool elsewhere = r == 0 && strcmp(entry->cwd, base->workspace) != 0;
    if (r == 0 && (elsewhere || json_count(spec->env) > 0))
        r = setup_code(spec->env, "", elsewhere ? entry->cwd : NULL, &entry->setup, e);
    entry->config = *base;
    entry->config.id = entry->id;
    entry->config.setup = entry->setup;
    entry->config.lazy = spec->lazy;
    if (spec->own_checkpoints && spec->checkpoints < base->checkpoints)
        entry->config.checkpoints = spec->checkpoints;
    if (r == 0)
        r = session_sandbox_open(&entry->walls, &entry->config, own_settings_of(spec, base),
                                 spec->limits, e);
    if (r == 0)
        r = session_open(&entry->config, &entry->session, e);
    if (r == 0)
        sessions_serve_entry(entry, spec->env);
    return r;
}

void sessions_serve_entry(struct session_entry *entry, const struct json *env)
{
    const struct executions_config executions = {.loop = entry->owner->loop,
                                                 .session = entry->session,
                                                 .pending = &entry->owner->pending,
                                                 .used = on_used,
                                                 .ctx = entry};
    entry->executions = executions_open(&executions);
    open_commands(entry, env);
}

void sessions_announce(struct session_entry *entry, const char *parent)
{
    struct sessions *all = entry->owner;
    (void)audit_add(entry->config.audit, &(struct audit_event){.kind = AUDIT_SESSION_CREATED,
                                                               .session = entry->id,
                                                               .parent = parent});
    entry->used_ms = loop_now(all->loop);
    if (entry->idle_ms > 0)
        loop_timer_set(all->loop, &entry->idle, entry->idle_ms, on_session_idle, entry);
}

int sessions_new_entry(struct sessions *all, const struct sessions_spec *spec,
                       struct session_entry **ret, struct err *e)
{
    int r = check_session_id(all, spec, e);
    if (r < 0)
        return r;
    struct session_entry *entry = NEW(struct session_entry);
    *entry = (struct session_entry){.owner = all,
                                    .timeout_ms =
                                        spec->timeout_ms ? spec->timeout_ms : SESSIONS_TIMEOUT_MS,
                                    .idle_ms = spec->idle_ms,
                                    .created_ms = clock_real_ms(),
                                    .used_ms = loop_now(all->loop)};
    if (spec->id)
        (void)snprintf(entry->id, sizeof entry->id, "%s", spec->id);
    else
        random_hex(entry->id, RANDOM_ID_BYTES);
    chain_append(&all->first, entry);
    all->count++;
    *ret = entry;
    return 0;
}

int sessions_create(struct sessions *all, const struct sessions_spec *spec,
                    struct sessions_view *ret, struct err *e)
{
    struct session_entry *entry = NULL;
    int r = sessions_new_entry(all, spec, &entry, e);
    if (r < 0)
        return r;
    r = start_session(entry, spec, e);
    if (r < 0) {
        sessions_free_entry(entry);
        return r;
    }
    sessions_announce(entry, NULL);
    describe_session_entry(entry, ret);
    return 0;
}

/* --- sandboxes -------------------------------------------------------------------------------- */

struct session_entry *sessions_need(const struct sessions *all, const char *id, struct err *e)
{
    struct session_entry *entry = find_session(all, id);
    if (entry && !entry->ending && !entry->fork)
        return entry;
    (void)err_set(e, -ENOENT, "there is no session %.80s", id);
    return NULL;
}

int sessions_pause(struct sessions *all, const char *id, bool pause, struct err *e)
{
    const struct session_entry *entry = sessions_need(all, id, e);
    if (!entry)
        return -ENOENT;
    audit_session(entry, pause ? AUDIT_SESSION_PAUSED : AUDIT_SESSION_RESUMED, NULL);
    session_pause(entry->session, pause);
    commands_pause(entry->commands, pause);
    return 0;
}

int sessions_change_sandbox(struct sessions *all, const char *id, const char *settings, bool reset,
                            void (*done)(void *ctx, const struct err *why), void *ctx,
                            struct err *e)
{
    struct session_entry *entry = sessions_need(all, id, e);
    return entry ? session_sandbox_change(&entry->walls, entry->session, settings, reset, done, ctx,
                                          e)
                 : -ENOENT;
}

void sessions_forget_change(struct sessions *all, const void *ctx)
{
    for (struct session_entry *entry = all->first; entry; entry = entry->next)
        session_sandbox_forget(&entry->walls, ctx);
}

int sessions_explain_sandbox(const struct sessions *all, const char *id, struct buf *text,
                             struct err *e)
{
    const struct session_entry *entry = sessions_need(all, id, e);
    return entry ? session_sandbox_explain(&entry->walls, text, e) : -ENOENT;
}

/* --- the whole ------------------------------------------------------------------------------- */

int sessions_open(const struct sessions_config *config, struct sessions **ret, struct err *e)
{
    struct sessions *all = NEW(struct sessions);
    struct sessions_view view;
    all->config = *config;
    all->loop = config->base->kernel.loop;
    int r = sessions_create(all, &(struct sessions_spec){.id = SESSIONS_DEFAULT}, &view, e);
    if (r < 0) {
        (void)sessions_close(all);
        return r;
    }
    *ret = all;
    return 0;
}

struct sessions *sessions_close(struct sessions *all)
{
    if (!all)
        return NULL;
    sessions_drop_forks(all);
    while (all->first)
        sessions_free_entry(all->first);
    loop_defer_stop(all->loop, &all->notify_stopped);
    xfree(all);
    return NULL;
}

void sessions_watch(struct sessions *all, struct sessions_watcher *w)
{
    w->next = all->watchers;
    all->watchers = w;
}

void sessions_unwatch(struct sessions *all, struct sessions_watcher *w)
{
    chain_remove(&all->watchers, w);
}
