/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp/mcp_resources.h"

#include <stdio.h>
#include <string.h>

#include "front/apps/apps.h"
#include "front/mcp/ask_text.h"
#include "session/history/notebook.h"
#include "session/kernels/sessions.h"

enum { SMALL = 1 << 20, URI_MAX = 256, NOT_FOUND_IN_HANDSHAKE = -32002 };

#define SCHEME "ipybox://sessions/"
#define OWN_APPROVALS "ipybox://session/approvals.json" /* a page does not know its session */
#define APPROVALS_FILE "approvals.json"
#define WAITING_MAX ((size_t)1 << 20)

static const struct form_of_notebook {
    const char *file, *mime, *title, *text;
    void (*put)(struct buf *out, struct history *h, const char *session);
} forms[] = {
    {"notebook.ipynb", NOTEBOOK_TYPE, "Session as a notebook",
     "Every cell of the session with its outputs, pictures and times, as a Jupyter notebook.",
     notebook_put},
    {"notebook.py", "text/x-python", "Session as a script",
     "The code of every cell of the session, as a Python script.", notebook_put_script},
};
enum { FORM_COUNT = sizeof forms / sizeof *forms };

static const char *own_session(const struct mcp_config *config)
{
    return config->session_id ? config->session_id : SESSIONS_DEFAULT;
}

static void answer(const struct mcp_request *r, struct buf *out, struct jsonw *w)
{
    put_result_stamp(w, r->mcp, r->era);
    rpc_end(w);
    mcp_answer(r->mcp, out);
}

bool mcp_refuses_cursor(const struct mcp_request *r)
{
    const struct json *cursor = json_get(r->m->params, "cursor");
    if (!cursor || json_is_null(cursor))
        return false;
    mcp_answer_error(r->mcp, r->m->id, RPC_INVALID_PARAMS,
                     "Invalid params: cursor: the list has one page", NULL);
    return true;
}

/* member: "uri" or "uriTemplate". */
static void put_forms(struct jsonw *w, const char *member, const char *session)
{
    char uri[URI_MAX];
    for (size_t i = 0; i < FORM_COUNT; i++) {
        (void)snprintf(uri, sizeof uri, SCHEME "%s/%s", session, forms[i].file);
        jsonw_object(w);
        jsonw_set_text(w, member, uri);
        jsonw_set_text(w, "name", forms[i].file);
        jsonw_set_text(w, "title", forms[i].title);
        jsonw_set_text(w, "description", forms[i].text);
        jsonw_set_text(w, "mimeType", forms[i].mime);
        jsonw_end(w);
    }
}

static void put_pages(struct jsonw *w)
{
    apps_put_list(w);
    jsonw_object(w);
    jsonw_set_text(w, "uri", OWN_APPROVALS);
    jsonw_set_text(w, "name", APPROVALS_FILE);
    jsonw_set_text(w, "title", "Waiting approvals, as data");
    jsonw_set_text(w, "description", "What " APPS_APPROVALS " shows.");
    jsonw_set_text(w, "mimeType", "application/json");
    jsonw_end(w);
}

static void answer_forms(const struct mcp_request *r, const char *list, const char *member,
                         const char *session)
{
    drop_buf struct buf out = BUF_INIT(SMALL);
    struct jsonw w = JSONW(&out);
    if (mcp_refuses_cursor(r))
        return;
    rpc_result_begin(&w, r->m->id);
    jsonw_set_array(&w, list);
    if (session)
        put_forms(&w, member, session);
    if (strcmp(member, "uri") == 0 && mcp_shows_apps(r))
        put_pages(&w);
    jsonw_end(&w);
    put_caching(&w, r->era);
    answer(r, &out, &w);
}

void list_resources(const struct mcp_request *r)
{
    answer_forms(r, "resources", "uri", own_session(r->mcp->config));
}

void list_resource_templates(const struct mcp_request *r)
{
    answer_forms(r, "resourceTemplates", "uriTemplate",
                 r->mcp->config->shared ? "{session}" : NULL);
}

/* False: this peer has no such session. */
static bool find_history(const struct mcp_config *config, const char *session, struct history **ret)
{
    struct sessions_view view;
    struct session *found = NULL;
    if (config->shared && config->sessions && sessions_find(config->sessions, session, &view))
        found = view.session;
    else if (!config->shared && strcmp(session, own_session(config)) == 0)
        found = config->session;
    *ret = found ? session_history(found) : NULL;
    return found != NULL;
}

/* The file of a session that a name asks for. NULL: it is no such name. */
static const char *read_uri(const char *uri, char ret_session[SESSIONS_ID_MAX + 1])
{
    const size_t scheme = sizeof SCHEME - 1;
    if (strncmp(uri, SCHEME, scheme) != 0)
        return NULL;
    size_t n = strcspn(uri + scheme, "/");
    if (n == 0 || n > SESSIONS_ID_MAX || uri[scheme + n] != '/')
        return NULL;
    (void)snprintf(ret_session, SESSIONS_ID_MAX + 1, "%.*s", (int)n, uri + scheme);
    return uri + scheme + n + 1;
}

static const struct form_of_notebook *find_notebook(const char *file)
{
    for (size_t i = 0; i < FORM_COUNT; i++)
        if (file && strcmp(file, forms[i].file) == 0)
            return &forms[i];
    return NULL;
}

static void answer_not_found(const struct mcp_request *r, const char *uri)
{
    drop_buf struct buf data = BUF_INIT(SMALL);
    struct jsonw w = JSONW(&data);
    jsonw_object(&w);
    jsonw_set_text(&w, "uri", uri);
    jsonw_end(&w);
    mcp_answer_error(r->mcp, r->m->id,
                     r->era == MCP_MODERN ? RPC_INVALID_PARAMS : NOT_FOUND_IN_HANDSHAKE,
                     "Resource not found", data.failed ? NULL : buf_text(&data));
}

/* Of one session, and old with its next cell. */
static void put_no_caching(struct jsonw *w, enum mcp_era era)
{
    if (era != MCP_MODERN)
        return;
    jsonw_set_int(w, "ttlMs", 0);
    jsonw_set_text(w, "cacheScope", "private");
}

static void answer_document(const struct mcp_request *r, const char *uri, const char *mime,
                            const struct buf *text)
{
    drop_buf struct buf out = BUF_INIT(MCP_ANSWER_MAX);
    struct jsonw w = JSONW(&out);
    rpc_result_begin(&w, r->m->id);
    jsonw_set_array(&w, "contents");
    jsonw_object(&w);
    jsonw_set_text(&w, "uri", uri);
    jsonw_set_text(&w, "mimeType", mime);
    jsonw_name(&w, "text");
    jsonw_text_n(&w, buf_text(text), text->len);
    jsonw_end(&w);
    jsonw_end(&w);
    put_no_caching(&w, r->era);
    answer(r, &out, &w);
}

/* --- what waits for a human ------------------------------------------------------------------- */

static const char *asked_name(int rank)
{
    static const char *const names[] = {[APPROVER_CHANNEL] = "channel",
                                        [APPROVER_API] = "api",
                                        [APPROVER_CLIENT] = "client",
                                        [APPROVER_API_QUESTIONS] = "api",
                                        [APPROVER_API_AWAY] = "api"};
    return rank < 0 ? "nobody" : names[rank];
}

static void set_visible(struct jsonw *w, const char *name, const char *text)
{
    drop_buf struct buf out = BUF_INIT(WAITING_MAX);
    ask_put_visible(&out, text, 1);
    jsonw_name(w, name);
    jsonw_text_n(w, buf_text(&out), out.len);
    if (out.failed)
        w->out->failed = out.failed;
}

static void set_arguments(struct jsonw *w, const char *arguments)
{
    drop_buf struct buf out = BUF_INIT(WAITING_MAX);
    ask_put_pretty(&out, arguments);
    jsonw_set_text(w, "arguments", buf_text(&out));
    if (out.failed)
        w->out->failed = out.failed;
}

static void set_form_message(struct jsonw *w, const char *form)
{
    drop_json struct json *tree = json_parse_copy(form, strlen(form), JSON_REPAIR, NULL);
    const char *message = json_get_text(tree, "message");
    set_visible(w, "message", message ? message : "");
}

/* In full, or not at all: who reads half of a call would decide about the other half, too. */
static bool put_waiting(struct buf *out, const struct approval_view *view, int64_t now)
{
    drop_buf struct buf one = BUF_INIT(WAITING_MAX);
    struct jsonw w = JSONW(&one);
    jsonw_object(&w);
    set_visible(&w, "server", view->subject.server);
    set_visible(&w, "runs", view->subject.shown);
    if (view->form) {
        set_form_message(&w, view->form);
    } else {
        set_visible(&w, "tool", view->subject.tool);
        set_arguments(&w, view->subject.arguments);
        jsonw_set_text(&w, "note", view->note);
    }
    jsonw_set_text(&w, "asked", asked_name(view->rank));
    if (view->expires_ms > 0)
        jsonw_set_int(&w, "expires_in_ms", view->expires_ms - now);
    jsonw_end(&w);
    if (one.failed || out->len + one.len > WAITING_MAX)
        return false;
    (void)buf_addf(out, "%s%s", out->len > 0 ? "," : "", buf_text(&one));
    return true;
}

static void answer_waiting(const struct mcp_request *r, const char *uri, const char *session)
{
    const struct mcp_config *config = r->mcp->config;
    struct approval_view view;
    drop_buf struct buf list = BUF_INIT(WAITING_MAX + 2), text = BUF_INIT(2 * WAITING_MAX);
    size_t at = 0, omitted = 0;
    while (config->approvals && approvals_next(config->approvals, &at, &view))
        if (strcmp(view.subject.session, session) == 0)
            omitted += !put_waiting(&list, &view, loop_now(config->loop));
    (void)buf_addf(&text, "{\"approvals\":[%s],\"omitted\":%zu}", buf_text(&list), omitted);
    answer_document(r, uri, "application/json", &text);
}

/* Like a question to the client: for who may answer. */
static bool read_waiting(const struct mcp_request *r, const char *uri, const char *session)
{
    const struct mcp_config *config = r->mcp->config;
    if (!config->shared && strcmp(session, own_session(config)) != 0)
        return false;
    if (r->mcp->caller->may_approve)
        answer_waiting(r, uri, session);
    else
        mcp_answer_error(r->mcp, r->m->id, RPC_INVALID_PARAMS,
                         "Invalid params: uri: over HTTP what waits for approval is shown to who "
                         "has IPYBOX_TOKEN",
                         NULL);
    return true;
}

/* --- resources/read --------------------------------------------------------------------------- */

static bool read_app_page(const struct mcp_request *r, const char *uri)
{
    drop_buf struct buf out = BUF_INIT(SMALL);
    struct jsonw w = JSONW(&out);
    rpc_result_begin(&w, r->m->id);
    jsonw_set_array(&w, "contents");
    if (!apps_put_page(&w, uri))
        return false;
    jsonw_end(&w);
    put_caching(&w, r->era);
    answer(r, &out, &w);
    return true;
}

static bool read_notebook(const struct mcp_request *r, const char *uri, const char *file,
                          const char *session)
{
    struct history *history = NULL;
    const struct form_of_notebook *form = find_notebook(file);
    drop_buf struct buf text = BUF_INIT(NOTEBOOK_MAX);
    if (!form || !find_history(r->mcp->config, session, &history))
        return false;
    form->put(&text, history, session);
    if (text.failed)
        mcp_answer_error(r->mcp, r->m->id, RPC_INTERNAL_ERROR, "the notebook is too long", NULL);
    else
        answer_document(r, uri, form->mime, &text);
    return true;
}

void read_resource(const struct mcp_request *r)
{
    char session[SESSIONS_ID_MAX + 1] = "";
    const char *uri = json_get_text(r->m->params, "uri");
    if (!uri) {
        mcp_answer_error(r->mcp, r->m->id, RPC_INVALID_PARAMS,
                         "Invalid params: uri: a resource's name is needed", NULL);
        return;
    }
    const char *file = read_uri(uri, session);
    const bool is_own = strcmp(uri, OWN_APPROVALS) == 0;
    bool found = false;
    if (is_own || (file && strcmp(file, APPROVALS_FILE) == 0))
        found = read_waiting(r, uri, is_own ? own_session(r->mcp->config) : session);
    else
        found = read_notebook(r, uri, file, session) || read_app_page(r, uri);
    if (!found)
        answer_not_found(r, uri);
}
