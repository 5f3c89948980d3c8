/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/cli/adopt.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "entrypoint/server/server_memory.h"
#include "files/spot.h"
#include "tools/tools.h"
#include "wire/pyliteral.h"

enum { INIT_MAX = 256 << 10, PARAMS_MAX = 128 << 10, WORD_MAX = 40 };

bool adopt_is_meant(int argc, char **argv)
{
    return argc > 0 && strcmp(argv[0], OPTIONS_ADOPT) == 0;
}

/* --- what an earlier package says of its server ----------------------------------------------- */

static bool take_init_char(const char **at, const char *end, char c)
{
    *at += pyliteral_blanks(*at, (size_t)(end - *at));
    if (*at == end || **at != c)
        return false;
    ++*at;
    return true;
}

/* NAME= of an argument. */
static bool take_argument(const char **at, const char *end, char ret[WORD_MAX])
{
    size_t n = 0;
    *at += pyliteral_blanks(*at, (size_t)(end - *at));
    while (*at + n < end && n < WORD_MAX - 1 &&
           (isalnum((unsigned char)(*at)[n]) || (*at)[n] == '_'))
        n++;
    memcpy(ret, *at, n);
    ret[n] = '\0';
    *at += n;
    return n > 0 && take_init_char(at, end, '=');
}

static struct json *take_literal(const char **at, const char *end, struct err *e)
{
    drop_buf struct buf text = BUF_INIT(PARAMS_MAX);
    size_t taken = 0;
    if (pyliteral_parse(*at, (size_t)(end - *at), &text, &taken, e) < 0)
        return NULL;
    *at += taken;
    return json_parse(text.data, text.len, JSON_STRICT, e);
}

static int changed_too_much(struct err *e)
{
    return err_set(e, -EINVAL,
                   "server_name and server_params do not stand in its CLIENT = ToolRunner(…) as "
                   "they were generated: register the server with register_mcp_server");
}

int adopt_read(const char *text, size_t n, char **ret_name, struct json **ret_params, struct err *e)
{
    static const char head[] = "CLIENT = ToolRunner(";
    const char *end = text + n, *at = memmem(text, n, head, sizeof head - 1);
    drop_json struct json *name = NULL, *params = NULL;
    char word[WORD_MAX];
    if (!at)
        return err_set(e, -ENOENT, "not a package of the Python ipybox");
    at += sizeof head - 1;
    while (!name || !params) {
        if (!take_argument(&at, end, word))
            return changed_too_much(e);
        struct json **to = strcmp(word, "server_name") == 0     ? &name
                           : strcmp(word, "server_params") == 0 ? &params
                                                                : NULL;
        if (!to || *to || !(*to = take_literal(&at, end, NULL)))
            return changed_too_much(e);
        if (!take_init_char(&at, end, ',') && (!name || !params))
            return changed_too_much(e);
    }
    if (!json_text(name) || !json_is_object(params))
        return changed_too_much(e);
    *ret_name = xstrdup(json_text(name));
    *ret_params = params;
    params = NULL;
    return 0;
}

/* --- packages --------------------------------------------------------------------------------- */

static int read_init(const struct beneath *top, const char *package, struct buf *ret)
{
    drop_str char *path = xasprintf("%s/__init__.py", package);
    struct stat st;
    drop_fd int fd = spot_open(top, path, O_RDONLY, BENEATH_FOLLOW, NULL, &st);
    if (fd < 0)
        return fd;
    if (!S_ISREG(st.st_mode) || st.st_size > INIT_MAX)
        return -EINVAL;
    int r = buf_reserve(ret, (size_t)st.st_size + 1);
    ssize_t n = r < 0 ? r : read(fd, ret->data, (size_t)st.st_size);
    ret->len = n > 0 ? (size_t)n : 0;
    return n < 0 ? -errno : 0;
}

static int say(const char *name, const char *what, const char *shown)
{
    return dprintf(STDOUT_FILENO, "%s: %s: %s\n", name, what, shown) < 0 ? -errno : 0;
}

static int adopt_params(const struct remembered *memory, const char *name,
                        const struct json *params, struct err *e)
{
    drop_json struct json *before = NULL;
    drop_str char *shown = NULL;
    bool ask = false;
    int r = tools_check_params(name, params, e);
    if (r < 0)
        return r;
    shown = tools_shown(params);
    bool there = remembered_read(memory, name, &before, &ask, NULL) == 0;
    if (there && tools_equal_params(before, params))
        return say(name, "registered already", shown);
    if (there)
        return err_set(e, -EEXIST,
                       "%s is registered with other parameters, which stay: register it with "
                       "register_mcp_server where those of the package are meant",
                       name);
    r = remembered_write(memory, name, params, e);
    return r < 0 ? r : say(name, "registered", shown);
}

/* 1: it is none of theirs. */
static int adopt_package(const struct remembered *memory, const struct beneath *top,
                         const char *package, struct err *e)
{
    drop_buf struct buf text = BUF_INIT(INIT_MAX + 1);
    drop_json struct json *params = NULL;
    drop_str char *name = NULL;
    int r = read_init(top, package, &text);
    if (r == 0)
        r = adopt_read(buf_text(&text), text.len, &name, &params, e);
    if (r == -ENOENT || r == -ENOTDIR)
        return 1;
    if (r == -EXDEV)
        return err_set(e, r, "its files are links that lead out of the folder: copy them here");
    if (r == 0)
        r = adopt_params(memory, name, params, e);
    return r < 0 && !*e->msg ? err_set(e, r, "%s", strerror(-r)) : r;
}

static bool is_chosen(const struct options *o, const char *package)
{
    for (int i = 1; i < o->n_words; i++)
        if (strcmp(o->words[i], package) == 0)
            return true;
    return o->n_words == 1;
}

/* How many were found; *ret_failed: of them without success. */
static int adopt_folder(const struct options *o, const struct remembered *memory, DIR *folder,
                        int *ret_failed)
{
    int found = 0;
    const struct dirent *entry;
    const struct beneath top = beneath_of(dirfd(folder));
    while ((entry = readdir(folder)) != NULL) {
        struct err e = ERR_NONE;
        if (entry->d_name[0] == '.' || !is_chosen(o, entry->d_name))
            continue;
        int r = adopt_package(memory, &top, entry->d_name, &e);
        found += r <= 0;
        if (r < 0) {
            ++*ret_failed;
            log_error("apigen", "%s: %s", entry->d_name, e.msg);
        }
    }
    return found;
}

static int open_adopt_root(const struct options *o, DIR **ret, struct err *e)
{
    drop_str char *path =
        *o->root_dir == '/' ? xstrdup(o->root_dir) : xasprintf("%s/%s", o->workspace, o->root_dir);
    *ret = opendir(path);
    return *ret ? 0 : err_set(e, -errno, "%s: %s", path, strerror(errno));
}

int adopt_all(const struct options *o, struct err *e)
{
    struct server_memory memory = {0};
    char workspace[PATH_MAX];
    DIR *folder = NULL;
    int failed = 0;
    if (!realpath(o->workspace, workspace))
        return err_set(e, -errno, "the workspace %s: %s", o->workspace, strerror(errno));
    int r = open_adopt_root(o, &folder, e);
    if (r == 0)
        r = server_memory_open(o, workspace, NULL, &memory, e);
    if (r == 0 && !server_memory_files(&memory))
        r = err_set(e, -ENOENT, "there is no place for registrations (--state-dir)");
    int found = r == 0 ? adopt_folder(o, server_memory_files(&memory), folder, &failed) : 0;
    if (folder)
        (void)closedir(folder);
    server_memory_done(&memory);
    if (r == 0 && failed > 0)
        return err_set(e, -EIO, "%d of %d packages were not adopted", failed, found);
    if (r == 0 && found == 0)
        return err_set(e, -ENOENT, "no package of the Python ipybox is in %s", o->root_dir);
    return r;
}
