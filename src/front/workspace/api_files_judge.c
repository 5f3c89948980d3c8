/* SPDX-License-Identifier: Apache-2.0
 *
 * What the role execute may do with files of the workspace: what code in cells may. It is judged by
 * where things really are; the names of a request may be links. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "front/workspace/api_files_internal.h"

enum { SHOWN_MAX = 300, CANONICAL_MAX = PATH_MAX + BENEATH_PATH_MAX };

void api_files_judge(struct api_files *f, struct judge *judge, const struct api *api)
{
    f->judge = judge;
    f->api = api;
}

static bool is_judged(const struct api_files *f, const struct http_request *r)
{
    return f->judge && !api_may(f->api, r, API_ADMIN);
}

static bool judged_name_of(int fd, char ret[PATH_MAX])
{
    char link[40];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, ret, PATH_MAX - 1);
    ret[n > 0 ? n : 0] = '\0';
    return n > 0 && ret[0] == '/';
}

/* Where a folder is, or will be: as far as it is there by its real name. */
static bool find_folder(const struct api_files *f, const char *path, char ret[CANONICAL_MAX])
{
    char there[BENEATH_PATH_MAX], real[PATH_MAX];
    (void)snprintf(there, sizeof there, "%s", path);
    for (;;) {
        drop_fd int fd = beneath_at(&f->top, there, O_PATH, BENEATH_FOLLOW);
        char *slash = strrchr(there, '/');
        if (fd >= 0 && !judged_name_of(fd, real))
            return false;
        if (fd >= 0)
            break;
        if (fd != -ENOENT || there[0] == '\0')
            return false;
        *(slash ? slash : there) = '\0';
    }
    const char *rest = path + strlen(there);
    rest += *rest == '/';
    (void)snprintf(ret, CANONICAL_MAX, "%s%s%s", real, *rest ? "/" : "", rest);
    return true;
}

static bool find_judged(const struct api_files *f, const char *path, char ret[CANONICAL_MAX])
{
    char folder[BENEATH_PATH_MAX], real[CANONICAL_MAX];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 0, path);
    if (!find_folder(f, folder, real))
        return false;
    int n = snprintf(ret, CANONICAL_MAX, "%s%s%s", real, *name ? "/" : "", name);
    return n < CANONICAL_MAX;
}

static bool refuse_judged(const struct api_files *f, struct http_request *r, const char *path)
{
    static const struct http_header later = {"Retry-After", "1"};
    if (!judge_is_ready(f->judge))
        http_problem(r, 503, &later, 1,
                     "the workspace is still looked through; try again in a second");
    else
        http_problem(r, 403, NULL, 0,
                     "%.*s: code in cells may not do this, nor may a client that can only execute",
                     SHOWN_MAX, path[0] ? path : "the workspace");
    return false;
}

bool files_may(const struct api_files *f, const struct http_request *r, enum judge_act act,
               const char *path)
{
    char real[CANONICAL_MAX];
    return !is_judged(f, r) || (find_judged(f, path, real) && judge_allows(f->judge, act, real));
}

bool files_allowed(const struct api_files *f, struct http_request *r, enum judge_act act,
                   const char *path)
{
    return files_may(f, r, act, path) || refuse_judged(f, r, path);
}

bool files_may_read(const struct api_files *f, const struct http_request *r, int fd)
{
    char real[PATH_MAX];
    return !is_judged(f, r) ||
           (judged_name_of(fd, real) && judge_allows(f->judge, JUDGE_READ, real));
}

bool files_allowed_open(const struct api_files *f, struct http_request *r, int fd, const char *path)
{
    return files_may_read(f, r, fd) || refuse_judged(f, r, path);
}

bool files_allowed_move(const struct api_files *f, struct http_request *r, const char *from,
                        const char *to, bool is_dir)
{
    char real[CANONICAL_MAX], real_to[CANONICAL_MAX];
    if (!is_judged(f, r) || (find_judged(f, from, real) && find_judged(f, to, real_to) &&
                             judge_allows_move(f->judge, real, real_to, is_dir)))
        return true;
    return refuse_judged(f, r, from);
}
