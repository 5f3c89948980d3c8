/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/client/remembered.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json/jsonw.h"
#include "base/service.h"
#include "files/spot.h"
#include "tools/launch/launch.h"
#include "tools/transport/params.h"

/* --- the directory --------------------------------------------------------------------------- */

/* The service uid makes files in the last one by its group, which is the cells'. */
static int open_folder_to_write(const struct beneath *top, const char *path, bool own)
{
    drop_fd int held = spot_folder(top, path, SPOT_MAKE_FOLDERS | SPOT_NO_LINKS, NULL);
    if (held < 0)
        return held;
    drop_fd int fd = spot_open_at(held, ".", O_RDONLY | O_DIRECTORY, NULL, NULL);
    if (fd >= 0 && fchmod(fd, own ? 0770 : 0700) < 0)
        return -errno;
    return fd < 0 ? fd : fd_take(&fd);
}

static int open_remembered(const struct remembered *all, bool make)
{
    struct beneath top;
    struct err e = ERR_NONE;
    int r = beneath_open(all->base, &top, &e);
    if (r < 0)
        return r;
    drop_str char *path = xasprintf("%s%s%s", all->parts[0], all->parts[1] ? "/" : "",
                                    all->parts[1] ? all->parts[1] : "");
    int fd = make ? open_folder_to_write(&top, path, all->own)
                  : spot_open(&top, path, O_RDONLY | O_DIRECTORY, BENEATH_NO_LINKS, NULL, NULL);
    beneath_close(&top);
    return fd;
}

/* Behind it files are the service uid's, where it has them. */
static struct service enter_if(const struct remembered *all)
{
    return all->own ? service_enter() : (struct service){0};
}

/* --- writing --------------------------------------------------------------------------------- */

static bool is_placeholder(const struct json *value)
{
    const char *text = json_text(value);
    return text && strstr(text, "${");
}

/* A value in the parameters that is a secret itself. */
static bool holds_plain_secret(const struct json *params)
{
    static const char *const members[] = {"env", "headers"};
    for (size_t i = 0; i < 2; i++) {
        const struct json *all = json_get(params, members[i]);
        for (const struct json *v = json_first(all); v; v = json_next(v)) {
            if (!is_placeholder(v) && (i == 1 || launch_secret(params)))
                return true;
        }
    }
    return false;
}

static int put_file(const struct remembered *all, int dir, const char *file, const struct buf *text)
{
    struct newfile fresh = NEWFILE_NONE;
    drop_service struct service service = enter_if(all);
    int r = newfile_open(dir, 0600, true, &fresh);
    if (r < 0)
        return r;
    r = newfile_write(&fresh, buf_text(text), text->len);
    if (r == 0)
        return newfile_commit(&fresh, file, NEWFILE_REPLACE, false);
    newfile_drop(&fresh);
    return r;
}

/* Some file systems (shares of a virtual machine's host) say whose a file is and let all in. */
static bool is_open_to_cells(int dir, const char *file)
{
    drop_fd int fd = spot_open_at(dir, file, O_RDONLY, NULL, NULL);
    return fd != -EACCES;
}

int remembered_write(const struct remembered *all, const char *name, const struct json *params,
                     struct err *e)
{
    drop_str char *file = xasprintf("%s.json", name);
    drop_str char *printed = json_print(params);
    drop_buf struct buf text = BUF_INIT(REMEMBERED_MAX);
    struct jsonw w = JSONW(&text);
    (void)remembered_remove(all, name);
    if (!all->own && !all->closed && holds_plain_secret(params))
        return err_set(e, -EPERM,
                       "the registration of %s is not stored, because code could read the "
                       "secret in its parameters: write ${VARIABLE} for it",
                       name);
    jsonw_object(&w);
    jsonw_set_text(&w, "server", name);
    jsonw_set_raw(&w, "params", printed ? printed : "null");
    jsonw_end(&w);
    int r = text.failed ? text.failed : 0;
    drop_fd int dir = r == 0 ? open_remembered(all, true) : -1;
    if (r == 0)
        r = dir < 0 ? dir : put_file(all, dir, file, &text);
    if (r == 0 && all->own && is_open_to_cells(dir, file)) {
        (void)!spot_remove_at(dir, file, false, NULL);
        r = -EPERM;
    }
    return r < 0 ? err_set(e, r, "%s is not remembered: %s", name, strerror(-r)) : 0;
}

/* --- reading --------------------------------------------------------------------------------- */

static bool is_believed(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 && !(st.st_mode & 077) &&
           (size_t)st.st_size <= REMEMBERED_MAX;
}

static bool belongs_to(int fd, uid_t uid)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_uid == uid;
}

static bool read_remembered(const struct remembered *all, int dir, const char *file,
                            struct buf *text)
{
    if (all->own && is_open_to_cells(dir, file))
        return false;
    drop_service struct service service = enter_if(all);
    drop_fd int fd = spot_open_at(dir, file, O_RDONLY, NULL, NULL);
    if (fd < 0 || !is_believed(fd) || !belongs_to(fd, all->own ? getuid() : geteuid()))
        return false;
    if (buf_reserve(text, REMEMBERED_MAX) < 0)
        return false;
    ssize_t n = read(fd, text->data, REMEMBERED_MAX);
    text->len = n > 0 ? (size_t)n : 0;
    return n > 0;
}

int remembered_read(const struct remembered *all, const char *name, struct json **ret,
                    bool *ret_ask, struct err *e)
{
    if (params_check_name(name, NULL) < 0)
        return err_set(e, -ENOENT, "no server has such a name");
    drop_str char *file = xasprintf("%s.json", name);
    drop_buf struct buf text = BUF_INIT(REMEMBERED_MAX + 1);
    drop_fd int dir = open_remembered(all, false);
    bool found = dir >= 0 && read_remembered(all, dir, file, &text);
    drop_json struct json *tree =
        found ? json_parse_copy(text.data, text.len, JSON_STRICT, NULL) : NULL;
    const char *server = json_get_text(tree, "server");
    const struct json *params = json_get(tree, "params");
    if (!server || strcmp(server, name) != 0 || !json_is_object(params))
        return err_set(e, -ENOENT, "there is no registration of %s", name);
    drop_str char *printed = json_print(params);
    struct json *copy =
        printed ? json_parse_copy(printed, strlen(printed), JSON_STRICT, NULL) : NULL;
    if (!copy)
        return err_set(e, -ENOMEM, "the registration of %s: no memory", name);
    *ret_ask = !all->own && (strstr(printed, "${") || (all->sandbox && !all->closed));
    *ret = copy;
    return 0;
}

bool remembered_remove(const struct remembered *all, const char *name)
{
    if (params_check_name(name, NULL) < 0)
        return false;
    drop_str char *file = xasprintf("%s.json", name);
    drop_fd int dir = open_remembered(all, false);
    return dir >= 0 && spot_remove_at(dir, file, false, NULL) == 0;
}
