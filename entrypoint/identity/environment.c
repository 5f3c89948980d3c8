/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/identity/environment.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/service.h"
#include "entrypoint/identity/user_base.h"
#include "entrypoint/installation.h"
#include "sandbox/limits/container.h"
#include "sandbox/policy/pathname.h"
#include "wire/dotenv.h"

extern char **environ;

static const char kernel_prefix[] = "KERNEL_ENV_";

/* In front of the names of what .env sets: no program and no library reads such a variable. */
static const char file_prefix[] = "ipybox.env:";

enum { NAMES_MAX = 400 }; /* bytes of names in one warning */

/* --- .env ----------------------------------------------------------------------------------- */

static const char *look_up_variable(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

/* Whether some program takes a setting from it, so that who wrote it into .env expects an effect.
 * Of any other nobody knows: an MCP server that is registered later may ask for it. */
static bool is_setting(const char *name)
{
    static const char *const prefixes[] = {"PIP_", "PYTHON",  "LD_",     "UV_",       "NPM_CONFIG_",
                                           "GIT_", "IPYBOX_", "JUPYTER", "KG_",       "IPYTHON",
                                           "LC_",  "SSL_",    "CURL_",   "REQUESTS_", "NODE_"};
    static const char *const names[] = {"PATH",      "HOME",     "USER",       "LOGNAME",
                                        "LANG",      "TZ",       "HTTP_PROXY", "HTTPS_PROXY",
                                        "ALL_PROXY", "NO_PROXY", "TMPDIR"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncasecmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

struct loading {
    const char *path;
    size_t without_effect;
    struct buf names; /* of these, as many as have room */
};

static void set_environment_variable(void *ctx, const char *name, const char *value)
{
    struct loading *loading = ctx;
    drop_str char *ours = xasprintf("%s%s", file_prefix, name);
    bool known = getenv(ours) != NULL;
    (void)setenv(ours, value, 1);
    if (known || !is_setting(name))
        return;
    loading->without_effect++;
    if (loading->names.len + strlen(name) < NAMES_MAX)
        (void)buf_addf(&loading->names, "%s%s", loading->names.len > 0 ? ", " : "", name);
}

const char *environment_lookup(const char *name)
{
    const char *value = getenv(name);
    drop_str char *ours = xasprintf("%s%s", file_prefix, name);
    return value ? value : getenv(ours);
}

static void warn_of_variable(void *ctx, size_t line, const char *what)
{
    const struct loading *loading = ctx;
    log_warning("dotenv", "%s, line %zu: %s", loading->path, line, what);
}

static void notify_without_effect(struct loading *loading)
{
    if (loading->without_effect > 0)
        log_warning("dotenv",
                    "%s sets %zu that reach no program from there, because code in cells can "
                    "write it: %s; give them to the container (docker run -e NAME=VALUE), or to "
                    "kernels as KERNEL_ENV_NAME",
                    loading->path, loading->without_effect, buf_text(&loading->names));
}

static int read_secret_file(const char *path, struct buf *ret)
{
    drop_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    for (;;) {
        if (buf_reserve(ret, 4096) < 0)
            return ret->failed;
        ssize_t n = read(fd, ret->data + ret->len, 4096);
        if (n <= 0)
            return n < 0 ? -errno : 0;
        ret->len += (size_t)n;
    }
}

void environment_load_dotenv(const char *workspace)
{
    static const struct dotenv_events events = {
        .environment = look_up_variable, .set = set_environment_variable, .warn = warn_of_variable};
    drop_str char *path = xasprintf("%s/.env", workspace);
    drop_buf struct buf text = BUF_INIT(DOTENV_MAX + 4096);
    struct err e = ERR_NONE;
    struct loading loading = {.path = path, .names = BUF_INIT(NAMES_MAX + 4)};
    int r = read_secret_file(path, &text);
    if (r == -ENOENT)
        return;
    if (r == 0)
        r = dotenv_parse(buf_text(&text), text.len, &events, &loading, &e);
    else
        (void)err_set(&e, r, "%s", strerror(-r));
    if (r < 0)
        log_warning("dotenv", "%s is not used: %s", path, e.msg);
    notify_without_effect(&loading);
    buf_done(&loading.names);
}

/* --- lists of variables --------------------------------------------------------------------- */

struct variable_list {
    char **items;
    size_t n;
};

static void put_variable(struct variable_list *list, const char *name, const char *value)
{
    size_t length = strlen(name);
    char *item = xasprintf("%s=%s", name, value);
    for (size_t i = 0; i < list->n; i++) {
        if (strncmp(list->items[i], name, length) == 0 && list->items[i][length] == '=') {
            xfree(list->items[i]);
            list->items[i] = item;
            return;
        }
    }
    list->items = xrealloc(list->items, (list->n + 2) * sizeof *list->items);
    list->items[list->n++] = item;
    list->items[list->n] = NULL;
}

static void copy_variable(struct variable_list *list, const char *name, const char *fallback)
{
    const char *value = getenv(name);
    value = value ? value : fallback;
    if (value)
        put_variable(list, name, value);
}

/* Copies the variables whose name begins with `prefix`, without its first `drop` bytes. */
static void copy_prefixed(struct variable_list *list, const char *prefix, size_t drop)
{
    size_t length = strlen(prefix);
    for (char **item = environ; *item; item++) {
        const char *equals = strchr(*item, '=');
        if (!equals || strncmp(*item, prefix, length) != 0 || equals == *item + drop)
            continue;
        drop_str char *name = xstrndup(*item + drop, (size_t)(equals - *item) - drop);
        put_variable(list, name, equals + 1);
    }
}

char **environment_free(char **envp)
{
    for (char **item = envp; item && *item; item++)
        xfree(*item);
    xfree(envp);
    return NULL;
}

/* --- the environments ----------------------------------------------------------------------- */

static void put_ca(struct variable_list *list, const char *ca)
{
    static const char *const names[] = {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE",  "CURL_CA_BUNDLE",
                                        "PIP_CERT",      "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO"};
    for (size_t i = 0; ca && i < sizeof names / sizeof *names; i++)
        put_variable(list, names[i], ca);
}

static void put_user(struct variable_list *list, const char *home)
{
    put_variable(list, "HOME", home);
    copy_variable(list, "USER", "ipybox");
    copy_variable(list, "LOGNAME", "ipybox");
    copy_variable(list, "LANG", "C.UTF-8");
    copy_variable(list, "LC_ALL", NULL);
    copy_variable(list, "TZ", NULL);
}

static const char *cells_home(void)
{
    const char *home = getenv("HOME");
    return home && *home ? home : "/tmp";
}

static const char *server_path(void)
{
    const char *path = getenv("PATH");
    return path ? path : ENVIRONMENT_PATH;
}

/* Packages go to the workspace's own place then, whatever the Python is. */
static void put_native(struct variable_list *list)
{
    if (installation_is_native())
        put_variable(list, "IPYBOX_NATIVE", "1");
}

/* Of a process that may use what cells have made. */
static void put_open(struct variable_list *list, const struct environment_config *config,
                     const char *user_base)
{
    drop_str char *own = xasprintf("%s/.local", cells_home());
    drop_str char *more = strcmp(own, user_base) == 0 ? NULL : xasprintf("%s/bin:", own);
    drop_str char *path = xasprintf("%s/bin:%s%s", user_base, more ? more : "", server_path());
    put_variable(list, "PATH", path); /* commands of installed packages are found too */
    put_user(list, cells_home());
    copy_variable(list, "TMPDIR",
                  may_access("/tmp", W_OK) ? NULL : cells_home()); /* --read-only alone */
    put_variable(list, "PYTHONUSERBASE", user_base);
    put_native(list);
    put_ca(list, config->ca);
}

/* Where the user has uvx, npx and the like: what cells can plant in the workspace is left out. */
static void put_native_path(struct variable_list *list, const char *workspace)
{
    drop_str char *path = xstrdup("");
    for (const char *at = server_path(); *at;) {
        size_t n = strcspn(at, ":");
        drop_str char *folder = xstrndup(at, n);
        at += n + (at[n] == ':');
        if (*folder != '/' || path_is_under(folder, workspace))
            continue;
        char *more = xasprintf("%s%s%s", path, *path ? ":" : "", folder);
        xfree(path);
        path = more;
    }
    put_variable(list, "PATH", path);
}

/* Of any other. */
static void put_law(struct variable_list *list, const struct environment_config *config)
{
    static const char *const nobodys[] = {"GIT_CONFIG_GLOBAL", "NPM_CONFIG_USERCONFIG"};
    drop_str char *ipython = xasprintf("%s/ipython", installation_home());
    drop_str char *jupyter = xasprintf("%s/jupyter", installation_home());
    put_variable(list, "PATH", ENVIRONMENT_PATH);
    put_user(list, installation_home());
    copy_variable(list, "TMPDIR",
                  may_access("/tmp", W_OK) ? NULL : cells_home()); /* --read-only alone */
    put_variable(list, "PYTHONNOUSERSITE", "1");
    put_variable(list, "PYTHONSAFEPATH", "1");
    put_variable(list, "IPYTHONDIR", ipython);
    put_variable(list, "JUPYTER_CONFIG_DIR", jupyter);
    put_variable(list, "JUPYTER_DATA_DIR", jupyter);
    put_native(list);
    for (size_t i = 0; i < sizeof nobodys / sizeof *nobodys; i++)
        put_variable(list, nobodys[i], "/dev/null");
    put_ca(list, config->ca);
}

static void put_index(struct variable_list *list)
{
    static const char *const names[] = {"HTTP_PROXY",    "HTTPS_PROXY",       "ALL_PROXY",
                                        "NO_PROXY",      "http_proxy",        "https_proxy",
                                        "all_proxy",     "no_proxy",          "SSL_CERT_DIR",
                                        "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        copy_variable(list, names[i], NULL);
    copy_prefixed(list, "PIP_", 0);
}

/* Whose settings the operator gave the container are for uvx and npx. */
static void put_fetchers(struct variable_list *list)
{
    static const char *const prefixes[] = {"UV_", "npm_config_", "NPM_CONFIG_"};
    static const char *const names[] = {"NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        copy_prefixed(list, prefixes[i], 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        copy_variable(list, names[i], NULL);
}

static void put_tool_plane(struct variable_list *list, const struct environment_config *config)
{
    drop_str char *server = xasprintf("%d", (int)getpid());
    put_variable(list, "IPYBOX_TOOL_SOCKET", config->tool_socket);
    put_variable(list, "IPYBOX_TOOL_SERVER",
                 server); /* whom code gives its token to, and nobody else */
    if (config->approve_shell_cmds)
        put_variable(list, "IPYBOX_APPROVE_SHELL_CMDS", "1");
    if (config->require_shell_escape)
        put_variable(list, "IPYBOX_REQUIRE_SHELL_ESCAPE", "1");
}

static void put_sandbox_variables(struct variable_list *list,
                                  const struct environment_config *config)
{
    for (size_t i = 0; i < config->n_sandbox; i++) {
        const char *item = config->sandbox[i], *equals = strchr(item, '=');
        drop_str char *name = xstrndup(item, (size_t)(equals - item));
        put_variable(list, name, equals + 1);
    }
}

/* A CPU quota is no number of processors: without these a pool of threads for each processor of the
 * machine shares the quota. Python reads its one at the start: the template needs it. */
static void put_processors(struct variable_list *list)
{
    static const char *const names[] = {
        "PYTHON_CPU_COUNT",    "OMP_NUM_THREADS",    "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
        "NUMEXPR_MAX_THREADS", "LOKY_MAX_CPU_COUNT", "POLARS_MAX_THREADS",   "RAYON_NUM_THREADS"};
    const unsigned count = container_processors("");
    if (count == 0 || (long)count >= sysconf(_SC_NPROCESSORS_ONLN))
        return;
    drop_str char *number = xasprintf("%u", count);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put_variable(list, names[i], number);
}

/* Forks have what the template has loaded. Libraries of the kernels' own stay outside of it. */
static void put_template(struct variable_list *list, const struct environment_config *config)
{
    bool own = getenv("KERNEL_ENV_LD_PRELOAD") || getenv("ipybox.env:KERNEL_ENV_LD_PRELOAD");
    if (config->preload && !own)
        put_variable(list, "LD_PRELOAD", config->preload);
    copy_variable(list, "IPYBOX_PRELOAD", NULL);
    put_processors(list);
}

/* Builds run scripts beside their modules. No cache: it would be the cells' to write to. */
static void put_pip(struct variable_list *list)
{
    put_variable(list, "PYTHONSAFEPATH", "");
    if (installation_is_native()) /* what the system manages is left alone: it is a place of ours */
        put_variable(list, "PIP_BREAK_SYSTEM_PACKAGES", "1");
    if (!getenv("PIP_CACHE_DIR"))
        put_variable(list, "PIP_NO_CACHE_DIR", "1");
}

/* Of the Kernel Gateway's variables those that mean something where the server holds the port and
 * the kernels; the options have port, host and token. */
static const char *const gateway_settings[] = {
    "KG_BASE_URL",          "KG_DEFAULT_KERNEL_NAME", "KG_FORCE_KERNEL_NAME",
    "KG_ALLOW_ORIGIN",      "KG_ALLOW_HEADERS",       "KG_ALLOW_METHODS",
    "KG_ALLOW_CREDENTIALS", "KG_EXPOSE_HEADERS",      "KG_MAX_AGE"};
static const char *const gateway_options[] = {"KG_PORT", "KG_IP", "KG_AUTH_TOKEN",
                                              "KG_MAX_KERNELS"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void put_gateway(struct variable_list *list, const struct environment_config *config)
{
    const char *most = getenv("KG_MAX_KERNELS");
    if (config->gateway_token)
        put_variable(list, "KG_AUTH_TOKEN", config->gateway_token);
    if (config->instance)
        put_variable(list, "IPYBOX_GATEWAY_INSTANCE", config->instance);
    for (size_t i = 0; i < COUNT(gateway_settings); i++)
        copy_variable(list, gateway_settings[i], NULL);
    if (most && *most) /* under another name: the stock gateway counts the session's kernel, too */
        put_variable(list, "IPYBOX_GATEWAY_MAX_KERNELS", most);
}

static bool is_gateways(const char *item, const char *const *names, size_t count)
{
    size_t n = strcspn(item, "=");
    for (size_t i = 0; i < count; i++)
        if (strncmp(item, names[i], n) == 0 && names[i][n] == '\0')
            return true;
    return false;
}

void environment_warn_of_gateway(void)
{
    drop_buf struct buf names = BUF_INIT(NAMES_MAX);
    for (char **item = environ; *item; item++)
        if (strncmp(*item, "KG_", 3) == 0 &&
            !is_gateways(*item, gateway_settings, COUNT(gateway_settings)) &&
            !is_gateways(*item, gateway_options, COUNT(gateway_options)))
            (void)buf_addf(&names, "%s%.*s", names.len > 0 ? ", " : "", (int)strcspn(*item, "="),
                           *item);
    if (names.len > 0)
        log_warning("gateway", "%s: without effect here (docs/gateway.md has those that have one)",
                    buf_text(&names));
}

char **environment_build(const struct environment_config *config, enum environment_purpose purpose,
                         const char *user_base)
{
    struct variable_list list = {0};
    bool fetches = purpose == ENVIRONMENT_PIP || purpose == ENVIRONMENT_SERVER;
    if (fetches)
        put_index(&list);
    put_law(&list, config);
    if (purpose == ENVIRONMENT_PIP || purpose == ENVIRONMENT_TEMPLATE)
        put_variable(&list, "PYTHONUSERBASE", user_base); /* where they write, or look at times */
    if (purpose == ENVIRONMENT_PIP)
        put_pip(&list);
    if (purpose == ENVIRONMENT_SERVER)
        put_fetchers(&list);
    if (purpose == ENVIRONMENT_SERVER && installation_is_native())
        put_native_path(&list, config->workspace);
    if (purpose == ENVIRONMENT_TEMPLATE)
        put_template(&list, config);
    if (purpose == ENVIRONMENT_GATEWAY)
        put_gateway(&list, config);
    return list.items;
}

char **environment_kernel(const struct environment_config *config, const char *user_base)
{
    struct variable_list list = {0};
    drop_str char *ipython = xasprintf("%s/.ipython", cells_home());
    drop_str char *of_file = xasprintf("%s%s", file_prefix, kernel_prefix);
    put_open(&list, config, user_base);
    put_variable(&list, "IPYTHONDIR", ipython);
    put_sandbox_variables(&list, config);
    if (config->preload)
        put_variable(&list, "LD_PRELOAD", config->preload);
    put_processors(&list);
    copy_prefixed(&list, of_file, strlen(of_file));
    copy_prefixed(&list, kernel_prefix, sizeof kernel_prefix - 1);
    put_tool_plane(&list, config);
    return list.items;
}

int environment_make(const struct environment_config *config, struct environment *ret,
                     struct err *e)
{
    const char *ca = config->ca;
    if (ca && !may_access(ca, R_OK))
        return err_set(e, -errno, "the extra CA bundle %s cannot be read: %s", ca, strerror(errno));
    *ret = (struct environment){.user_base = user_base_choose(cells_home(), config->workspace)};
    for (int i = 0; i < ENVIRONMENT__COUNT; i++)
        ret->outside[i] = environment_build(config, (enum environment_purpose)i, ret->user_base);
    ret->kernel = environment_kernel(config, ret->user_base);
    return 0;
}

void environment_done(struct environment *env)
{
    (void)environment_free(env->kernel);
    for (size_t i = 0; i < ENVIRONMENT__COUNT; i++)
        (void)environment_free(env->outside[i]);
    xfree(env->user_base);
    *env = (struct environment){0};
}

/* --- programs ------------------------------------------------------------------------------- */

static bool is_system_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && may_access(path, X_OK);
}

static char *find_on_path(const char *name)
{
    for (const char *at = server_path(); *at;) {
        size_t n = strcspn(at, ":");
        drop_str char *path = xasprintf("%.*s/%s", (int)n, at, name);
        if (*at == '/' && is_system_program(path))
            return str_take(&path);
        at += n + (at[n] == ':');
    }
    return NULL;
}

int environment_python(const char *given, char **ret, struct err *e)
{
    char cwd[PATH_MAX];
    bool named = !strchr(given, '/');
    if (*given != '/' && !named && !getcwd(cwd, sizeof cwd))
        return err_set(e, -errno, "--python %s: %s", given, strerror(errno));
    char *path = named           ? find_on_path(given)
                 : *given == '/' ? xstrdup(given)
                                 : xasprintf("%s/%s", cwd, given);
    if (!path)
        return err_set(e, -ENOENT, "--python: there is no program %s on PATH", given);
    if (installation_is_native() && !may_access(path, X_OK)) { /* else the first cell is told */
        int code = errno;
        xfree(path);
        return err_set(e, -code, "--python %s: %s; name a Python that has ipykernel", given,
                       strerror(code));
    }
    *ret = path;
    return 0;
}
