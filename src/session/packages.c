/* SPDX-License-Identifier: Apache-2.0 */
#include "session/packages.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"

enum { OUTPUT_MAX = 4 << 20 };

struct install {
    struct child *child;
    struct audit *audit;
    char *package;                        /* as the audit log has it */
    char request_id[LOG_REQUEST_MAX + 1]; /* that asked for it, or "" */
    int64_t begun_ms;
    struct buf output;
    const struct install_events *events;
    void *ctx;
};

static void tell(const struct install *install, enum audit_kind kind, const char *outcome)
{
    struct audit_event event = {.kind = kind,
                                .request_id = install->request_id,
                                .package = install->package,
                                .outcome = outcome,
                                .timed = outcome != NULL,
                                .ms = clock_ms() - install->begun_ms};
    (void)audit_add(install->audit, &event);
}

static void free_install(struct install *install)
{
    (void)child_end(install->child);
    xfree(install->package);
    buf_done(&install->output);
    xfree(install);
}

static void on_output(void *ctx, const char *bytes, size_t n)
{
    struct install *install = ctx;
    (void)buf_add(&install->output, bytes, n); /* over the limit: the rest is only streamed */
    if (install->events->text)
        install->events->text(install->ctx, bytes, n);
}

static void on_ended(void *ctx, const struct child_exit *how, const struct err *why)
{
    struct install *install = ctx;
    install->child = NULL;
    struct err e = ERR_NONE;
    if (!how)
        (void)err_set(&e, why->code, "pip: %s", why->msg);
    else if (how->signal)
        (void)err_set(&e, -ECHILD, "pip was killed by signal %d", how->signal);
    else if (how->code != 0)
        (void)err_set(&e, -ECHILD, "pip ended with status %d", how->code);
    tell(install, AUDIT_PACKAGE_INSTALLED, e.code ? "error" : "ok");
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

int install_start(const struct packages_config *config, const char *package,
                  const struct install_events *events, void *ctx, struct install **ret,
                  struct err *e)
{
    static const struct child_events child_events = {.output = on_output, .ended = on_ended};
    int r = check_name(package, e);
    if (r == 0)
        r = audit_check(config->audit, e);
    if (r < 0)
        return r;
    const char *argv[] = {config->python,
                          "-m",
                          "pip",
                          "install",
                          "--no-input",
                          "--no-color",
                          "--disable-pip-version-check",
                          "--root-user-action=ignore",
                          package,
                          NULL};
    struct child_spec spec = {.argv = argv, .envp = config->envp, .cwd = config->cwd};
    struct install *install = NEW(struct install);
    *install = (struct install){.audit = config->audit,
                                .package = audit_package(package),
                                .begun_ms = clock_ms(),
                                .output = BUF_INIT(OUTPUT_MAX),
                                .events = events,
                                .ctx = ctx};
    (void)snprintf(install->request_id, sizeof install->request_id, "%s",
                   log_request() ? log_request() : "");
    tell(install, AUDIT_PACKAGE_INSTALL, NULL);
    r = child_start(config->spawner, &spec, &child_events, install, &install->child, e);
    if (r < 0) {
        tell(install, AUDIT_PACKAGE_INSTALLED, "error");
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
    tell(install, AUDIT_PACKAGE_INSTALLED, "cancelled");
    free_install(install);
    return NULL;
}
