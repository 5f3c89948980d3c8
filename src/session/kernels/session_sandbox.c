/* SPDX-License-Identifier: Apache-2.0 */
#include "session/kernels/session_sandbox.h"

#include <string.h>

#include "base/alloc.h"
#include "sandbox/confine/guard.h"
#include "sandbox/limits/diskuse.h"
#include "session/kernels/limits.h"

/* --- settings --------------------------------------------------------------------------------- */

static bool has_sandbox(const struct session_sandbox *w)
{
    return w->server && w->server->settings;
}

static int need_sandbox(const struct session_sandbox *w, struct err *e)
{
    return has_sandbox(w) ? 0
                          : err_set(e, -EBUSY,
                                    "kernels run without a sandbox here: the server was started "
                                    "without --sandbox, and the session was made without one");
}

/* Where proxies are stands in the environment of kernels, which is the same for all. */
static int check_proxies(const struct session_sandbox *w, const char *text, struct err *e)
{
    struct sandbox_settings *mine = NULL, *servers = NULL;
    int r = sandbox_settings_parse(text, strlen(text), &mine, e);
    if (r == 0)
        r = sandbox_settings_parse(w->server->settings, strlen(w->server->settings), &servers, e);
    if (r == 0 && (mine->http_proxy_port != servers->http_proxy_port ||
                   mine->socks_proxy_port != servers->socks_proxy_port))
        r = err_set(e, -EDOM,
                    "network.httpProxyPort, network.socksProxyPort: these are the same for all "
                    "sessions (--sandbox-config)");
    (void)sandbox_settings_free(mine);
    (void)sandbox_settings_free(servers);
    return r;
}

static struct sandbox_spec walls_spec_of(const struct session_sandbox *w, const char *settings)
{
    struct sandbox_spec spec = *w->server;
    spec.settings = settings;
    return spec;
}

/* What is neither wrong in itself nor impossible live: the place does not let them be used. */
static int describe_walls(int r, struct err *e)
{
    const struct err why = *e;
    if (r == 0 || r == -EINVAL || r == -EBUSY)
        return r;
    return err_set(e, -EBUSY, "these settings cannot be used here: %s", why.msg);
}

static int check_walls(const struct session_sandbox *w, const char *settings, struct err *e)
{
    struct policy *policy = NULL;
    int r = need_sandbox(w, e);
    if (r == 0)
        r = check_proxies(w, settings, e);
    if (r < 0)
        return r;
    struct sandbox_spec spec = walls_spec_of(w, settings);
    r = describe_walls(guard_policy_of(&spec, &policy, e), e);
    (void)policy_free(policy);
    return r;
}

/* Kernels that start from now on get them; NULL: the server's. */
static void use_walls(struct session_sandbox *w, char *settings)
{
    xfree(w->settings);
    w->settings = settings;
    if (settings)
        w->spec = walls_spec_of(w, settings);
    w->config->kernel.sandbox = settings ? &w->spec : w->server;
    w->config->pool = settings ? NULL : w->spares;
    if (w->changed)
        w->changed(w->changed_ctx);
}

/* In the place of the server's, which has no settings, for good. */
static int take_offer(struct session_sandbox *w, struct err *e)
{
    const struct session_walls *offered = NULL;
    if (!w->config->offer || !w->server)
        return err_set(e, -EDOM, "sandbox: this machine has none (ipybox doctor)");
    int r = w->config->offer(w->config->offer_ctx, &offered, e);
    if (r < 0)
        return describe_walls(r, e);
    w->offered = *offered->spec;
    w->offered.limits = w->server->limits;
    w->offered.disk_places = w->server->disk_places;
    w->server = &w->offered;
    w->spares = NULL;
    w->config->kernel.envp = offered->envp;
    return 0;
}

/* In the place of the server's, for good. */
static int tighten(struct session_sandbox *w, const struct json *limits, struct err *e)
{
    struct sandbox_limits own;
    int r = limits_read(limits, w->server, &own, e);
    if (r < 0)
        return r;
    w->tighter = *w->server;
    w->tighter.limits = own;
    if (own.disk > 0 && !w->tighter.disk_places) {
        w->places = diskuse_places();
        w->tighter.disk_places = (const char *const *)w->places;
    }
    w->server = &w->tighter;
    w->spares = NULL;
    use_walls(w, NULL);
    return 0;
}

int session_sandbox_open(struct session_sandbox *w, struct session_config *config,
                         const char *settings, const struct json *limits, struct err *e)
{
    *w = (struct session_sandbox){
        .config = config, .server = config->kernel.sandbox, .spares = config->pool};
    int r = settings && !has_sandbox(w) ? take_offer(w, e) : 0;
    if (r == 0 && limits)
        r = tighten(w, limits, e);
    if (r == 0 && settings)
        r = check_walls(w, settings, e);
    if (r == 0 && settings)
        use_walls(w, xstrdup(settings));
    return r;
}

/* A session with a limit for disk space is not forked: its places need no copy. */
int session_sandbox_copy(struct session_sandbox *w, struct session_config *config,
                         const struct session_sandbox *from, struct err *e)
{
    *w = (struct session_sandbox){
        .config = config, .server = config->kernel.sandbox, .spares = config->pool};
    int r = from->offered.settings ? take_offer(w, e) : 0;
    if (r < 0)
        return r;
    if (from->server == &from->tighter) {
        w->tighter = *w->server;
        w->tighter.limits = from->tighter.limits;
        w->server = &w->tighter;
        w->spares = NULL;
        use_walls(w, NULL);
    }
    if (from->settings)
        use_walls(w, xstrdup(from->settings));
    return 0;
}

void session_sandbox_close(struct session_sandbox *w)
{
    xfree(w->settings);
    xfree(w->wanted);
    xfree(w->before);
    (void)diskuse_places_free(w->places);
    *w = (struct session_sandbox){0};
}

const struct sandbox_limits *session_sandbox_limits(const struct session_sandbox *w)
{
    return w->server ? &w->server->limits : NULL;
}

const char *session_sandbox_settings(const struct session_sandbox *w, bool *ret_own)
{
    *ret_own = w->settings != NULL;
    return w->settings ? w->settings : has_sandbox(w) ? w->server->settings : NULL;
}

int session_sandbox_explain(const struct session_sandbox *w, struct buf *text, struct err *e)
{
    bool own;
    struct policy *policy = NULL;
    int r = need_sandbox(w, e);
    if (r < 0)
        return r;
    struct sandbox_spec spec = walls_spec_of(w, session_sandbox_settings(w, &own));
    r = guard_policy_of(&spec, &policy, e);
    if (r == 0)
        policy_explain(policy, text);
    (void)policy_free(policy);
    return r;
}

/* --- a change --------------------------------------------------------------------------------- */

static void finish_walls(struct session_sandbox *w, const struct err *why)
{
    session_sandbox_fn done = w->done;
    w->done = NULL;
    w->changing = false;
    xfree(w->wanted);
    w->wanted = NULL;
    if (done)
        done(w->ctx, why);
}

static void use_wanted(struct session_sandbox *w)
{
    char *settings = w->wanted;
    w->wanted = NULL;
    use_walls(w, settings);
}

static void on_walls_confined(void *ctx, const struct err *why)
{
    struct session_sandbox *w = ctx;
    struct err told = why ? *why : ERR_NONE;
    if (why)
        (void)describe_walls(why->code, &told);
    else
        use_wanted(w);
    finish_walls(w, why ? &told : NULL);
}

static void on_reset_begins(void *ctx)
{
    struct session_sandbox *w = ctx;
    w->starts = true;
    w->before = w->settings;
    w->settings = NULL;
    use_wanted(w);
}

static void on_walls_reset(void *ctx, const struct err *why)
{
    struct session_sandbox *w = ctx;
    struct err told = ERR_NONE;
    char *before = w->before;
    w->before = NULL;
    if (w->starts && why)
        use_walls(w, before);
    else
        xfree(before);
    w->starts = false;
    if (why)
        (void)err_set(&told, -ESHUTDOWN, "%s", why->msg);
    finish_walls(w, why ? &told : NULL);
}

static int begin_reset(struct session_sandbox *w, struct session *session, struct err *e)
{
    struct cell *cell = NULL;
    int r = session_reset(session, on_walls_reset, w, &cell, e);
    if (r == 0)
        cell_before_reset(cell, on_reset_begins);
    return r;
}

/* A kernel that is not up yet has run nothing: it is started anew. */
static int begin_walls(struct session_sandbox *w, struct session *session, struct err *e)
{
    int r = session_confine(session, w->wanted, on_walls_confined, w, e);
    if (r == 1) {
        use_wanted(w);
        session_renew(session);
    }
    return r;
}

int session_sandbox_change(struct session_sandbox *w, struct session *session, const char *settings,
                           bool reset, session_sandbox_fn done, void *ctx, struct err *e)
{
    if (w->changing)
        return err_set(e, -EBUSY, "another change of the session's sandbox is under way");
    int r = check_walls(w, settings, e);
    if (r < 0)
        return r;
    w->changing = true;
    w->wanted = xstrdup(settings);
    w->done = done;
    w->ctx = ctx;
    r = reset ? begin_reset(w, session, e) : begin_walls(w, session, e);
    if (r != 0) { /* it holds, or it has failed: nothing follows */
        w->done = NULL;
        finish_walls(w, NULL);
    }
    return r;
}

void session_sandbox_forget(struct session_sandbox *w, const void *ctx)
{
    if (w->ctx == ctx)
        w->done = NULL;
}
