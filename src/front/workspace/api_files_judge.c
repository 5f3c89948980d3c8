/* SPDX-License-Identifier: Apache-2.0
 *
 * What the role execute may do with files of the workspace: what code in cells may. It is judged by
 * where things really are; the names of a request may be links. */
#include "front/workspace/api_files_internal.h"

enum { SHOWN_MAX = 300 };

void api_files_judge(struct api_files *f, struct judge *judge, const struct api *api)
{
    f->judge = judge;
    f->api = api;
}

static bool is_judged(const struct api_files *f, const struct http_request *r)
{
    return f->judge && !api_may(f->api, r, API_ADMIN);
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
    char real[BENEATH_REAL_MAX];
    return !is_judged(f, r) ||
           (beneath_real(&f->top, path, real) && judge_allows(f->judge, act, real));
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
           (beneath_real_of(fd, real) && judge_allows(f->judge, JUDGE_READ, real));
}

bool files_allowed_open(const struct api_files *f, struct http_request *r, int fd, const char *path)
{
    return files_may_read(f, r, fd) || refuse_judged(f, r, path);
}

bool files_allowed_move(const struct api_files *f, struct http_request *r, const char *from,
                        const char *to, bool is_dir)
{
    char real[BENEATH_REAL_MAX], real_to[BENEATH_REAL_MAX];
    if (!is_judged(f, r) ||
        (beneath_real(&f->top, from, real) && beneath_real(&f->top, to, real_to) &&
         judge_allows_move(f->judge, real, real_to, is_dir)))
        return true;
    return refuse_judged(f, r, from);
}
