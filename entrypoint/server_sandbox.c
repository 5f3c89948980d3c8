/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/server_sandbox.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/service.h"
#include "entrypoint/sandbox_place.h"
#include "sandbox/diskuse.h"
#include "sandbox/guard.h"

/* --- what the machine grants ----------------------------------------------------------------- */

static int check_level(const struct options *o, const struct sandbox_probe *probe,
                       const char *detail, struct err *e)
{
    if ((int)probe->level < sandbox_level_of(o->sandbox_min))
        return err_set(e, -ENOTSUP, "isolation of the level %s is needed (--sandbox-min): %s",
                       o->sandbox_min, detail);
    if (o->sandbox && probe->filter_errno)
        return err_set(e, -ENOTSUP, "--sandbox: %s", detail);
    if (o->kernel_tasks > 0 && probe->level < SANDBOX_FULL)
        return err_set(e, -ENOTSUP, "--kernel-tasks: %s", detail);
    if (o->mcp_tasks > 0 && probe->level < SANDBOX_FULL)
        return err_set(e, -ENOTSUP, "--mcp-tasks: %s", detail);
    return 0;
}

static void log_level_found(const struct options *o, const struct sandbox_probe *probe,
                            const char *detail)
{
    if (o->sandbox || o->sandbox_config)
        log_write(probe->level == SANDBOX_FULL ? LOG_INFO : LOG_WARNING, "sandbox", "%s", detail);
    else if (probe->filter_errno)
        log_warning("sandbox", "code in kernels is not kept from the server: %s", detail);
    else
        log_info("sandbox", "%s; kernels run without a sandbox", detail);
}

static int probe_level(const struct options *o, struct server_sandbox *s, struct sandbox_probe *ret,
                       struct err *e)
{
    drop_buf struct buf text = BUF_INIT(SERVER_SANDBOX_DETAIL - 1);
    sandbox_probe(ret);
    sandbox_probe_text(ret, &text);
    (void)snprintf(s->detail, sizeof s->detail, "%s", buf_text(&text));
    s->level = sandbox_level_name(ret->level);
    int r = check_level(o, ret, s->detail, e);
    if (r == 0)
        log_level_found(o, ret, s->detail);
    return r;
}

/* --- the sandbox ----------------------------------------------------------------------------- */

static void fill_place(const struct options *o, struct server_sandbox *s)
{
    size_t at = 0;
    s->ipython = xasprintf("%s/.ipython", sandbox_home());
    (void)mkdir(s->ipython, 0777);
    s->dirs[at++] = s->ipython;
    s->sockets[0] = s->tool_socket;
    s->ports[0] = (uint16_t)o->tool_server_port;
    s->spec.settings = s->settings;
    s->spec.cwd = s->workspace;
    s->spec.home = sandbox_home();
    s->spec.private_dirs = s->dirs;
    s->spec.unix_sockets = s->sockets;
    s->spec.ports = s->ports;
}

/* Made once as each shim will make it, so that settings which cannot be used end the start. */
static int try_settings(struct server_sandbox *s, struct err *e)
{
    struct guard *guard = NULL;
    int r = guard_open(&s->spec, &guard, e);
    if (r == 0)
        sandbox_variables(guard_policy(guard), NULL, &s->variables);
    s->preload = r == 0 ? sandbox_preload(guard) : NULL;
    (void)guard_free(guard);
    return r;
}

static int open_settings(const struct options *o, struct server_sandbox *s, struct err *e)
{
    int r = 0;
    if (o->sandbox_config)
        r = sandbox_settings_read(o->sandbox_config, &s->settings, e);
    else
        s->settings = xstrdup(sandbox_settings_default);
    if (r < 0)
        return r;
    fill_place(o, s);
    r = try_settings(s, e);
    return r == 0 ? 0 : err_wrap(e, "%s", o->sandbox_config ? o->sandbox_config : "--sandbox");
}

static void find_disk_places(struct server_sandbox *s)
{
    drop_buf struct buf text = BUF_INIT(SERVER_SANDBOX_DETAIL);
    s->disk_places = diskuse_places();
    s->spec.disk_places = (const char *const *)s->disk_places;
    for (char **place = s->disk_places; *place; place++)
        (void)buf_addf(&text, " %s", *place);
    log_info("sandbox", "--kernel-disk counts what is below%s", buf_text(&text));
}

int server_sandbox_open(const struct options *options, const char *workspace,
                        const char *tool_socket, struct server_sandbox *ret, struct err *e)
{
    struct sandbox_probe probe;
    struct server_sandbox *s = ret;
    *s = (struct server_sandbox){.workspace = xstrdup(workspace),
                                 .tool_socket = xstrdup(tool_socket)};
    int r = probe_level(options, s, &probe, e);
    if (r < 0)
        return r;
    s->spec.level = probe.level;
    s->spec.limits = (struct sandbox_limits){.tasks = options->kernel_tasks,
                                             .files = options->kernel_files,
                                             .file_size = options->kernel_file_size,
                                             .memory = options->kernel_memory,
                                             .disk = options->kernel_disk,
                                             .cpu = options->kernel_cpu};
    /* With a uid of the server's own, root's terminals are kept from kernels by their modes. */
    s->spec.terminals = !service_there();
    s->server_spec = sandbox_walls;
    s->server_spec.options = "mcp";
    s->server_spec.limits = (struct sandbox_limits){.tasks = options->mcp_tasks,
                                                    .files = options->mcp_files,
                                                    .memory = options->mcp_memory,
                                                    .cpu = options->mcp_cpu};
    if (options->kernel_disk > 0)
        find_disk_places(s);
    if (options->sandbox)
        r = open_settings(options, s, e);
    if (r == 0 && probe.filter_errno == 0) {
        s->kernels = &s->spec;
        s->servers = &s->server_spec;
    }
    return r;
}

void server_sandbox_done(struct server_sandbox *s)
{
    words_done(&s->variables);
    (void)diskuse_places_free(s->disk_places);
    xfree(s->settings);
    xfree(s->workspace);
    xfree(s->ipython);
    xfree(s->tool_socket);
    *s = (struct server_sandbox){0};
}
