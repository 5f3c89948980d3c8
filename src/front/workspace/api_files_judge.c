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

const struct spot_rules *files_rules(const struct api_files *f, const struct http_request *r)
{
    if (!f->judge)
        return NULL;
    return api_may(f->api, r, API_ADMIN) ? judge_rules_of_admins(f->judge) : judge_rules(f->judge);
}

const struct spot_rules *files_archive_rules(const struct api_files *f,
                                             const struct http_request *r)
{
    const struct spot_rules *rules = files_rules(f, r);
    bool admin = rules && rules == judge_rules_of_admins(f->judge);
    return admin ? judge_rules_of_archives(f->judge) : rules;
}

void files_refuse(const struct api_files *f, struct http_request *r, const char *path)
{
    static const struct http_header later = {"Retry-After", "1"};
    const char *shown = path[0] ? path : "the workspace";
    if (files_rules(f, r) == judge_rules_of_admins(f->judge))
        http_problem(r, 403, NULL, 0,
                     "%.*s: registrations of MCP servers are no files to write; the routes of "
                     "/v1/mcp-servers make them",
                     SHOWN_MAX, shown);
    else if (!judge_is_ready(f->judge))
        http_problem(r, 503, &later, 1,
                     "the workspace is still looked through; try again in a second");
    else
        http_problem(r, 403, NULL, 0,
                     "%.*s: code in cells may not do this, nor may a client that can only execute",
                     SHOWN_MAX, shown);
}
