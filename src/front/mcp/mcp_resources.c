/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp/mcp_resources.h"

#include <stdio.h>
#include <string.h>

#include "session/history/notebook.h"
#include "session/kernels/sessions.h"

enum { SMALL = 1 << 20, URI_MAX = 256, NOT_FOUND_IN_HANDSHAKE = -32002 };

#define SCHEME "ipybox://sessions/"

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

/* The form that a name asks for, and its session. NULL: it is no such name. */
static const struct form_of_notebook *read_uri(const char *uri,
                                               char ret_session[SESSIONS_ID_MAX + 1])
{
    const size_t scheme = sizeof SCHEME - 1;
    if (!uri || strncmp(uri, SCHEME, scheme) != 0)
        return NULL;
    size_t n = strcspn(uri + scheme, "/");
    if (n == 0 || n > SESSIONS_ID_MAX || uri[scheme + n] != '/')
        return NULL;
    (void)snprintf(ret_session, SESSIONS_ID_MAX + 1, "%.*s", (int)n, uri + scheme);
    for (size_t i = 0; i < FORM_COUNT; i++)
        if (strcmp(uri + scheme + n + 1, forms[i].file) == 0)
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

static void answer_notebook(const struct mcp_request *r, const char *uri,
                            const struct form_of_notebook *form, const struct buf *text)
{
    drop_buf struct buf out = BUF_INIT(MCP_ANSWER_MAX);
    struct jsonw w = JSONW(&out);
    rpc_result_begin(&w, r->m->id);
    jsonw_set_array(&w, "contents");
    jsonw_object(&w);
    jsonw_set_text(&w, "uri", uri);
    jsonw_set_text(&w, "mimeType", form->mime);
    jsonw_name(&w, "text");
    jsonw_text_n(&w, buf_text(text), text->len);
    jsonw_end(&w);
    jsonw_end(&w);
    put_no_caching(&w, r->era);
    answer(r, &out, &w);
}

void read_resource(const struct mcp_request *r)
{
    char session[SESSIONS_ID_MAX + 1];
    struct history *history = NULL;
    const char *uri = json_get_text(r->m->params, "uri");
    const struct form_of_notebook *form = read_uri(uri, session);
    drop_buf struct buf text = BUF_INIT(NOTEBOOK_MAX);
    if (!uri) {
        mcp_answer_error(r->mcp, r->m->id, RPC_INVALID_PARAMS,
                         "Invalid params: uri: a resource's name is needed", NULL);
        return;
    }
    if (!form || !find_history(r->mcp->config, session, &history)) {
        answer_not_found(r, uri);
        return;
    }
    form->put(&text, history, session);
    if (text.failed)
        mcp_answer_error(r->mcp, r->m->id, RPC_INTERNAL_ERROR, "the notebook is too long", NULL);
    else
        answer_notebook(r, uri, form, &text);
}
