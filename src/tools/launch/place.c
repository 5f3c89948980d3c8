/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/launch/place.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "base/json/jsonw.h"
#include "base/service.h"

static const char specs_file[] = "installed.json", copy_file[] = "copy-of";

/* --- folders ---------------------------------------------------------------------------------- */

char *place_folder(const struct tools_place *place, const char *name, bool secret)
{
    static const char *const inner[] = {"home", "tmp", "npm"};
    if (!place || !place->dir)
        return NULL;
    drop_str char *folder = xasprintf("%s/%s%s", place->dir, name, secret ? ".secret" : "");
    if (mkdir(folder, 0700) < 0 && errno != EEXIST)
        return NULL;
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) {
        drop_str char *path = xasprintf("%s/%s", folder, inner[i]);
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
            return NULL;
    }
    return str_take(&folder);
}

char *place_packages(const char *folder)
{
    return xasprintf("%s/home/.local", folder);
}

/* --- files ------------------------------------------------------------------------------------ */

/* What is no plain file, or too large, is as good as not there. */
static bool read_place_text(const char *path, struct buf *text)
{
    struct stat st;
    drop_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0 ||
        (size_t)st.st_size > PLACE_TEXT_MAX)
        return false;
    size_t size = (size_t)st.st_size;
    if (buf_reserve(text, size + 1) < 0)
        return false;
    ssize_t n = read(fd, text->data + text->len, size);
    if (n < 0)
        return false;
    text->len += (size_t)n;
    text->data[text->len] = '\0';
    return true;
}

static void write_text(const char *path, const struct buf *text)
{
    drop_str char *fresh = xasprintf("%s.new", path);
    drop_fd int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && fd_write(fd, buf_text(text), text->len) == 0)
        (void)rename(fresh, path);
}

void place_note_copy(const char *folder, const char *spec)
{
    drop_str char *path = xasprintf("%s/%s", folder, copy_file);
    drop_buf struct buf text = BUF_INIT(PLACE_TEXT_MAX);
    (void)buf_adds(&text, spec);
    write_text(path, &text);
}

bool place_has_copy(const char *folder, const char *spec)
{
    drop_str char *path = xasprintf("%s/%s", folder, copy_file);
    drop_buf struct buf text = BUF_INIT(PLACE_TEXT_MAX);
    return read_place_text(path, &text) && strcmp(buf_text(&text), spec) == 0;
}

/* --- what install_package was asked for ------------------------------------------------------- */

void place_specs_load(const struct tools_place *place, struct place_specs *ret)
{
    if (!place || !place->dir || !place->kept)
        return; /* a cell may have written it */
    drop_str char *path = xasprintf("%s/%s", place->dir, specs_file);
    drop_buf struct buf text = BUF_INIT(PLACE_TEXT_MAX);
    if (!read_place_text(path, &text))
        return;
    drop_json struct json *list = json_parse(text.data, text.len, JSON_STRICT, NULL);
    if (!json_is_array(list) || json_count(list) == 0)
        return;
    ret->items = xcalloc(PLACE_SPECS_MAX, sizeof *ret->items);
    for (const struct json *v = json_first(list); v && ret->n < PLACE_SPECS_MAX; v = json_next(v)) {
        if (json_text(v))
            ret->items[ret->n++] = xstrdup(json_text(v));
    }
}

static void save_place(const struct tools_place *place, const struct place_specs *specs)
{
    drop_str char *path = xasprintf("%s/%s", place->dir, specs_file);
    drop_buf struct buf text = BUF_INIT(PLACE_TEXT_MAX);
    struct jsonw w = JSONW(&text);
    jsonw_array(&w);
    for (size_t i = 0; i < specs->n; i++)
        jsonw_text(&w, specs->items[i]);
    jsonw_end(&w);
    if (!text.failed)
        write_text(path, &text);
}

void place_specs_add(const struct tools_place *place, struct place_specs *specs, const char *spec)
{
    if (!specs->items)
        specs->items = xcalloc(PLACE_SPECS_MAX, sizeof *specs->items);
    size_t at = 0;
    while (at < specs->n && strcmp(specs->items[at], spec) != 0)
        at++;
    if (at == PLACE_SPECS_MAX)
        at--;
    if (at == specs->n)
        specs->n++;
    else
        xfree(specs->items[at]);
    memmove(specs->items + 1, specs->items, at * sizeof *specs->items);
    specs->items[0] = xstrdup(spec);
    if (place && place->dir)
        save_place(place, specs);
}

void place_specs_done(struct place_specs *specs)
{
    for (size_t i = 0; i < specs->n; i++)
        xfree(specs->items[i]);
    xfree(specs->items);
    *specs = (struct place_specs){0};
}

/* --- what is in a user base ------------------------------------------------------------------- */

static bool is_command(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && may_access(path, X_OK);
}

char *place_command(const char *base, const char *command)
{
    drop_str char *path = xasprintf("%s/bin/%s", base, command);
    return strchr(command, '/') || !is_command(path) ? NULL : str_take(&path);
}

/* Calls `look` for each lib/python3.x/site-packages of the base until it answers true. */
static bool each_site(const char *base, bool (*look)(const char *site, void *ctx), void *ctx)
{
    drop_str char *lib = xasprintf("%s/lib", base);
    DIR *dir = opendir(lib);
    bool found = false;
    int seen = 0;
    for (struct dirent *entry; dir && !found && seen < PLACE_DISTS_MAX && (entry = readdir(dir));) {
        seen++;
        if (strncmp(entry->d_name, "python3", strlen("python3")) != 0)
            continue;
        drop_str char *site = xasprintf("%s/%s/site-packages", lib, entry->d_name);
        found = look(site, ctx);
    }
    if (dir)
        (void)closedir(dir);
    return found;
}

static bool has_module(const char *site, void *ctx)
{
    const char *module = ctx;
    int n = (int)strcspn(module, ".");
    drop_str char *package = xasprintf("%s/%.*s", site, n, module);
    drop_str char *file = xasprintf("%s/%.*s.py", site, n, module);
    return n > 0 && !strchr(module, '/') && (may_access(package, F_OK) || may_access(file, F_OK));
}

bool place_has_module(const char *base, const char *module)
{
    return each_site(base, has_module, (void *)(uintptr_t)module);
}

/* --- which spec brings it --------------------------------------------------------------------- */

/* As PEP 503 has names: in lower case, with one "-" for any of "-_.". */
static char *normal_name(const char *name, size_t n)
{
    char *out = xcalloc(n + 1, 1);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        bool mark = strchr("-_.", name[i]) != NULL;
        if (!mark)
            out[at++] = (char)tolower((unsigned char)name[i]);
        else if (at > 0 && out[at - 1] != '-')
            out[at++] = '-';
    }
    return out;
}

static bool is_remote(const char *spec)
{
    const char *scheme = strstr(spec, "://");
    return scheme && !strstr(spec, "file:");
}

/* The project that a spec names; NULL: it names none, as a URL and a path do. */
static char *spec_name(const char *spec)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    spec += strspn(spec, " \t");
    size_t n = strspn(spec, letters);
    const char *behind = spec + n + strspn(spec + n, " \t");
    bool path = *spec == '.' || *behind == '/' || *behind == '\\';
    bool url = *behind == ':' || *behind == '+';
    bool named = n > 0 && !path && !url && (!strchr(behind, '@') || is_remote(spec));
    return named ? normal_name(spec, n) : NULL;
}

static const char *spec_named(const struct place_specs *specs, const char *name, size_t n)
{
    drop_str char *wanted = normal_name(name, n);
    for (size_t i = 0; i < specs->n; i++) {
        drop_str char *has = spec_name(specs->items[i]);
        if (has && strcmp(has, wanted) == 0)
            return specs->items[i];
    }
    return NULL;
}

struct place_search {
    const struct place_specs *specs;
    const char *name;
    bool module;
    int seen;
    const char *found;
};

static bool brings(const struct place_search *search, const char *record)
{
    int n = (int)strcspn(search->name, ".");
    drop_str char *command = xasprintf("/bin/%s,", search->name);
    drop_str char *package = xasprintf("\n%.*s/__init__.py,", n, search->name);
    drop_str char *main = xasprintf("\n%.*s/__main__.py,", n, search->name);
    drop_str char *file = xasprintf("\n%.*s.py,", n, search->name);
    if (!search->module)
        return strstr(record, command) != NULL;
    return strstr(record, package) || strstr(record, main) || strstr(record, file);
}

static const char *spec_of_url(const struct place_search *search, const char *info)
{
    drop_str char *path = xasprintf("%s/direct_url.json", info);
    drop_buf struct buf text = BUF_INIT(PLACE_TEXT_MAX);
    if (!read_place_text(path, &text))
        return NULL;
    drop_json struct json *j = json_parse(text.data, text.len, JSON_STRICT, NULL);
    const char *url = json_get_text(j, "url");
    for (size_t i = 0; url && is_remote(url) && i < search->specs->n; i++) {
        const char *spec = search->specs->items[i];
        if (is_remote(spec) && strstr(spec, url))
            return spec;
    }
    return NULL;
}

static bool look_at_dist(struct place_search *search, const char *site, const char *name)
{
    drop_str char *info = xasprintf("%s/%s", site, name);
    drop_str char *path = xasprintf("%s/RECORD", info);
    drop_buf struct buf text = BUF_INIT(PLACE_TEXT_MAX + 2);
    (void)buf_addc(&text, '\n');
    if (!read_place_text(path, &text) || !brings(search, buf_text(&text)))
        return false;
    search->found = spec_named(search->specs, name, strcspn(name, "-"));
    if (!search->found)
        search->found = spec_of_url(search, info);
    return search->found != NULL;
}

static bool search_site(const char *site, void *ctx)
{
    static const char suffix[] = ".dist-info";
    struct place_search *search = ctx;
    DIR *dir = opendir(site);
    for (struct dirent *entry;
         dir && !search->found && search->seen < PLACE_DISTS_MAX && (entry = readdir(dir));) {
        size_t n = strlen(entry->d_name);
        search->seen++;
        if (n > sizeof suffix && strcmp(entry->d_name + n - (sizeof suffix - 1), suffix) == 0)
            (void)look_at_dist(search, site, entry->d_name);
    }
    if (dir)
        (void)closedir(dir);
    return search->found != NULL;
}

const char *place_spec_of(const struct tools_place *place, const struct place_specs *specs,
                          const char *name, bool module)
{
    size_t n = module ? strcspn(name, ".") : strlen(name);
    const char *named = spec_named(specs, name, n);
    if (named || specs->n == 0 || !place->user_base || strchr(name, '/'))
        return named;
    struct place_search search = {.specs = specs, .name = name, .module = module};
    (void)each_site(place->user_base, search_site, &search);
    return search.found;
}
