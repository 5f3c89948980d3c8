/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/sandbox/server_sandbox.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/service.h"
#include "entrypoint/sandbox/sandbox_place.h"
#include "sandbox/confine/guard.h"
#include "sandbox/confine/places.h"
#include "sandbox/limits/container.h"
#include "sandbox/limits/diskuse.h"

/* --- what the machine grants ----------------------------------------------------------------- */

static int check_level(const struct options *o, const struct sandbox_probe *probe,
                       const char *detail, struct err *e)
{
    if ((int)probe->level < sandbox_level_of(o->sandbox_min))
        return err_set(e, -ENOTSUP,
                       "isolation of the level %s is needed (--sandbox-min): %s. A lower "
                       "--sandbox-min starts with what there is; `ipybox doctor` tells what is "
                       "missing",
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
    if (o->sandbox)
        log_write(probe->level == SANDBOX_FULL ? LOG_INFO : LOG_WARNING, "sandbox", "%s", detail);
    else if (probe->filter_errno)
        log_warning("sandbox", "kernels are not isolated from the server: %s", detail);
    else
        log_info("sandbox", "kernels run without a sandbox; with --sandbox they would have %s",
                 detail);
}

static int probe_level(const struct options *o, struct server_sandbox *s, struct sandbox_probe *ret,
                       struct err *e)
{
    drop_buf struct buf text = BUF_INIT(SERVER_SANDBOX_DETAIL - 1);
    sandbox_probe(ret);
    sandbox_probe_text(ret, &text);
    (void)snprintf(s->detail, sizeof s->detail, "%s", buf_text(&text));
    s->level = sandbox_level_name(ret->level);
    s->peers = ret->peers;
    int r = check_level(o, ret, s->detail, e);
    if (r == 0)
        log_level_found(o, ret, s->detail);
    return r;
}

/* So that the container's limit, at which Linux may end every process, is not reached first. */
static uint64_t kernel_memory_of(const struct options *o)
{
    struct container_memory container;
    if (o->kernel_memory != OPTIONS_AUTO)
        return o->kernel_memory;
    container_memory_open("", &container);
    const uint64_t most = container_memory_of_kernel(&container);
    if (most > 0)
        log_info("sandbox", "--kernel-memory is %lluM, by the container's limit of %lluM",
                 (unsigned long long)(most >> 20), (unsigned long long)(container.most >> 20));
    return most;
}

/* --- the sandbox ----------------------------------------------------------------------------- */

static void fill_place(const struct options *o, struct server_sandbox *s, struct sandbox_spec *spec)
{
    size_t at = 0;
    s->ipython = xasprintf("%s/.ipython", sandbox_home());
    (void)mkdir(s->ipython, 0777);
    s->dirs[at++] = s->ipython;
    s->sockets[0] = s->tool_socket;
    s->ports[0] = (uint16_t)o->tool_server_port;
    spec->cwd = s->workspace;
    spec->home = sandbox_home();
    spec->private_dirs = s->dirs;
    spec->unix_sockets = s->sockets;
    spec->ports = s->ports;
}

/* Made once as each shim will make it, so that settings which cannot be used end the start. */
static int try_kernels(struct server_sandbox *s, const struct sandbox_spec *spec, struct err *e)
{
    struct guard *guard = NULL;
    int r = guard_open(spec, &guard, e);
    if (r == 0 && spec->settings)
        sandbox_variables(guard_policy(guard), NULL, &s->variables);
    s->preload = r == 0 ? sandbox_preload(guard) : NULL;
    (void)guard_free(guard);
    return r;
}

bool server_sandbox_config_there(const struct options *o)
{
    struct stat st;
    return o->sandbox_config && (lstat(o->sandbox_config, &st) == 0 || errno != ENOENT);
}

/* A client's entry may name the file before anybody has written it: the default is the stricter
 * one. */
static int open_settings(const struct options *o, struct server_sandbox *s, struct err *e)
{
    int r = 0;
    if (o->sandbox_config && !server_sandbox_config_there(o))
        log_warning("sandbox", "--sandbox-config: there is no %s; the default sandbox is used",
                    o->sandbox_config);
    if (server_sandbox_config_there(o))
        r = sandbox_settings_read(o->sandbox_config, &s->settings, e);
    else
        s->settings = xstrdup(sandbox_settings_default);
    if (r < 0)
        return r;
    fill_place(o, s, &s->spec);
    s->spec.settings = s->settings;
    return 0;
}

int server_sandbox_offer(struct server_sandbox *s, const struct options *o,
                         const struct sandbox_spec **ret, struct err *e)
{
    if (s->settings || !s->kernels)
        return err_set(e, -ENOTSUP, "%s", s->detail);
    if (s->offered.settings) {
        *ret = &s->offered;
        return 0;
    }
    struct sandbox_spec spec = s->offered;
    fill_place(o, s, &spec);
    spec.settings = sandbox_settings_default;
    int r = try_kernels(s, &spec, e);
    if (r == 0)
        s->offered = spec;
    *ret = &s->offered;
    return r;
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

/* --- places ---------------------------------------------------------------------------------- */

static const struct sandbox_spec *server_spec_of(const struct server_sandbox *s, int i)
{
    const struct sandbox_spec *const specs[OF__COUNT] = {&s->spec, &s->server_spec, &s->pip_spec,
                                                         &s->offered, &s->doors};
    return specs[i];
}

static int add_server_place(char **list, const char *path, struct err *e)
{
    size_t n = 0;
    for (; list[n]; n++)
        if (strcmp(list[n], path) == 0)
            return 0;
    if (n == SANDBOX_SPEC_LIST_MAX)
        return err_set(e, -E2BIG, "%s: more than %d places are kept from code", path,
                       SANDBOX_SPEC_LIST_MAX);
    list[n] = xstrdup(path);
    return 0;
}

int server_sandbox_hide(struct server_sandbox *s, unsigned of, const char *path, struct err *e)
{
    int r = 0;
    for (int i = 0; i < OF__COUNT && r == 0; i++)
        r = of & 1U << i ? add_server_place(s->places[i].hidden, path, e) : 0;
    return r;
}

int server_sandbox_keep(struct server_sandbox *s, unsigned of, const char *path, struct err *e)
{
    int r = 0;
    for (int i = 0; i < OF__COUNT && r == 0; i++)
        r = of & 1U << i ? add_server_place(s->places[i].kept, path, e) : 0;
    return r;
}

static void point_to_places(struct server_sandbox *s)
{
    struct sandbox_spec *specs[OF__COUNT] = {&s->spec, &s->server_spec, &s->pip_spec, &s->offered,
                                             &s->doors};
    for (int i = 0; i < OF__COUNT; i++) {
        specs[i]->hidden = (const char *const *)s->places[i].hidden;
        specs[i]->kept = (const char *const *)s->places[i].kept;
    }
}

const char *server_sandbox_open_place(const struct server_sandbox *s, unsigned of)
{
    const char *place = NULL;
    for (int i = 0; i < OF__COUNT && !place; i++) {
        struct sandbox_spec spec = *server_spec_of(s, i);
        if (!s->kernels) /* there is not even a filter */
            spec.level = SANDBOX_NONE;
        /* Sessions with settings of their own hold more, and doors hold whatever there is. */
        if (of & ~(unsigned)(OF_OFFERED | OF_DOORS) & 1U << i)
            (void)places_can_be_held(&spec, &place);
    }
    return place;
}

static void append_detail(struct server_sandbox *s, const char *text)
{
    const size_t n = strlen(s->detail);
    (void)snprintf(s->detail + n, sizeof s->detail - n, "%s", text);
}

/* A part of what /readyz says. */
static void notify_open_places(struct server_sandbox *s)
{
    const char *place = server_sandbox_open_place(s, OF_ALL);
    if (!place)
        return;
    drop_str char *text = xasprintf("; %s is not protected from code", place);
    append_detail(s, text);
    log_warning("sandbox",
                "%s is not protected from code in kernels: that takes Landlock, and "
                "the level full if code can make files beside it",
                place);
}

/* What a role may do ends where code can take another role's token from the server itself. */
static void notify_weak_roles(struct server_sandbox *s, const struct options *o)
{
    const bool roles = o->token || o->execute_token || o->approver_token || o->tool_server_token;
    if (!roles || getuid() != geteuid() || strcmp(s->level, sandbox_level_name(SANDBOX_NONE)) != 0)
        return;
    append_detail(s, "; code in kernels can take every token: it has the server's uid");
    log_warning("sandbox", "code in kernels can take every token and approve its own calls: it has "
                           "the server's uid, and the level none keeps nothing apart. Start the "
                           "container as root, or on Linux with Landlock");
}

int server_sandbox_ready(struct server_sandbox *s, const struct options *o, struct err *e)
{
    const bool any = s->settings || *s->places[0].hidden || *s->places[0].kept;
    int r = s->kernels && any ? try_kernels(s, &s->spec, e) : 0;
    if (r < 0)
        return !o->sandbox ? r
                           : err_wrap(e, "%s", o->sandbox_config ? o->sandbox_config : "--sandbox");
    notify_open_places(s);
    notify_weak_roles(s, o);
    return 0;
}

/* Where Python's own packages are, in an image that has them open to this user. */
static const char *open_site(void)
{
    static const char site[] = "/usr/local";
    return may_access("/usr/local/lib", W_OK) ? site : NULL;
}

static const char *variable_of(const struct server_sandbox *s, const char *prefix)
{
    for (size_t i = 0; i < s->variables.count; i++)
        if (strncmp(s->variables.items[i], prefix, strlen(prefix)) == 0)
            return s->variables.items[i];
    return NULL;
}

void server_sandbox_place_pip(struct server_sandbox *s, const struct options *o,
                              const char *user_base, const char *const *envp)
{
    drop_str char *cache = xasprintf("%s/.cache", sandbox_home());
    if (s->settings)
        (void)mkdir(cache, 0777); /* pip may make its own in it, and no more */
    s->pip_spec.cwd = s->workspace;
    s->pip_spec.distrusts_cwd = true; /* the user base may be in it */
    s->pip_spec.home = sandbox_home();
    s->pip_place =
        (struct pip_place){.settings = s->pip_spec.level == SANDBOX_FULL ? s->settings : NULL,
                           .hosts = o->pip_allowed_hosts,
                           .user_base = user_base,
                           .site = open_site(),
                           .tmp = variable_of(s, "TMPDIR="),
                           .envp = envp};
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
                                             .memory = kernel_memory_of(options),
                                             .disk = options->kernel_disk,
                                             .cpu = options->kernel_cpu};
    /* With a uid of the server's own, root's terminals are kept from kernels by their modes. */
    s->spec.terminals = !service_there();
    s->offered.level = probe.level;
    s->server_spec = (struct sandbox_spec){.level = probe.level, .options = "mcp"};
    s->pip_spec = s->server_spec;
    point_to_places(s);
    s->server_spec.limits = (struct sandbox_limits){.tasks = options->mcp_tasks,
                                                    .files = options->mcp_files,
                                                    .memory = options->mcp_memory,
                                                    .cpu = options->mcp_cpu};
    if (options->kernel_disk > 0)
        find_disk_places(s);
    if (options->sandbox)
        r = open_settings(options, s, e);
    else if (options->sandbox_config)
        log_warning("sandbox", "--sandbox-config is ignored without --sandbox");
    if (r == 0 && probe.filter_errno == 0) {
        s->kernels = &s->spec;
        s->servers = &s->server_spec;
        s->pip = &s->pip_spec;
    }
    return r;
}

void server_sandbox_done(struct server_sandbox *s)
{
    words_done(&s->variables);
    for (int i = 0; i < OF__COUNT; i++)
        for (size_t j = 0; j < SANDBOX_SPEC_LIST_MAX; j++) {
            xfree(s->places[i].hidden[j]);
            xfree(s->places[i].kept[j]);
        }
    (void)diskuse_places_free(s->disk_places);
    xfree(s->settings);
    xfree(s->workspace);
    xfree(s->ipython);
    xfree(s->tool_socket);
    *s = (struct server_sandbox){0};
}
