/* SPDX-License-Identifier: Apache-2.0
 *
 * ipybox approve: what waits, shown in full and so that nothing in it can steer the terminal, and
 * the decision. Both only where root listens: what is shown is then what is decided. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/jsonspan.h"
#include "base/jsonw.h"
#include "entrypoint/cli.h"
#include "entrypoint/cli_client.h"
#include "front/ask_text.h"

#define NAME "approve"

#define OTHERWISE                                                                                  \
    "decide over the HTTP API from outside of the container with IPYBOX_APPROVER_TOKEN, over the " \
    "approval channel, or in the MCP client; or start the container as root, with a workspace "    \
    "that is not root's"

enum { LOOK_MS = 1000, BODY_MAX = 4096, INDENT = 4 };

static const struct cli_request list_request = {
    .method = "GET", .path = "/v1/approvals", .trusted = OTHERWISE};

/* --- the list --------------------------------------------------------------------------------- */

static void put_member(struct buf *out, const char *title, const struct json *j, const char *name)
{
    const char *text = json_get_text(j, name);
    if (!text || !*text)
        return;
    (void)buf_addf(out, "  %-9s ", title);
    ask_put_visible(out, text, 0);
    (void)buf_addc(out, '\n');
}

/* JSON text exactly as it was written: a tree would lose digits. */
static void put_value(struct buf *out, const char *title, struct jsonspan of, const char *name)
{
    drop_buf struct buf pretty = BUF_INIT(CLI_ANSWER_MAX);
    struct jsonspan value;
    if (!jsonspan_get(of, name, &value))
        return;
    drop_str char *text = xstrndup(value.at, value.n);
    ask_put_pretty(&pretty, text);
    (void)buf_addf(out, "  %s\n%*s", title, INDENT, "");
    for (const char *c = buf_text(&pretty); *c; c++) {
        (void)buf_addc(out, *c);
        if (*c == '\n')
            (void)buf_addf(out, "%*s", INDENT, "");
    }
    (void)buf_addc(out, '\n');
    if (pretty.failed)
        out->failed = pretty.failed;
}

static void put_approval(struct buf *out, const struct json *j, struct jsonspan span)
{
    double left = json_number(json_get(j, "expires_in_ms"));
    const char *id = json_get_text(j, "id");
    (void)buf_addf(out, "%s\n", id ? id : "");
    put_member(out, "session", j, "session");
    put_member(out, "server", j, "server");
    put_member(out, "runs", j, "shown");
    put_member(out, "tool", j, "tool");
    put_value(out, "arguments", span, "arguments");
    put_value(out, "form", span, "form");
    put_member(out, "note", j, "note");
    if (left > 0)
        (void)buf_addf(out, "  %-9s in %.0f s\n", "expires", left / 1000);
    if (!json_true(json_get(j, "mine")))
        (void)buf_adds(out, "  another approver is being asked: it cannot be decided here\n");
    (void)buf_addc(out, '\n');
}

/* Those that are not among `before`, the ids of the last look; *ids becomes those of this one. */
static int show(const struct buf *text, const struct buf *before, struct buf *ids, struct err *e)
{
    drop_buf struct buf out = BUF_INIT(2 * CLI_ANSWER_MAX);
    drop_json struct json *answer = json_parse_copy(buf_text(text), text->len, JSON_REPAIR, e);
    struct jsonspan array, span;
    size_t at = 0;
    if (!answer || !jsonspan_get(JSONSPAN(text->data, text->len), "approvals", &array))
        return err_set(e, -EBADMSG, "the server's answer is not understood");
    const struct json *j = json_first(json_get(answer, "approvals"));
    for (; j && jsonspan_next(array, &at, &span); j = json_next(j)) {
        const char *id = json_get_text(j, "id");
        (void)buf_addf(ids, "%s ", id ? id : "");
        if (id && !strstr(buf_text(before), id))
            put_approval(&out, j, span);
    }
    if (out.failed)
        return err_set(e, out.failed, "what waits is too long to be shown; see --json");
    cli_put(STDOUT_FILENO, &out);
    return 0;
}

static int list(const struct options *o, struct err *e)
{
    drop_buf struct buf seen = BUF_INIT(CLI_ANSWER_MAX);
    int r;
    do {
        drop_buf struct buf text = BUF_INIT(CLI_ANSWER_MAX), ids = BUF_INIT(CLI_ANSWER_MAX);
        r = cli_fetch(&list_request, &text, e);
        if (r == 0 && o->json) {
            (void)buf_addc(&text, '\n');
            cli_put(STDOUT_FILENO, &text);
        } else if (r == 0) {
            r = show(&text, &seen, &ids, e);
        }
        buf_clear(&seen);
        (void)buf_adds(&seen, buf_text(&ids));
        if (r == 0 && !o->json && !o->follow && ids.len == 0)
            cli_write(STDERR_FILENO, "nothing waits\n", 14);
        if (r == 0 && o->follow)
            (void)poll(NULL, 0, LOOK_MS);
    } while (r == 0 && o->follow);
    return r;
}

/* --- the decision ----------------------------------------------------------------------------- */

static int decide(const struct options *o, bool accept, struct err *e)
{
    drop_str char *path = cli_path("/v1/approvals/", o->words[0], "");
    drop_buf struct buf body = BUF_INIT(BODY_MAX), ignored = BUF_INIT(CLI_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    jsonw_object(&w);
    jsonw_set_text(&w, "decision", accept ? "accept" : "reject");
    if (o->remember > 0)
        jsonw_set_int(&w, "remember_ms", (int64_t)o->remember * 1000);
    if (o->remember_calls > 0)
        jsonw_set_int(&w, "remember_calls", o->remember_calls);
    jsonw_end(&w);
    const struct cli_request request = {
        .method = "POST", .path = path, .body = &body, .trusted = OTHERWISE};
    return cli_fetch(&request, &ignored, e);
}

static int usage(const char *what)
{
    cli_complain(NAME, "%s", what);
    return OPTIONS_USAGE_STATUS;
}

int cli_approve(const struct options *o)
{
    struct err e = ERR_NONE;
    const char *word = o->n_words == 2 ? o->words[1] : "";
    bool yes = strcmp(word, "yes") == 0, no = strcmp(word, "no") == 0;
    bool remember = o->remember > 0 || o->remember_calls > 0;
    if (o->n_words > 0 && !yes && !no)
        return usage("ID yes, or ID no, is needed");
    if (remember && !yes)
        return usage("--remember and --remember-calls: only with ID yes");
    if (o->n_words > 0 && (o->follow || o->json))
        return usage("--follow and --json: only for the list");
    if ((o->n_words > 0 ? decide(o, yes, &e) : list(o, &e)) == 0)
        return 0;
    cli_complain(NAME, "%s", e.msg);
    return CLI_FAILED;
}
