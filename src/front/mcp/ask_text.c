/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp/ask_text.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json/jsonw.h"
#include "base/text/visible.h"

enum { TEXT_MAX = 16 << 20, INDENT = 2, INDENT_MESSAGE = 9 };

/* --- what hides or steers -------------------------------------------------------------------- */

static size_t put_question_char(struct buf *out, const char *s)
{
    return visible_put(out, s, strnlen(s, 4));
}

void ask_put_visible(struct buf *out, const char *text, int indent)
{
    while (*text) {
        if (indent > 0 && *text == '\n')
            (void)buf_addf(out, "\n%*s", indent, "");
        else if (indent > 0 && *text == '\t')
            (void)buf_addc(out, *text);
        else {
            text += put_question_char(out, text);
            continue;
        }
        text++;
    }
}

/* --- JSON, indented -------------------------------------------------------------------------- */

static void put_question_line(struct buf *out, size_t depth)
{
    (void)buf_addc(out, '\n');
    for (size_t i = 0; i < depth * INDENT; i++)
        (void)buf_addc(out, ' ');
}

static const char *put_question_string(struct buf *out, const char *at)
{
    (void)buf_addc(out, *at++);
    while (*at && *at != '"') {
        if (*at == '\\' && at[1] && (unsigned char)at[1] < 0x80)
            (void)buf_addc(out, *at++);
        at += put_question_char(out, at);
    }
    if (*at)
        (void)buf_addc(out, *at++);
    return at;
}

static const char *skip_question_blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

void ask_put_pretty(struct buf *out, const char *at)
{
    size_t depth = 0;
    for (at = skip_question_blanks(at); *at && !out->failed; at = skip_question_blanks(at)) {
        char c = *at;
        if (c == '"') {
            at = put_question_string(out, at);
            continue;
        }
        if (c == '}' || c == ']') {
            depth -= depth > 0;
            put_question_line(out, depth);
        }
        at += put_question_char(out, at);
        if (c == ':')
            (void)buf_addc(out, ' ');
        if (c == ',')
            put_question_line(out, depth);
        if ((c == '{' || c == '[') && *skip_question_blanks(at) == (c == '{' ? '}' : ']')) {
            at = skip_question_blanks(at);
            (void)buf_addc(out, *at++);
        } else if (c == '{' || c == '[') {
            put_question_line(out, ++depth);
        }
    }
}

/* --- forms ----------------------------------------------------------------------------------- */

static const char decision_schema[] =
    "{\"type\":\"object\",\"properties\":{\"decision\":{\"type\":\"string\","
    "\"title\":\"Decision\",\"description\":\"Whether this call may be made\","
    "\"enum\":[\"" ASK_APPROVE "\",\"" ASK_APPROVE_SESSION "\",\"" ASK_REJECT "\"]}},"
    "\"required\":[\"decision\"]}";

static void put_question_field(struct buf *out, const char *label, const char *value, int indent)
{
    (void)buf_adds(out, label);
    ask_put_visible(out, value, indent);
    (void)buf_addc(out, '\n');
}

static void begin_question(struct jsonw *w, bool with_mode, const struct buf *message)
{
    jsonw_object(w);
    if (with_mode)
        jsonw_set_text(w, "mode", "form");
    jsonw_name(w, "message");
    jsonw_text_n(w, buf_text(message), message->len);
}

static void finish_question(struct jsonw *w, const struct buf *message)
{
    jsonw_end(w);
    if (message->failed)
        w->out->failed = message->failed;
}

void ask_put_approval(struct buf *out, const struct approval_view *view, bool with_mode)
{
    const struct approval_subject *s = &view->subject;
    drop_buf struct buf text = BUF_INIT(TEXT_MAX);
    (void)buf_adds(&text, "Code in the Python kernel wants to call a tool.\n");
    if (*view->note)
        (void)buf_addf(&text, "Attention: %s.\n", view->note);
    (void)buf_adds(&text, "```\n");
    put_question_field(&text, "server:    ", s->server, 0);
    put_question_field(&text, "runs:      ", s->shown, 0);
    put_question_field(&text, "tool:      ", s->tool, 0);
    (void)buf_adds(&text, "arguments: ");
    ask_put_pretty(&text, s->arguments);
    (void)buf_adds(&text, "\n```");
    struct jsonw w = JSONW(out);
    begin_question(&w, with_mode, &text);
    jsonw_set_raw(&w, "requestedSchema", decision_schema);
    finish_question(&w, &text);
}

int ask_put_form(struct buf *out, const struct approval_view *view, bool with_mode, struct err *e)
{
    drop_json struct json *form = json_parse_copy(view->form, strlen(view->form), JSON_STRICT, e);
    if (!form)
        return e ? e->code : -EBADMSG;
    const char *mode = json_get_text(form, "mode");
    const char *message = json_get_text(form, "message");
    const struct json *schema = json_get(form, "requestedSchema");
    if ((mode && strcmp(mode, "form") != 0) || !message || !json_is_object(schema))
        return err_set(e, -EINVAL, "not a form: a message and a schema are needed");
    drop_buf struct buf text = BUF_INIT(TEXT_MAX);
    (void)buf_adds(&text, "An MCP server asks; what is entered goes to it alone.\n```\n");
    put_question_field(&text, "server:  ", view->subject.server, 0);
    put_question_field(&text, "runs:    ", view->subject.shown, 0);
    put_question_field(&text, "message: ", message, INDENT_MESSAGE);
    (void)buf_adds(&text, "```");
    char *raw = json_print(schema);
    struct jsonw w = JSONW(out);
    begin_question(&w, with_mode, &text);
    if (raw)
        jsonw_set_raw(&w, "requestedSchema", raw);
    finish_question(&w, &text);
    int r = raw ? 0 : err_set(e, -ENOMEM, "no memory for a schema");
    xfree(raw);
    return r;
}
