/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/environment.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/service.h"
#include "wire/dotenv.h"

extern char **environ;

static const char default_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
static const char kernel_prefix[] = "KERNEL_ENV_";

/* --- .env ----------------------------------------------------------------------------------- */

static const char *look_up(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

static void set_variable(void *ctx, const char *name, const char *value)
{
    (void)ctx;
    (void)setenv(name, value, 0);
}

static void warn(void *ctx, size_t line, const char *what)
{
    log_warning("dotenv", "%s, line %zu: %s", (const char *)ctx, line, what);
}

static int read_file(const char *path, struct buf *ret)
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
        .environment = look_up, .set = set_variable, .warn = warn};
    drop_str char *path = xasprintf("%s/.env", workspace);
    drop_buf struct buf text = BUF_INIT(DOTENV_MAX + 4096);
    struct err e = ERR_NONE;
    int r = read_file(path, &text);
    if (r == -ENOENT)
        return;
    if (r == 0)
        r = dotenv_parse(buf_text(&text), text.len, &events, path, &e);
    else
        (void)err_set(&e, r, "%s", strerror(-r));
    if (r < 0)
        log_warning("dotenv", "%s is not used: %s", path, e.msg);
}

/* --- lists of variables --------------------------------------------------------------------- */

struct list {
    char **items;
    size_t n;
};

static void put(struct list *list, const char *name, const char *value)
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

static void copy(struct list *list, const char *name, const char *fallback)
{
    const char *value = getenv(name);
    value = value ? value : fallback;
    if (value)
        put(list, name, value);
}

/* Copies the variables whose name begins with `prefix`, without its first `drop` bytes. */
static void copy_prefixed(struct list *list, const char *prefix, size_t drop)
{
    size_t length = strlen(prefix);
    for (char **item = environ; *item; item++) {
        const char *equals = strchr(*item, '=');
        if (!equals || strncmp(*item, prefix, length) != 0 || equals == *item + drop)
            continue;
        drop_str char *name = xstrndup(*item + drop, (size_t)(equals - *item) - drop);
        put(list, name, equals + 1);
    }
}

static void free_list(char **items)
{
    for (char **item = items; item && *item; item++)
        xfree(*item);
    xfree(items);
}

/* --- where packages go ---------------------------------------------------------------------- */

static void make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
    (void)mkdir(path, 0777);
}

/* Extension modules cannot be loaded from a file system that is mounted noexec, as --tmpfs is. */
static bool can_hold_packages(const char *path)
{
    struct statvfs fs;
    return may_access(path, W_OK) && statvfs(path, &fs) == 0 && !(fs.f_flag & ST_NOEXEC);
}

static char *choose_user_base(const char *home, const char *workspace)
{
    const char *given = getenv("PYTHONUSERBASE");
    if (given && *given)
        return xstrdup(given);
    char *in_home = xasprintf("%s/.local", home);
    make_directories(in_home);
    if (can_hold_packages(in_home))
        return in_home;
    drop_str char *in_workspace = xasprintf("%s/.ipybox/python", workspace);
    if (can_hold_packages(workspace)) {
        make_directories(in_workspace);
        xfree(in_home);
        return str_take(&in_workspace);
    }
    log_warning("packages",
                "no directory was found that packages can be installed into and "
                "loaded from: %s is on a file system without execution and the "
                "workspace cannot be written to",
                home);
    return in_home;
}

/* --- the environments ----------------------------------------------------------------------- */

static void put_ca(struct list *list, const char *ca)
{
    static const char *const names[] = {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE",  "CURL_CA_BUNDLE",
                                        "PIP_CERT",      "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO"};
    for (size_t i = 0; ca && i < sizeof names / sizeof *names; i++)
        put(list, names[i], ca);
}

static void put_common(struct list *list, const char *home, const char *user_base, const char *ca)
{
    const char *path = getenv("PATH");
    path = path ? path : default_path;
    drop_str char *bin = xasprintf("%s/bin:", user_base);
    bool there = strncmp(path, bin, strlen(bin)) == 0;
    drop_str char *with_user_base = xasprintf("%s%s", there ? "" : bin, path);
    put(list, "PATH", with_user_base); /* commands of installed packages are found too */
    put(list, "HOME", home);
    copy(list, "USER", "ipybox");
    copy(list, "LOGNAME", "ipybox");
    copy(list, "LANG", "C.UTF-8");
    copy(list, "LC_ALL", NULL);
    copy(list, "TZ", NULL);
    copy(list, "TMPDIR", may_access("/tmp", W_OK) ? NULL : home); /* --read-only alone */
    put(list, "PYTHONUSERBASE", user_base);
    put_ca(list, ca);
}

static void put_pip(struct list *list)
{
    static const char *const names[] = {"HTTP_PROXY",    "HTTPS_PROXY",       "ALL_PROXY",
                                        "NO_PROXY",      "http_proxy",        "https_proxy",
                                        "all_proxy",     "no_proxy",          "SSL_CERT_DIR",
                                        "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        copy(list, names[i], NULL);
    copy_prefixed(list, "PIP_", 0);
}

static void put_tool_plane(struct list *list, const struct environment_config *config)
{
    put(list, "IPYBOX_TOOL_SOCKET", config->tool_socket);
    if (config->approve_shell_cmds)
        put(list, "IPYBOX_APPROVE_SHELL_CMDS", "1");
    if (config->require_shell_escape)
        put(list, "IPYBOX_REQUIRE_SHELL_ESCAPE", "1");
}

static void put_sandbox(struct list *list, const struct environment_config *config)
{
    for (size_t i = 0; i < config->n_sandbox; i++) {
        const char *item = config->sandbox[i], *equals = strchr(item, '=');
        drop_str char *name = xstrndup(item, (size_t)(equals - item));
        put(list, name, equals + 1);
    }
}

int environment_make(const struct environment_config *config, struct environment *ret,
                     struct err *e)
{
    const char *ca = config->ca;
    if (ca && !may_access(ca, R_OK))
        return err_set(e, -errno, "the extra CA bundle %s cannot be read: %s", ca, strerror(errno));
    const char *home = getenv("HOME");
    home = home && *home ? home : "/tmp";
    drop_str char *user_base = choose_user_base(home, config->workspace);
    drop_str char *ipython = xasprintf("%s/.ipython", home);
    struct list kernel = {0}, template = {0}, pip = {0}, gateway = {0};
    put_pip(&pip);
    put_common(&pip, home, user_base, ca);

    struct list *for_code[] = {&kernel, &template, &gateway};
    for (size_t i = 0; i < sizeof for_code / sizeof *for_code; i++) {
        put_common(for_code[i], home, user_base, ca);
        put(for_code[i], "IPYTHONDIR", ipython);
        if (for_code[i] == &kernel)
            put_sandbox(&kernel, config);
        if (config->preload && for_code[i] != &gateway)
            put(for_code[i], "LD_PRELOAD", config->preload); /* forks have what the template has */
        copy_prefixed(for_code[i], kernel_prefix, sizeof kernel_prefix - 1);
        put_tool_plane(for_code[i], config);
    }
    copy(&template, "IPYBOX_PRELOAD", NULL);
    if (config->gateway_token)
        put(&gateway, "KG_AUTH_TOKEN", config->gateway_token);
    *ret = (struct environment){.kernel = kernel.items,
                                .template = template.items,
                                .pip = pip.items,
                                .gateway = gateway.items,
                                .user_base = str_take(&user_base)};
    return 0;
}

void environment_done(struct environment *env)
{
    free_list(env->kernel);
    free_list(env->pip);
    free_list(env->template);
    free_list(env->gateway);
    xfree(env->user_base);
    *env = (struct environment){0};
}
