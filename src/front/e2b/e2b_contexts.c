/* SPDX-License-Identifier: Apache-2.0
 *
 * /contexts: the sessions of a sandbox that code can run in. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/random.h"
#include "front/e2b/e2b_interpreter.h"

enum { SUFFIX_BYTES = 4, CONTEXT_JSON_MAX = 16 << 10 };

struct e2b_restart { /* a request that waits for a new kernel */
    struct e2b_restart *prev, *next;
    struct e2b *owner;
    struct cell *cell;
    struct http_request *r; /* NULL: it is gone */
};

static const char *const language_names[] = {[E2B_PYTHON] = "python", [E2B_BASH] = "bash"};

/* --- finding and making ----------------------------------------------------------------------- */

static int read_language(const char *name, enum e2b_language *ret, struct err *err)
{
    for (size_t i = 0; i < sizeof language_names / sizeof *language_names; i++) {
        if (strcmp(name, language_names[i]) == 0) {
            *ret = (enum e2b_language)i;
            return 0;
        }
    }
    return err_set(err, -EDOM, "the language %.40s is not served here; python and bash are", name);
}

static const struct sessions *sessions_of(const struct e2b_sandbox *s)
{
    return s->owner->config.sessions;
}

static struct e2b_context *find_context(const struct e2b_sandbox *s, const char *id)
{
    struct e2b_context *c = s->contexts;
    while (c && strcmp(c->id, id) != 0)
        c = c->next;
    return c;
}

static int make_context(struct e2b_sandbox *s, enum e2b_language language, const char *cwd,
                        struct e2b_context **ret, struct err *err)
{
    struct sessions_view view;
    char suffix[2 * SUFFIX_BYTES + 1];
    size_t n = 0;
    for (const struct e2b_context *c = s->contexts; c; c = c->next)
        n++;
    if (n == E2B_CONTEXTS_MAX)
        return err_set(err, -EAGAIN, "a sandbox has at most %d contexts", E2B_CONTEXTS_MAX);
    struct e2b_context *c = NEW(struct e2b_context);
    c->language = language;
    random_hex(suffix, SUFFIX_BYTES);
    (void)snprintf(c->id, sizeof c->id, "%s-%s", s->id, suffix);
    memcpy(c->session, c->id, sizeof c->session);
    int r = e2b_sandbox_session(s, c->session, cwd, &view, err);
    if (r < 0) {
        xfree(c);
        return r;
    }
    chain_append(&s->contexts, c);
    *ret = c;
    return 0;
}

/* Python's is the sandbox's own session; another is made when it is wanted first. NULL: that. */
static int default_context(struct e2b_sandbox *s, enum e2b_language language,
                           struct e2b_context **ret, struct err *err)
{
    struct e2b_context *c = s->contexts;
    *ret = NULL;
    if (language == E2B_PYTHON)
        return 0;
    while (c && !(c->is_default && c->language == language))
        c = c->next;
    *ret = c;
    int r = c ? 0 : make_context(s, language, NULL, ret, err);
    if (r == 0)
        (*ret)->is_default = true;
    return r;
}

int e2b_place_of(struct e2b_sandbox *s, const char *context, const char *language,
                 struct e2b_place *ret, struct err *err)
{
    struct e2b_context *c = NULL;
    enum e2b_language wanted = E2B_PYTHON;
    int r = language ? read_language(language, &wanted, err) : 0;
    if (r == 0 && context && strcmp(context, s->id) != 0) {
        c = find_context(s, context);
        r = c ? 0 : err_set(err, -ENOENT, "Context %.80s not found", context);
    } else if (r == 0) {
        r = default_context(s, wanted, &c, err);
    }
    if (r < 0)
        return r;
    ret->language = c ? c->language : E2B_PYTHON;
    if (!sessions_find(sessions_of(s), c ? c->session : s->id, &ret->view))
        return err_set(err, -ENOENT, "Context %.80s not found", c ? c->id : s->id);
    return 0;
}

/* --- documents -------------------------------------------------------------------------------- */

static void put_context(struct jsonw *w, const char *id, const struct sessions_view *view,
                        enum e2b_language language)
{
    jsonw_object(w);
    jsonw_set_text(w, "id", id);
    jsonw_set_text(w, "language", language_names[language]);
    jsonw_set_text(w, "cwd", view->cwd);
    jsonw_end(w);
}

void e2b_contexts_get(void *ctx, struct http_request *r)
{
    struct sessions_view view;
    const struct e2b_sandbox *s = e2b_here(ctx, r);
    drop_buf struct buf body = BUF_INIT((size_t)(E2B_CONTEXTS_MAX + 1) * CONTEXT_JSON_MAX);
    struct jsonw w = JSONW(&body);
    if (!s)
        return;
    jsonw_array(&w);
    if (sessions_find(sessions_of(s), s->id, &view))
        put_context(&w, s->id, &view, E2B_PYTHON);
    for (const struct e2b_context *c = s->contexts; c; c = c->next)
        if (sessions_find(sessions_of(s), c->session, &view))
            put_context(&w, c->id, &view, c->language);
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}

static int read_text_or_null(const struct json *body, const char *name, const char **ret,
                             struct err *err)
{
    const struct json *value = json_get(body, name);
    *ret = json_text(value);
    if (value && !*ret && !json_is_null(value))
        return err_set(err, -EINVAL, "%s: a string is needed", name);
    return 0;
}

void e2b_contexts_post(void *ctx, struct http_request *r)
{
    struct e2b_sandbox *s = e2b_here(ctx, r);
    const char *language, *cwd;
    enum e2b_language wanted = E2B_PYTHON;
    struct e2b_context *c = NULL;
    struct sessions_view view;
    struct err e = ERR_NONE;
    drop_json struct json *asked = NULL;
    drop_buf struct buf body = BUF_INIT(CONTEXT_JSON_MAX);
    struct jsonw w = JSONW(&body);
    if (!s || !e2b_body(r, &asked))
        return;
    if (read_text_or_null(asked, "language", &language, &e) < 0 ||
        read_text_or_null(asked, "cwd", &cwd, &e) < 0 ||
        (language && read_language(language, &wanted, &e) < 0) ||
        make_context(s, wanted, cwd, &c, &e) < 0) {
        e2b_fail_err(r, &e);
        return;
    }
    if (sessions_find(sessions_of(s), c->session, &view))
        put_context(&w, c->id, &view, c->language);
    http_answer_json(r, 200, &body);
}

/* --- restarts --------------------------------------------------------------------------------- */

static void free_restart(struct e2b_restart *restart)
{
    list_remove(&restart->owner->interpreter->resets, restart);
    xfree(restart);
}

static void on_context_restarted(void *ctx, const struct err *why)
{
    struct e2b_restart *restart = ctx;
    if (restart->r && why)
        e2b_fail(restart->r, 500, "%s", why->msg);
    else if (restart->r)
        http_answer(restart->r, 204, NULL, 0, NULL, 0);
    free_restart(restart);
}

static void on_restart_gone(void *ctx)
{
    struct e2b_restart *restart = ctx;
    restart->r = NULL;
}

void e2b_context_restart(void *ctx, struct http_request *r)
{
    static const struct http_events events = {.gone = on_restart_gone};
    struct e2b *owner = ctx;
    struct e2b_sandbox *s = e2b_here(owner, r);
    struct e2b_place place;
    struct err e = ERR_NONE;
    if (!s)
        return;
    if (e2b_place_of(s, http_param(r, "id"), NULL, &place, &e) < 0) {
        e2b_fail_err(r, &e);
        return;
    }
    struct e2b_restart *restart = NEW(struct e2b_restart);
    *restart = (struct e2b_restart){.owner = owner, .r = r};
    if (session_reset(place.view.session, on_context_restarted, restart, &restart->cell, &e) < 0) {
        xfree(restart);
        e2b_fail_err(r, &e);
        return;
    }
    list_push(&owner->interpreter->resets, restart);
    http_watch(r, &events, restart);
}

void e2b_restarts_close(struct e2b *e)
{
    while (e->interpreter->resets) {
        cell_forget(e->interpreter->resets->cell);
        free_restart(e->interpreter->resets);
    }
}

/* --- ending ----------------------------------------------------------------------------------- */

static void end_context(struct e2b_sandbox *s, struct e2b_context *c)
{
    struct err e = ERR_NONE; /* -ENOENT: it has ended by itself */
    if (!s->owner->closing)
        (void)!sessions_end(s->owner->config.sessions, c->session, &e);
    chain_remove(&s->contexts, c);
    xfree(c);
}

void e2b_context_delete(void *ctx, struct http_request *r)
{
    struct e2b_sandbox *s = e2b_here(ctx, r);
    const char *id = http_param(r, "id");
    if (!s)
        return;
    struct e2b_context *c = find_context(s, id);
    if (strcmp(id, s->id) == 0) {
        e2b_fail(r, 400, "the default context ends with its sandbox; restart it to lose its state");
        return;
    }
    if (!c) {
        e2b_fail(r, 404, "Context %.80s not found", id);
        return;
    }
    end_context(s, c);
    http_answer(r, 204, NULL, 0, NULL, 0);
}

void e2b_contexts_end(struct e2b *e, struct e2b_sandbox *s)
{
    (void)e;
    while (s->contexts)
        end_context(s, s->contexts);
}

void e2b_contexts_session_ended(struct e2b *e, const char *id)
{
    for (struct e2b_sandbox *s = e->sandboxes; s; s = s->next) {
        struct e2b_context *c = s->contexts;
        while (c && strcmp(c->session, id) != 0)
            c = c->next;
        if (c) {
            end_context(s, c);
            return;
        }
    }
}

/* --- forks ------------------------------------------------------------------------------------ */

const struct e2b_context *e2b_context_lacking(const struct e2b_sandbox *fork,
                                              const struct e2b_sandbox *parent)
{
    const struct e2b_context *c = parent->contexts;
    while (c && find_context(fork, c->id))
        c = c->next;
    return c;
}

bool e2b_context_branch(struct e2b_sandbox *fork, const struct e2b_sandbox *parent, const char *id,
                        const char *session)
{
    const struct e2b_context *of = find_context(parent, id);
    if (!of)
        return false;
    struct e2b_context *c = NEW(struct e2b_context);
    *c = (struct e2b_context){.language = of->language, .is_default = of->is_default};
    memcpy(c->id, of->id, sizeof c->id);
    (void)snprintf(c->session, sizeof c->session, "%s", session);
    chain_append(&fork->contexts, c);
    return true;
}
