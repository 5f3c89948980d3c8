/* SPDX-License-Identifier: Apache-2.0
 *
 * /v1/sessions/{id}/complete, inspect and variables: what an editor beside the cells asks the
 * kernel. What it answers was written by the code that runs there: of it texts and numbers are
 * taken, so many and so long. */
#include <string.h>

#include "base/alloc.h"
#include "base/text/utf8.h"
#include "front/api.h"
#include "front/api/api_bodies.h"
#include "front/api/api_json.h"
#include "front/sessions/api_session.h"

enum {
    MATCHES_MAX = 500,
    MATCH_MAX = 400, /* characters, as the others */
    INSPECTION_MAX = 64 << 10,
    VARIABLES_SHOWN_MAX = 200,
    VARIABLE_TEXT_MAX = 100
};

struct editor_question { /* a request that waits for the kernel */
    struct http_request *r;
    struct kernel_question *question;
    size_t cursor;
    void (*put)(struct jsonw *w, const struct editor_question *q, const struct json *content);
};

static void on_question_gone(void *ctx)
{
    struct editor_question *q = ctx;
    question_forget(q->question);
    xfree(q);
}

static void on_question_answered(void *ctx, const struct json *content, const struct err *why)
{
    struct editor_question *q = ctx;
    http_watch(q->r, NULL, NULL);
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    if (content) {
        jsonw_object(&w);
        q->put(&w, q, content);
        jsonw_end(&w);
        http_answer_json(q->r, 200, &body);
    } else if (why->code == -ETIMEDOUT) {
        http_problem(q->r, 504, NULL, 0, "%s", why->msg);
    } else {
        api_fail(q->r, why);
    }
    xfree(q);
}

static void ask_session(struct api_session *session, struct http_request *r,
                        enum question_kind kind, const char *code, struct editor_question like)
{
    static const struct http_events events = {.gone = on_question_gone};
    struct err e = ERR_NONE;
    struct editor_question *q = NEW(struct editor_question);
    *q = like;
    q->r = r;
    if (session_ask(session->session, kind, code, q->cursor, on_question_answered, q, &q->question,
                    &e) < 0) {
        xfree(q);
        api_fail(r, &e);
        return;
    }
    http_watch(r, &events, q);
}

/* --- code ------------------------------------------------------------------------------------- */

static void put_short_text(struct jsonw *w, const char *name, const char *text, size_t max)
{
    const size_t n = strlen(text);
    jsonw_name(w, name);
    jsonw_text_n(w, text, utf8_offset(text, n, max));
}

/* A place in the code, up to the cursor. */
static void put_code_place(struct jsonw *w, const struct editor_question *q,
                           const struct json *content, const char *name, const char *from)
{
    const struct json *value = json_get(content, from);
    const double at = json_is_number(value) ? json_number(value) : (double)q->cursor;
    jsonw_set_int(w, name, at<0 ? 0 : at>(double) q->cursor ? (int64_t)q->cursor : (int64_t)at);
}

static void put_completion(struct jsonw *w, const struct editor_question *q,
                           const struct json *content)
{
    const struct json *types =
        json_get(json_get(content, "metadata"), "_jupyter_types_experimental");
    const struct json *type = json_first(types);
    size_t n = 0;
    put_code_place(w, q, content, "start", "cursor_start");
    put_code_place(w, q, content, "end", "cursor_end");
    jsonw_set_array(w, "matches");
    for (const struct json *match = json_first(json_get(content, "matches"));
         match && n < MATCHES_MAX; match = json_next(match)) {
        const char *text = json_text(match), *kind = json_get_text(type, "type");
        const char *typed = json_get_text(type, "text");
        if (text && strlen(text) <= MATCH_MAX) {
            jsonw_object(w);
            jsonw_set_text(w, "text", text);
            if (kind && typed && strcmp(typed, text) == 0)
                put_short_text(w, "type", kind, MATCH_MAX);
            jsonw_end(w);
            n++;
        }
        type = json_next(type);
    }
    jsonw_end(w);
}

static void put_inspection(struct jsonw *w, const struct editor_question *q,
                           const struct json *content)
{
    (void)q;
    const char *text = json_get_text(json_get(content, "data"), "text/plain");
    jsonw_set_bool(w, "found", text && json_true(json_get(content, "found")));
    put_short_text(w, "text", text ? text : "", INSPECTION_MAX);
}

static void post_question(struct api *api, struct http_request *r, enum question_kind kind,
                          struct editor_question like)
{
    struct err e = ERR_NONE;
    const char *code;
    drop_json struct json *body = NULL;
    if (!api_body(r, body_question_known, &body))
        return;
    if (body_question(body, &code, &like.cursor, &e) < 0) {
        api_fail(r, &e);
        return;
    }
    struct api_session *session = api_session_of(api, r);
    if (session)
        ask_session(session, r, kind, code, like);
}

void complete_post(void *ctx, struct http_request *r)
{
    post_question(ctx, r, QUESTION_COMPLETE, (struct editor_question){.put = put_completion});
}

void inspect_post(void *ctx, struct http_request *r)
{
    post_question(ctx, r, QUESTION_INSPECT, (struct editor_question){.put = put_inspection});
}

/* --- variables -------------------------------------------------------------------------------- */

static void put_variable_shown(struct jsonw *w, const struct json *variable)
{
    static const char *const texts[] = {"name", "type", "value", "shape"};
    const struct json *size = json_get(variable, "size");
    jsonw_object(w);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = json_get_text(variable, texts[i]);
        if (text || i < 3)
            put_short_text(w, texts[i], text ? text : "", VARIABLE_TEXT_MAX);
    }
    if (json_is_number(size) && json_number(size) >= 0 && json_number(size) < 1e15)
        jsonw_set_int(w, "size", (int64_t)json_number(size));
    jsonw_end(w);
}

static void put_variables_shown(struct jsonw *w, const struct editor_question *q,
                                const struct json *content)
{
    (void)q;
    const struct json *variable = json_first(json_get(content, "variables"));
    size_t n = 0;
    jsonw_set_array(w, "variables");
    for (; variable && n < VARIABLES_SHOWN_MAX; variable = json_next(variable), n++)
        put_variable_shown(w, variable);
    jsonw_end(w);
    jsonw_set_bool(w, "more", variable || json_true(json_get(content, "more")));
}

void variables_get(void *ctx, struct http_request *r)
{
    struct api_session *session = api_session_of(ctx, r);
    if (session)
        ask_session(session, r, QUESTION_VARIABLES, "",
                    (struct editor_question){.put = put_variables_shown});
}
