/* SPDX-License-Identifier: Apache-2.0 */
#include "session/packages/packages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/text/utf8.h"

enum { OUTPUT_MAX = 4 << 20, LINE_MAX_SHOWN = 200, STEP_MAX = 64, HOSTS_SHOWN = 200 };

struct install {
    struct child *child;
    const struct packages_config *config;
    char *package;
    char *audited;                        /* the package as the audit log has it */
    char request_id[LOG_REQUEST_MAX + 1]; /* that asked for it, or "" */
    int64_t begun_ms;
    bool steps;              /* pip tells its progress in lines that are no output */
    bool inside;             /* of a line that is output */
    char step[STEP_MAX + 1]; /* a line that may be such a one, so far */
    size_t step_n;
    char line[LINE_MAX_SHOWN + 1]; /* of output, the newest */
    size_t line_n;
    struct words hosts; /* that its sandbox lets it reach; none without one */
    struct buf output;
    const struct install_events *events;
    void *ctx;
};

static void notify_install(const struct install *install, enum audit_kind kind, const char *outcome)
{
    struct audit_event event = {.kind = kind,
                                .request_id = install->request_id,
                                .package = install->audited,
                                .outcome = outcome,
                                .timed = outcome != NULL,
                                .ms = clock_ms() - install->begun_ms};
    (void)audit_add(install->config->audit, &event);
}

static void free_install(struct install *install)
{
    (void)child_end(install->child);
    xfree(install->audited);
    words_done(&install->hosts);
    buf_done(&install->output);
    xfree(install->package);
    xfree(install);
}

/* --- what pip says ---------------------------------------------------------------------------- */

static void put_output(struct install *install, const char *bytes, size_t n)
{
    if (n == 0)
        return;
    (void)buf_add(&install->output, bytes, n); /* over the limit: the rest is only streamed */
    if (install->events->text)
        install->events->text(install->ctx, bytes, n);
}

static void note_line(struct install *install, const char *bytes, size_t n)
{
    if (!install->inside)
        install->line_n = 0;
    for (size_t i = 0; i < n && bytes[i] != '\n' && install->line_n < LINE_MAX_SHOWN; i++)
        install->line[install->line_n++] = bytes[i];
    install->line[install->line_n] = '\0';
}

/* "Progress 1024 of 20480", as pip has it with --progress-bar=raw; the total may be absent. */
static bool notify_step(const struct install *install)
{
    static const char between[] = " of ";
    char *end = NULL;
    long long done = strtoll(install->step + sizeof "Progress", &end, 10), total = -1;
    if (end == install->step + sizeof "Progress" || strncmp(end, between, sizeof between - 1) != 0)
        return false;
    const char *at = end + sizeof between - 1;
    long long n_total = strtoll(at, &end, 10);
    total = end > at ? n_total : total;
    size_t n = utf8_valid_prefix(install->line, install->line_n);
    drop_str char *what = xstrndup(install->line, n);
    install->events->progress(install->ctx, (double)done, (double)total, what);
    return true;
}

/* One byte at the beginning of a line: it is kept while the line may be a step. */
static void put_first(struct install *install, char byte)
{
    static const char prefix[] = "Progress ";
    size_t known = sizeof prefix - 1;
    install->step[install->step_n++] = byte;
    install->step[install->step_n] = '\0';
    bool may_be =
        strncmp(install->step, prefix, install->step_n < known ? install->step_n : known) == 0;
    if (may_be && byte != '\n' && install->step_n < STEP_MAX)
        return;
    if (!may_be || byte != '\n' || !notify_step(install)) {
        note_line(install, install->step, install->step_n);
        put_output(install, install->step, install->step_n);
        install->inside = byte != '\n';
    }
    install->step_n = 0;
}

static void on_pip_output(void *ctx, const char *bytes, size_t n)
{
    struct install *install = ctx;
    if (!install->steps) {
        put_output(install, bytes, n);
        return;
    }
    while (n > 0) {
        if (!install->inside) {
            put_first(install, *bytes++);
            n--;
            continue;
        }
        const char *end = memchr(bytes, '\n', n);
        size_t part = end ? (size_t)(end - bytes) + 1 : n;
        note_line(install, bytes, part);
        put_output(install, bytes, part);
        install->inside = !end;
        bytes += part;
        n -= part;
    }
}

/* --- one run of it ---------------------------------------------------------------------------- */

static int run_pip(struct install *install, struct err *e);

/* --python may be one whose pip is older than that. */
static bool knows_no_steps(const struct install *install, const struct child_exit *how)
{
    return install->steps && how && !how->signal && how->code == 2 &&
           strstr(buf_text(&install->output), "invalid choice: 'raw'");
}

/* What pip was kept from, it says itself. */
static void has_install_failed(const struct install *install, int code, struct err *e)
{
    const struct packages_config *config = install->config;
    if (!config->sandbox || !config->walls || !config->walls->settings) {
        (void)err_set(e, -ECHILD, "pip ended with status %d", code);
        return;
    }
    drop_buf struct buf hosts = BUF_INIT(HOSTS_SHOWN);
    for (size_t i = 0; i < install->hosts.count; i++)
        (void)buf_addf(&hosts, " %s", install->hosts.items[i]);
    (void)err_set(e, -ECHILD,
                  "pip ended with status %d. With --sandbox it and the set-up of packages write %s "
                  "and temporary files alone, read no .env, and reach%s; --pip-allowed-hosts adds "
                  "hosts",
                  code, config->walls->user_base,
                  install->hosts.count > 0 ? buf_text(&hosts) : " no host");
}

static void on_pip_ended(void *ctx, const struct child_exit *how, const struct err *why)
{
    struct install *install = ctx;
    install->child = NULL;
    struct err e = ERR_NONE;
    put_output(install, install->step, install->step_n);
    install->step_n = 0;
    if (knows_no_steps(install, how)) {
        install->steps = false;
        buf_clear(&install->output);
        if (run_pip(install, &e) == 0)
            return;
    } else if (!how)
        (void)err_set(&e, why->code, "pip: %s", why->msg);
    else if (how->signal)
        (void)err_set(&e, -ECHILD, "pip was killed by signal %d", how->signal);
    else if (how->code != 0)
        has_install_failed(install, how->code, &e);
    notify_install(install, AUDIT_PACKAGE_INSTALLED, e.code ? "error" : "ok");
    if (!e.code && install->config->installed)
        install->config->installed(install->config->ctx, install->package);
    const struct install_events *events = install->events;
    events->finished(install->ctx, buf_text(&install->output), e.code ? &e : NULL);
    free_install(install);
}

static int check_name(const char *package, struct err *e)
{
    size_t space = utf8_space_prefix(package, strlen(package));
    if (package[space] == '\0')
        return err_set(e, -EINVAL, "package_name: a package is needed, as in \"numpy>=2\"");
    if (package[space] == '-')
        return err_set(e, -EINVAL,
                       "package_name: \"%s\" is an option of pip; give a package, as in "
                       "\"numpy>=2\" or \"git+https://…\"",
                       package);
    return 0;
}

/* With what a sandboxed program needs to find names by (sandbox/net/net.h), and where it may write.
 * */
static const char **environment_of(const char *const *envp, const char *tmp)
{
    static const char name[] = "TMPDIR=";
    size_t n = 0, at = 0;
    while (envp[n])
        n++;
    const char **all = xcalloc(n + 3, sizeof *all);
    for (size_t i = 0; i < n; i++)
        if (!tmp || strncmp(envp[i], name, sizeof name - 1) != 0)
            all[at++] = envp[i];
    all[at++] = "RES_OPTIONS=use-vc";
    if (tmp)
        all[at] = tmp;
    return all;
}

/* With settings of its own where kernels have some: those in force now. */
static int make_pip_walls(struct install *install, struct sandbox_spec *ret, char **ret_settings,
                          const char ***ret_envp, struct err *e)
{
    const struct packages_config *config = install->config;
    if (!config->sandbox)
        return 0;
    *ret = *config->sandbox;
    if (!config->walls || !config->walls->settings)
        return 0;
    words_done(&install->hosts);
    struct pip_place place = *config->walls;
    const char *now = config->settings ? config->settings(config->sessions) : NULL;
    if (now)
        place.settings = now;
    int r = pip_settings(&place, install->package, ret_settings, &install->hosts, e);
    ret->settings = *ret_settings;
    if (r == 0)
        *ret_envp = environment_of(config->envp, config->walls->tmp);
    return r;
}

static int run_pip(struct install *install, struct err *e)
{
    static const struct child_events child_events = {.output = on_pip_output,
                                                     .ended = on_pip_ended};
    const struct packages_config *config = install->config;
    const char *argv[] = {config->python,
                          "-I",
                          "-m",
                          "ipybox_pip",
                          config->workspace,
                          "install",
                          "--no-input",
                          "--no-color",
                          "--disable-pip-version-check",
                          "--root-user-action=ignore",
                          "--no-warn-script-location", /* it is on the PATH of cells */
                          install->steps ? "--progress-bar=raw" : install->package,
                          install->steps ? install->package : NULL,
                          NULL};
    struct sandbox_spec walls;
    drop_str char *settings = NULL;
    const char **envp = NULL;
    int r = make_pip_walls(install, &walls, &settings, &envp, e);
    struct child_spec spec = {.argv = argv,
                              .envp = envp ? envp : config->envp,
                              .cwd = "/",
                              .sandbox = config->sandbox ? &walls : NULL};
    if (r == 0)
        r = child_start(config->spawner, &spec, &child_events, install, &install->child, e);
    xfree(envp);
    return r;
}

int install_start(const struct packages_config *config, const char *package,
                  const struct install_events *events, void *ctx, struct install **ret,
                  struct err *e)
{
    int r = check_name(package, e);
    if (r == 0)
        r = audit_check(config->audit, e);
    if (r < 0)
        return r;
    struct install *install = NEW(struct install);
    *install = (struct install){.config = config,
                                .package = xstrdup(package),
                                .audited = audit_package(package),
                                .begun_ms = clock_ms(),
                                .steps = events->progress != NULL,
                                .output = BUF_INIT(OUTPUT_MAX),
                                .events = events,
                                .ctx = ctx};
    (void)snprintf(install->request_id, sizeof install->request_id, "%s",
                   log_request() ? log_request() : "");
    notify_install(install, AUDIT_PACKAGE_INSTALL, NULL);
    r = run_pip(install, e);
    if (r < 0) {
        notify_install(install, AUDIT_PACKAGE_INSTALLED, "error");
        free_install(install);
        return r;
    }
    *ret = install;
    return 0;
}

struct install *install_cancel(struct install *install)
{
    if (!install)
        return NULL;
    notify_install(install, AUDIT_PACKAGE_INSTALLED, "cancelled");
    free_install(install);
    return NULL;
}
