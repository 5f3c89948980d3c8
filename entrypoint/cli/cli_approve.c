/* SPDX-License-Identifier: Apache-2.0
 *
 * ipybox approve: what waits, shown in full and so that nothing in it can steer the terminal, and
 * the decision or the answer. All only where root listens: what is shown is what is decided. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/jsonspan.h"
#include "base/json/jsonw.h"
#include "entrypoint/cli/cli.h"
#include "entrypoint/cli/cli_client.h"
#include "entrypoint/cli/cli_fill.h"
#include "entrypoint/cli/cli_form.h"
#include "front/mcp/ask_text.h"

#define NAME "approve"

#define OTHERWISE                                                                                  \
    "decide over the HTTP API from outside of the container with IPYBOX_APPROVER_TOKEN, over the " \
    "approval channel, or in the MCP client; or start the container as root, with a workspace "    \
    "that is not root's"

enum { LOOK_MS = 1000, BODY_MAX = 4096, INDENT = 4 };

static const struct cli_request list_request = {
    .method = "GET", .path = "/v1/approvals", .trusted = OTHERWISE};

/* --- the list --------------------------------------------------------------------------------- */

static void put_argument(struct buf *out, const char *title, const struct json *j, const char *name)
{
    const char *text = json_get_text(j, name);
    if (!text || !*text)
        return;
    (void)buf_addf(out, "  %-9s ", title);
    ask_put_visible(out, text, 0);
    (void)buf_addc(out, '\n');
}

/* JSON text exactly as it was written: a tree would lose digits. */
static void put_argument_value(struct buf *out, const char *title, struct jsonspan of,
                               const char *name)
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
    put_argument(out, "session", j, "session");
    put_argument(out, "server", j, "server");
    put_argument(out, "runs", j, "shown");
    put_argument(out, "tool", j, "tool");
    put_argument_value(out, "arguments", span, "arguments");
    if (json_get(j, "form"))
        cli_form_put(out, json_get(j, "form"));
    put_argument(out, "note", j, "note");
    if (left > 0)
        (void)buf_addf(out, "  %-9s in %.0f s\n", "expires", left / 1000);
    if (!json_true(json_get(j, "mine")))
        (void)buf_adds(out, "  another approver is being asked: it cannot be decided here\n");
    (void)buf_addc(out, '\n');
}

struct approval_list {
    struct buf text;
    struct json *tree;
    struct jsonspan array, span;
    size_t at;
    const struct json *one; /* with `span`, what the list is at */
};
#define LIST                                                                                       \
    (struct approval_list)                                                                         \
    {                                                                                              \
        .text = BUF_INIT(CLI_ANSWER_MAX)                                                           \
    }

static void list_done(struct approval_list *l)
{
    buf_done(&l->text);
    l->tree = json_free(l->tree);
}
#define drop_list __attribute__((cleanup(list_done)))

static int list_fetch(struct approval_list *l, struct err *e)
{
    int r = cli_fetch(&list_request, &l->text, e);
    if (r < 0)
        return r;
    l->tree = json_parse_copy(buf_text(&l->text), l->text.len, JSON_REPAIR, e);
    if (!l->tree || !jsonspan_get(JSONSPAN(l->text.data, l->text.len), "approvals", &l->array))
        return err_set(e, -EBADMSG, "the server's answer is not understood");
    return 0;
}

static bool list_next(struct approval_list *l)
{
    l->one = l->one ? json_next(l->one) : json_first(json_get(l->tree, "approvals"));
    return l->one && jsonspan_next(l->array, &l->at, &l->span);
}

/* Those that are not among `before`, the ids of the last look; *ids becomes those of this one. */
static int show_approval(struct approval_list *l, const struct buf *before, struct buf *ids,
                         struct err *e)
{
    drop_buf struct buf out = BUF_INIT(2 * CLI_ANSWER_MAX);
    while (list_next(l)) {
        const char *id = json_get_text(l->one, "id");
        (void)buf_addf(ids, "%s ", id ? id : "");
        if (id && !strstr(buf_text(before), id))
            put_approval(&out, l->one, l->span);
    }
    if (out.failed)
        return err_set(e, out.failed, "what waits is too long to be shown; see --json");
    cli_put(STDOUT_FILENO, &out);
    return 0;
}

static int list_approvals(const struct options *o, struct err *e)
{
    drop_buf struct buf seen = BUF_INIT(CLI_ANSWER_MAX);
    int r;
    do {
        drop_list struct approval_list l = LIST;
        drop_buf struct buf ids = BUF_INIT(CLI_ANSWER_MAX);
        r = o->json ? cli_fetch(&list_request, &l.text, e) : list_fetch(&l, e);
        if (r == 0 && o->json) {
            (void)buf_addc(&l.text, '\n');
            cli_put(STDOUT_FILENO, &l.text);
        } else if (r == 0) {
            r = show_approval(&l, &seen, &ids, e);
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

enum typed_verdict { ASK, YES, NO, CANCEL };

struct decision_words {
    enum typed_verdict verdict;
    const char *const *fields; /* NAME=VALUE */
    int n_fields;
};

/* Says what is wrong with the words; NULL: nothing. */
static const char *read_decision_words(const struct options *o, struct decision_words *ret)
{
    static const char *const verdicts[] = {"", "yes", "no", "cancel"};
    const char *word = o->n_words > 1 ? o->words[1] : "";
    int n = 1;
    for (int i = YES; i <= CANCEL; i++) {
        if (strcmp(word, verdicts[i]) == 0) {
            ret->verdict = (enum typed_verdict)i;
            n = 2;
        }
    }
    ret->fields = &o->words[n];
    ret->n_fields = o->n_words - n;
    for (int i = 0; i < ret->n_fields; i++) {
        if (!strchr(ret->fields[i], '='))
            return "ID with yes, no, cancel or FIELD=VALUE is needed";
    }
    if (o->answer && ret->n_fields > 0)
        return "--answer and FIELD=VALUE: one of the two";
    if ((o->answer || ret->n_fields > 0) && ret->verdict == ASK)
        ret->verdict = YES;
    if ((o->answer || ret->n_fields > 0) && ret->verdict != YES)
        return "--answer and FIELD=VALUE: only with ID yes";
    if (ret->verdict == ASK && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
        return "without a terminal ID with yes, no, cancel or FIELD=VALUE is needed";
    return NULL;
}

static int post_decision(const struct options *o, const struct buf *body, struct err *e)
{
    drop_str char *path = cli_path("/v1/approvals/", o->words[0], "");
    drop_buf struct buf ignored = BUF_INIT(CLI_ANSWER_MAX);
    const struct cli_request request = {
        .method = "POST", .path = path, .body = body, .trusted = OTHERWISE};
    return cli_fetch(&request, &ignored, e);
}

static int send_decision(const struct options *o, const struct decision_words *wish, struct err *e)
{
    static const char *const words[] = {"yes", "no", NULL};
    const char *word = wish->verdict == YES ? "yes" : "no";
    drop_buf struct buf body = BUF_INIT(BODY_MAX);
    struct jsonw w = JSONW(&body);
    if (wish->verdict == CANCEL || wish->n_fields > 0 || o->answer)
        return err_set(e, -EINVAL, "this is a tool call, not a question: answer yes or no");
    if (wish->verdict == ASK) {
        int r = cli_fill_choose(STDIN_FILENO, STDOUT_FILENO, "may it be made", words, &word, e);
        if (r < 0)
            return r;
    }
    jsonw_object(&w);
    jsonw_set_text(&w, "decision", strcmp(word, "yes") == 0 ? "accept" : "reject");
    if (o->remember > 0)
        jsonw_set_int(&w, "remember_ms", (int64_t)o->remember * 1000);
    if (o->remember_calls > 0)
        jsonw_set_int(&w, "remember_calls", o->remember_calls);
    jsonw_end(&w);
    return post_decision(o, &body, e);
}

static int make_answer(const struct options *o, const struct decision_words *wish,
                       const struct json *form, const char **ret_action, struct buf *ret,
                       struct err *e)
{
    static const char *const actions[] = {[NO] = "decline", [YES] = "accept", [CANCEL] = "cancel"};
    if (wish->verdict == ASK)
        return cli_fill_terminal(form, STDIN_FILENO, STDOUT_FILENO, ret_action, ret, e);
    *ret_action = actions[wish->verdict];
    if (wish->verdict != YES)
        return 0;
    if (!o->answer)
        return cli_fill_words(form, wish->fields, wish->n_fields, ret, e);
    drop_buf struct buf text = BUF_INIT(CLI_FILL_MAX);
    int r = strcmp(o->answer, "-") == 0 ? cli_input(&text, e) : buf_adds(&text, o->answer);
    return r < 0 ? err_set(e, -EINVAL, "the answer is longer than %zu bytes", text.cap)
                 : cli_fill_json(form, buf_text(&text), text.len, ret, e);
}

static int answer_approval(const struct options *o, const struct decision_words *wish,
                           const struct json *form, struct err *e)
{
    drop_buf struct buf content = BUF_INIT(CLI_FILL_MAX);
    drop_buf struct buf body = BUF_INIT(CLI_FILL_MAX + 1024);
    struct jsonw w = JSONW(&body);
    const char *action = NULL;
    if (o->remember > 0 || o->remember_calls > 0)
        return err_set(e, -EINVAL,
                       "this is a question: --remember and --remember-calls are for tool calls");
    int r = make_answer(o, wish, form, &action, &content, e);
    if (r < 0)
        return r;
    jsonw_object(&w);
    jsonw_set_text(&w, "action", action);
    if (content.len > 0)
        jsonw_set_raw(&w, "content", buf_text(&content));
    jsonw_end(&w);
    return post_decision(o, &body, e);
}

static int settle_approval(const struct options *o, const struct decision_words *wish,
                           struct err *e)
{
    drop_list struct approval_list l = LIST;
    drop_buf struct buf shown = BUF_INIT(2 * CLI_ANSWER_MAX);
    bool found = false;
    int r = list_fetch(&l, e);
    while (r == 0 && !found && list_next(&l)) {
        const char *id = json_get_text(l.one, "id");
        found = id && strcmp(id, o->words[0]) == 0;
    }
    if (r == 0 && !found)
        return err_set(e, -ENOENT, "nothing waits with the id %.80s", o->words[0]);
    if (r < 0)
        return r;
    if (wish->verdict == ASK) {
        put_approval(&shown, l.one, l.span);
        if (shown.failed)
            return err_set(e, shown.failed, "it is too long to be shown");
        cli_put(STDOUT_FILENO, &shown);
    }
    const struct json *form = json_get(l.one, "form");
    return form ? answer_approval(o, wish, form, e) : send_decision(o, wish, e);
}

static const char *check_decision_words(const struct options *o, struct decision_words *ret)
{
    bool remember = o->remember > 0 || o->remember_calls > 0;
    if (o->n_words == 0 && o->answer)
        return "--answer: only with ID";
    if (o->n_words > 0 && (o->follow || o->json))
        return "--follow and --json: only for the list";
    const char *wrong = o->n_words > 0 ? read_decision_words(o, ret) : NULL;
    if (!wrong && remember && ret->verdict != YES)
        return "--remember and --remember-calls: only with ID yes";
    return wrong;
}

int cli_approve(const struct options *o)
{
    struct err e = ERR_NONE;
    struct decision_words wish = {.verdict = ASK};
    const char *wrong = check_decision_words(o, &wish);
    int r = wrong            ? err_set(&e, -EINVAL, "%s", wrong)
            : o->n_words > 0 ? settle_approval(o, &wish, &e)
                             : list_approvals(o, &e);
    if (r == 0)
        return 0;
    cli_complain(NAME, "%s", e.msg);
    return r == -EINVAL ? OPTIONS_USAGE_STATUS : CLI_FAILED;
}
