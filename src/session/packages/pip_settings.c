/* SPDX-License-Identifier: Apache-2.0 */
#include "session/packages/pip_settings.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json/jsonw.h"
#include "base/text/utf8.h"

enum { TEXT_MAX = 1 << 20, HOST_MAX = 300 };

static const char *variable(const struct pip_place *place, const char *name)
{
    const size_t n = strlen(name);
    for (const char *const *item = place->envp; *item; item++)
        if (strncmp(*item, name, n) == 0 && (*item)[n] == '=')
            return *item + n + 1;
    return NULL;
}

static void add_host(struct words *hosts, const char *host, size_t n)
{
    if (n == 0 || n > HOST_MAX)
        return;
    drop_str char *text = xstrndup(host, n);
    for (size_t i = 0; i < hosts->count; i++)
        if (strcmp(hosts->items[i], text) == 0)
            return;
    words_add(hosts, text);
}

/* Of each address in a text, "https://user:word@host:port/path": "host:port". A proxy may stand
 * there without "http://". */
static void add_addresses(struct words *hosts, const char *text, bool bare)
{
    static const char scheme[] = "://";
    const char *at = text ? strstr(text, scheme) : NULL;
    if (text && !at && bare) {
        add_host(hosts, text, strcspn(text, "/ "));
        return;
    }
    for (; at; at = strstr(at, scheme)) {
        at += sizeof scheme - 1;
        size_t n = strcspn(at, "/?# \t\n'\"");
        for (size_t i = n; i > 0; i--)
            if (at[i - 1] == '@') {
                at += i;
                n -= i;
                break;
            }
        add_host(hosts, at, n);
        at += n;
    }
}

static void add_listed(struct words *hosts, const char *list)
{
    for (; list && *list; list += *list != '\0') {
        list += strspn(list, " ");
        size_t n = strcspn(list, ", ");
        add_host(hosts, list, n);
        list += n;
    }
}

static void find_hosts(const struct pip_place *place, const char *package, struct words *hosts)
{
    static const char *const links[] = {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"};
    static const char *const proxies[] = {"PIP_PROXY",  "HTTP_PROXY",  "HTTPS_PROXY", "ALL_PROXY",
                                          "http_proxy", "https_proxy", "all_proxy"};
    const char *index = variable(place, "PIP_INDEX_URL"), *none = variable(place, "PIP_NO_INDEX");
    if (!(index && *index) && !(none && *none)) {
        words_add(hosts, "pypi.org");
        words_add(hosts, "files.pythonhosted.org");
    }
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        add_addresses(hosts, variable(place, links[i]), false);
    for (size_t i = 0; i < sizeof proxies / sizeof *proxies; i++)
        add_addresses(hosts, variable(place, proxies[i]), true);
    add_addresses(hosts, package, false);
    add_listed(hosts, place->hosts);
}

/* --- the text --------------------------------------------------------------------------------- */

static void put_pip_words(struct jsonw *w, const struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        jsonw_text(w, words->items[i]);
}

static void put_written(struct jsonw *w, const struct pip_place *place)
{
    static const char *const names[] = {"PIP_CACHE_DIR", "TMPDIR"};
    jsonw_set_array(w, "allowWrite");
    jsonw_text(w, place->user_base);
    if (place->site)
        jsonw_text(w, place->site);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *dir = variable(place, names[i]);
        if (dir && *dir == '/')
            jsonw_text(w, dir);
    }
    jsonw_end(w);
}

static void put_pip_settings(struct jsonw *w, const struct pip_place *place,
                             const struct sandbox_settings *kernels, const struct words *hosts)
{
    jsonw_object(w);
    jsonw_set_object(w, "network");
    jsonw_set_array(w, "allowedDomains");
    put_pip_words(w, hosts);
    jsonw_end(w);
    jsonw_set_array(w, "deniedDomains");
    jsonw_end(w);
    jsonw_end(w);
    jsonw_set_object(w, "filesystem");
    jsonw_set_array(w, "denyRead");
    jsonw_text(w, ".env");
    put_pip_words(w, &kernels->deny_read);
    jsonw_end(w);
    jsonw_set_array(w, "allowRead");
    put_pip_words(w, &kernels->allow_read);
    jsonw_end(w);
    put_written(w, place);
    jsonw_set_array(w, "denyWrite");
    jsonw_end(w);
    jsonw_end(w);
    jsonw_end(w);
}

/* One that no settings can have is none: it would refuse all. */
static bool is_usable(const char *host)
{
    struct sandbox_settings *settings = NULL;
    if (!utf8_valid(host, strlen(host)))
        return false;
    drop_buf struct buf text = BUF_INIT(TEXT_MAX);
    struct jsonw w = JSONW(&text);
    const struct pip_place nothing = {.user_base = "/", .envp = (const char *const[]){NULL}};
    const struct sandbox_settings none = {0};
    char *items[] = {(char *)(uintptr_t)host};
    const struct words one = {items, 1};
    struct err e = ERR_NONE;
    put_pip_settings(&w, &nothing, &none, &one);
    int r = sandbox_settings_parse(buf_text(&text), text.len, &settings, &e);
    (void)sandbox_settings_free(settings);
    return r == 0;
}

static void drop_unusable(struct words *hosts)
{
    size_t kept = 0;
    for (size_t i = 0; i < hosts->count; i++) {
        if (is_usable(hosts->items[i]))
            hosts->items[kept++] = hosts->items[i];
        else
            xfree(hosts->items[i]);
    }
    hosts->count = kept;
}

int pip_settings(const struct pip_place *place, const char *package, char **ret_text,
                 struct words *ret_hosts, struct err *e)
{
    struct sandbox_settings *kernels = NULL;
    struct words hosts = {0};
    int r = sandbox_settings_parse(place->settings, strlen(place->settings), &kernels, e);
    if (r < 0)
        return r;
    find_hosts(place, package, &hosts);
    drop_unusable(&hosts);
    drop_buf struct buf text = BUF_INIT(TEXT_MAX);
    struct jsonw w = JSONW(&text);
    put_pip_settings(&w, place, kernels, &hosts);
    (void)sandbox_settings_free(kernels);
    if (text.failed) {
        words_done(&hosts);
        return err_set(e, text.failed, "the settings of pip's sandbox are too large");
    }
    *ret_text = xstrdup(buf_text(&text));
    *ret_hosts = hosts;
    return 0;
}
