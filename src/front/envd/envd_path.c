/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths. A client has absolute ones, as on a machine of E2B's: /home/user and /workspace are the
 * workspace, as it is under its own name. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "front/envd/envd_internal.h"

enum { NUMBER_MAX = 40, SHOWN_MAX = 200, KIND_BITS = 9 };

static const char *const homes[] = {ENVD_HOME, "/workspace"};

/* --- names ------------------------------------------------------------------------------------ */

/* "~", "~/x", "x" and "/x" as an absolute path without ".", ".." and empty parts. */
static int clean_path(const char *text, char ret[ENVD_PATH_MAX])
{
    char whole[ENVD_PATH_MAX];
    size_t n = 0;
    bool tilde = text[0] == '~' && (text[1] == '\0' || text[1] == '/');
    const char *base = text[0] == '/' ? "" : ENVD_HOME "/";
    int length = snprintf(whole, sizeof whole, "%s%s", base, text + tilde);
    if (length < 0 || (size_t)length >= sizeof whole)
        return -ENAMETOOLONG;
    for (const char *at = whole; *at;) {
        size_t part = strcspn(at, "/");
        if (part == 2 && memcmp(at, "..", 2) == 0) {
            while (n > 0 && ret[--n] != '/')
                ;
        } else if (part > 0 && !(part == 1 && *at == '.')) {
            ret[n++] = '/';
            memcpy(ret + n, at, part);
            n += part;
        }
        at += part + (at[part] == '/');
    }
    ret[n] = '\0';
    return 0;
}

/* What is behind a folder's name in a path; NULL: it is not below it. */
static const char *rest_of(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    if (strcmp(folder, "/") == 0)
        return path + (*path == '/');
    if (strncmp(path, folder, n) != 0 || !strchr("/", path[n]))
        return NULL;
    return path + n + (path[n] == '/');
}

static const char *find_rest(const struct envd *d, const char *path)
{
    const char *rest = rest_of(path, d->e2b->config.workspace);
    for (size_t i = 0; !rest && i < sizeof homes / sizeof *homes; i++)
        rest = rest_of(path, homes[i]);
    return rest;
}

int envd_path(const struct envd *d, const char *text, struct envd_path *ret, struct err *e)
{
    if (!text)
        return err_set(e, -EINVAL, "path: a text is needed");
    int r = strstr(text, "\xC0\x80") ? -EINVAL : clean_path(text, ret->shown);
    if (r < 0)
        return err_set(e, r, "path '%.*s': %s", SHOWN_MAX, text,
                       r == -EINVAL ? "it has a NUL" : "it is too long");
    const char *rest = find_rest(d, ret->shown);
    if (!rest)
        return err_set(e, -EXDEV,
                       "path '%.*s' is outside of the workspace, which is " ENVD_HOME
                       ": commands reach what is outside, files do not",
                       SHOWN_MAX, text);
    r = beneath_clean(rest, ret->below);
    return r < 0 ? err_set(e, r, "path '%.*s': it is too long", SHOWN_MAX, text) : 0;
}

char *envd_real_path(const struct envd *d, const char *text)
{
    char clean[ENVD_PATH_MAX];
    const char *rest = clean_path(text, clean) == 0 ? find_rest(d, clean) : NULL;
    if (!rest)
        return xstrdup(text);
    return xasprintf("%s%s%s", d->e2b->config.workspace, *rest ? "/" : "", rest);
}

static int refuse_path(const struct envd *d, const struct envd_path *path, struct err *e)
{
    if (!judge_is_ready(d->judge))
        return err_set(e, -EAGAIN, "the workspace is still looked through; try again in a second");
    return err_set(e, -EACCES, "path '%.*s': code in the sandbox may not do this, nor may you",
                   SHOWN_MAX, path->shown);
}

int envd_path_error(const struct envd *d, struct err *e, int code, const struct envd_path *path)
{
    const char *shown = path->shown;
    if (code == SPOT_REFUSED)
        return refuse_path(d, path, e);
    switch (-code) {
    case ENOENT:
        return err_set(e, code, "path '%.*s' does not exist", SHOWN_MAX, shown);
    case EISDIR:
        return err_set(e, code, "path '%.*s' is a directory", SHOWN_MAX, shown);
    case ENOTDIR:
        return err_set(e, code, "path '%.*s' is not a directory", SHOWN_MAX, shown);
    case EXDEV:
    case ELOOP:
        return err_set(e, code, "path '%.*s' leads out of the workspace", SHOWN_MAX, shown);
    case ESTALE:
        return err_set(e, code, "path '%.*s': its folder was moved meanwhile; send it again",
                       SHOWN_MAX, shown);
    default:
        return err_set(e, code, "path '%.*s': %s", SHOWN_MAX, shown, strerror(-code));
    }
}

/* --- places ----------------------------------------------------------------------------------- */

int envd_place(const struct envd *d, const struct envd_path *path, bool make, enum spot_act act,
               struct spot *ret, struct err *e)
{
    int r = spot_find(&d->top, path->below, make ? SPOT_MAKE_FOLDERS : SPOT_AS_IT_IS, d->rules, act,
                      ret);
    if (!make && r == -ENOTDIR)
        r = -ENOENT;
    return r < 0 ? envd_path_error(d, e, r, path) : 0;
}

void envd_tell(const struct envd *d, const struct http_request *r, const struct audit_event *event)
{
    struct audit_event told = *event;
    told.request_id = http_id(r);
    (void)audit_add(d->e2b->config.audit, &told);
}

/* --- entries ---------------------------------------------------------------------------------- */

static const char *entry_type(mode_t mode)
{
    return S_ISREG(mode)   ? "FILE_TYPE_FILE"
           : S_ISDIR(mode) ? "FILE_TYPE_DIRECTORY"
           : S_ISLNK(mode) ? "FILE_TYPE_SYMLINK"
                           : "FILE_TYPE_UNSPECIFIED";
}

static void put_permissions(struct jsonw *w, mode_t mode)
{
    static const char letters[] = "rwxrwxrwx";
    char text[KIND_BITS + 2];
    text[0] = S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'L' : '-';
    for (int i = 0; i < KIND_BITS; i++)
        text[i + 1] = mode >> (KIND_BITS - 1 - i) & 1 ? letters[i] : '-';
    text[KIND_BITS + 1] = '\0';
    jsonw_set_text(w, "permissions", text);
}

static void put_modified(struct jsonw *w, const struct timespec *t)
{
    char text[CLOCK_ISO_MAX];
    jsonw_set_text(w, "modifiedTime", clock_iso_of(t, 9, text));
}

/* What a link leads to, where that is in the workspace: clients go by its type. */
static void put_target(const struct envd *d, struct jsonw *w, const struct envd_path *path,
                       struct stat *st)
{
    char top[PATH_MAX], real[PATH_MAX];
    struct stat target;
    drop_fd int fd = spot_open(&d->top, path->below, O_PATH, BENEATH_FOLLOW, d->rules, &target);
    if (fd < 0 || !beneath_real_of(fd, real) || !beneath_real_of(d->top.root, top))
        return;
    const char *rest = rest_of(real, top);
    size_t prefix = strlen(path->shown) - strlen(path->below);
    prefix -= prefix > 0 && path->shown[prefix - 1] == '/';
    drop_str char *text =
        xasprintf("%.*s%s%s", (int)prefix, path->shown, rest && *rest ? "/" : "", rest ? rest : "");
    jsonw_set_text(w, "symlinkTarget", text);
    st->st_mode = target.st_mode;
}

static int put_what_is_there(const struct envd *d, struct jsonw *w, const struct envd_path *path,
                             int dir, const char *name)
{
    char size[NUMBER_MAX];
    struct stat st;
    int r = spot_stat_at(dir, name, &st);
    if (r < 0)
        return r;
    const char *slash = strrchr(path->shown, '/');
    const mode_t own = st.st_mode;
    (void)snprintf(size, sizeof size, "%lld", (long long)st.st_size);
    jsonw_object(w);
    jsonw_set_text(w, "name", slash ? slash + 1 : path->shown);
    jsonw_set_text(w, "path", path->shown);
    if (S_ISLNK(st.st_mode))
        put_target(d, w, path, &st);
    jsonw_set_text(w, "type", entry_type(st.st_mode));
    jsonw_set_text(w, "size", size);
    jsonw_set_int(w, "mode", st.st_mode & 0777);
    put_permissions(w, own);
    jsonw_set_text(w, "owner", "user");
    jsonw_set_text(w, "group", "user");
    put_modified(w, &st.st_mtim);
    envd_metadata_put(w, dir, name);
    jsonw_end(w);
    return 0;
}

/* The workspace itself is in no folder of clients. */
static int put_workspace(const struct envd *d, struct jsonw *w, const struct envd_path *path)
{
    int r = spot_admits(d->top.root, d->rules);
    return r < 0 ? r : put_what_is_there(d, w, path, d->top.root, "");
}

int envd_put_entry(const struct envd *d, struct jsonw *w, const struct envd_path *path)
{
    char folder[BENEATH_PATH_MAX];
    const char *slash = strrchr(path->below, '/'), *name = slash ? slash + 1 : path->below;
    if (path->below[0] == '\0')
        return put_workspace(d, w, path);
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path->below) : 0,
                   path->below);
    drop_fd int dir =
        spot_open(&d->top, folder, O_PATH | O_DIRECTORY, BENEATH_FOLLOW, d->rules, NULL);
    if (dir < 0)
        return dir == -ENOTDIR ? -ENOENT : dir;
    return put_what_is_there(d, w, path, dir, name);
}

int envd_put_readable(const struct envd *d, struct jsonw *w, const struct envd_path *path)
{
    drop_held struct spot place = SPOT_NONE;
    if (path->below[0] == '\0')
        return put_workspace(d, w, path);
    int r = spot_find(&d->top, path->below, SPOT_AS_IT_IS, d->rules, SPOT_READ, &place);
    if (r < 0)
        return r == -ENOTDIR ? -ENOENT : r;
    return put_what_is_there(d, w, path, place.dir, place.name);
}
