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

int envd_path_error(struct err *e, int code, const struct envd_path *path)
{
    const char *shown = path->shown;
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
    default:
        return err_set(e, code, "path '%.*s': %s", SHOWN_MAX, shown, strerror(-code));
    }
}

/* --- who may ---------------------------------------------------------------------------------- */

static int refuse_path(const struct envd *d, const struct envd_path *path, struct err *e)
{
    if (!judge_is_ready(d->judge))
        return err_set(e, -EAGAIN, "the workspace is still looked through; try again in a second");
    return err_set(e, -EACCES, "path '%.*s': code in the sandbox may not do this, nor may you",
                   SHOWN_MAX, path->shown);
}

int envd_may(const struct envd *d, enum judge_act act, const struct envd_path *path, struct err *e)
{
    char real[BENEATH_REAL_MAX];
    if (beneath_real(&d->top, path->below, real) && judge_allows(d->judge, act, real))
        return 0;
    return refuse_path(d, path, e);
}

int envd_may_read(const struct envd *d, int fd, const struct envd_path *path, struct err *e)
{
    char real[PATH_MAX];
    if (beneath_real_of(fd, real) && judge_allows(d->judge, JUDGE_READ, real))
        return 0;
    return refuse_path(d, path, e);
}

int envd_may_move(const struct envd *d, const struct envd_path *from, const struct envd_path *to,
                  bool is_dir, struct err *e)
{
    char real[BENEATH_REAL_MAX], real_to[BENEATH_REAL_MAX];
    if (beneath_real(&d->top, from->below, real) && beneath_real(&d->top, to->below, real_to) &&
        judge_allows_move(d->judge, real, real_to, is_dir))
        return 0;
    return refuse_path(d, from, e);
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
    drop_fd int fd = beneath_at(&d->top, path->below, O_PATH, BENEATH_FOLLOW);
    if (fd < 0 || fstat(fd, &target) < 0 || !beneath_real_of(fd, real) ||
        !beneath_real_of(d->top.root, top))
        return;
    const char *rest = rest_of(real, top);
    size_t prefix = strlen(path->shown) - strlen(path->below);
    prefix -= prefix > 0 && path->shown[prefix - 1] == '/';
    drop_str char *text =
        xasprintf("%.*s%s%s", (int)prefix, path->shown, rest && *rest ? "/" : "", rest ? rest : "");
    jsonw_set_text(w, "symlinkTarget", text);
    st->st_mode = target.st_mode;
}

/* The folder that it is in, and its name there; "": it is the folder itself. */
static int open_folder_of(const struct envd *d, const char *below, const char **ret_name)
{
    *ret_name = "";
    if (below[0] == '\0')
        return fcntl(d->top.root, F_DUPFD_CLOEXEC, 0);
    int dir = beneath_parent(&d->top, below, false, BENEATH_FOLLOW, ret_name);
    return dir == -ENOTDIR ? -ENOENT : dir;
}

int envd_put_entry(const struct envd *d, struct jsonw *w, const struct envd_path *path)
{
    char size[NUMBER_MAX], at[BENEATH_PATH_MAX];
    const char *name;
    struct stat st;
    drop_fd int dir = open_folder_of(d, path->below, &name);
    if (dir < 0)
        return dir;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
        return -errno;
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
    (void)snprintf(at, sizeof at, "/proc/self/fd/%d/%s", dir, name);
    envd_metadata_put(w, at);
    jsonw_end(w);
    return 0;
}
