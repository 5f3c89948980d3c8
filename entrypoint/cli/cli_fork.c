/* SPDX-License-Identifier: Apache-2.0
 *
 * ipybox fork: sessions that begin with all that one has in memory. */
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/jsonw.h"
#include "entrypoint/cli/cli.h"
#include "entrypoint/cli/cli_client.h"

#define NAME "fork"

enum { BODY_MAX = 4096 };

static int make_fork_body(const struct options *o, struct buf *body, struct err *e)
{
    struct jsonw w = JSONW(body);
    jsonw_object(&w);
    jsonw_set_int(&w, "count", o->fork_count > 0 ? o->fork_count : 1);
    if (o->n_words > 0)
        jsonw_set_text(&w, "name", o->words[0]);
    jsonw_set_bool(&w, "force", o->force);
    jsonw_set_bool(&w, "wait", o->wait);
    jsonw_set_text(&w, "random", o->keep_random ? "keep" : "new");
    jsonw_end(&w);
    return body->failed ? err_set(e, -EINVAL, "the NAME is too long") : 0;
}

static int fork_session(const struct options *o, struct err *e)
{
    drop_buf struct buf body = BUF_INIT(BODY_MAX), out = BUF_INIT(CLI_ANSWER_MAX);
    drop_json struct json *answer = NULL;
    drop_str char *path = cli_path("/v1/sessions/", o->session, "/fork");
    const struct cli_request request = {.method = "POST", .path = path, .body = &body};
    int r = make_fork_body(o, &body, e);
    if (r == 0)
        r = cli_fetch_json(&request, &answer, e);
    if (r < 0)
        return r;
    const struct json *sessions = json_get(answer, "sessions");
    for (const struct json *s = json_first(sessions); s; s = json_next(s))
        (void)buf_addf(&out, "%s\n", json_get_text(s, "id"));
    cli_put(STDOUT_FILENO, &out);
    return 0;
}

int cli_fork(const struct options *o)
{
    struct err e = ERR_NONE;
    if (fork_session(o, &e) == 0)
        return 0;
    cli_complain(NAME, "%s", e.msg);
    return CLI_FAILED;
}
