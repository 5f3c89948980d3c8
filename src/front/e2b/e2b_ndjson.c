/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of a cell as lines of E2B's code interpreter. */
#include <string.h>

#include "base/alloc.h"
#include "front/e2b/e2b_interpreter.h"

#define NS_OF_MS INT64_C(1000000)

static const struct form {
    const char *mime, *member;
} forms[] = {
    {"text/plain", "text"},        {"text/html", "html"},
    {"text/markdown", "markdown"}, {"image/svg+xml", "svg"},
    {"image/png", "png"},          {"image/jpeg", "jpeg"},
    {"application/pdf", "pdf"},    {"text/latex", "latex"},
    {"application/json", "json"},  {"application/javascript", "javascript"},
};

static const char *member_of(const char *mime)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(forms[i].mime, mime) == 0)
            return forms[i].member;
    return NULL;
}

/* As in E2B's interpreter, the text of a str comes without its quotes. */
static void put_unquoted(struct jsonw *w, const char *text)
{
    size_t n = strlen(text);
    bool quoted = n > 1 && (text[0] == '\'' || text[0] == '"') && text[n - 1] == text[0];
    jsonw_name(w, "text");
    jsonw_text_n(w, quoted ? text + 1 : text, quoted ? n - 2 : n);
}

static void put_value(struct jsonw *w, const char *name, const struct json *value)
{
    char *text = json_print(value);
    jsonw_set_raw(w, name, text ? text : "null");
    xfree(text);
}

static void put_result_forms(struct jsonw *w, const struct json *bundle)
{
    bool more = false;
    for (const struct json *j = json_first(bundle); j; j = json_next(j)) {
        const char *member = member_of(json_name(j)), *text = json_text(j);
        if (member && text && strcmp(member, "text") == 0)
            put_unquoted(w, text);
        else if (member)
            put_value(w, member, j);
        more |= !member;
    }
    jsonw_set_object(w, "extra");
    for (const struct json *j = more ? json_first(bundle) : NULL; j; j = json_next(j))
        if (!member_of(json_name(j)))
            put_value(w, json_name(j), j);
    jsonw_end(w);
}

static void put_result_line(struct buf *out, const struct json *content, bool is_main)
{
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    jsonw_set_text(&w, "type", "result");
    put_result_forms(&w, json_get(content, "data"));
    jsonw_set_bool(&w, "is_main_result", is_main);
    jsonw_end(&w);
    (void)buf_addc(out, '\n');
}

static void put_stream_line(struct buf *out, const char *type, const char *text, size_t n,
                            int64_t time_ms)
{
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    jsonw_set_text(&w, "type", type);
    jsonw_name(&w, "text");
    jsonw_text_n(&w, text, n);
    jsonw_set_int(&w, "timestamp", time_ms * NS_OF_MS);
    jsonw_end(&w);
    (void)buf_addc(out, '\n');
}

void e2b_put_error(struct buf *out, const char *name, const char *value, const char *traceback)
{
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    jsonw_set_text(&w, "type", "error");
    jsonw_set_text(&w, "name", name ? name : "");
    jsonw_set_text(&w, "value", value ? value : "");
    jsonw_set_text(&w, "traceback", traceback ? traceback : "");
    jsonw_end(&w);
    (void)buf_addc(out, '\n');
}

static void put_raised(struct buf *out, const struct json *content)
{
    drop_buf struct buf lines = BUF_INIT(E2B_ANSWER_MAX);
    const struct json *traceback = json_get(content, "traceback");
    for (const struct json *j = json_first(traceback); j; j = json_next(j))
        (void)buf_addf(&lines, "%s%s", lines.len > 0 ? "\n" : "", json_text(j) ? json_text(j) : "");
    e2b_put_error(out, json_get_text(content, "ename"), json_get_text(content, "evalue"),
                  buf_text(&lines));
}

static void put_content(struct buf *out, const struct logged *event)
{
    struct err e = ERR_NONE;
    drop_json struct json *content = json_parse_copy(event->data, event->n, JSON_REPAIR, &e);
    const struct json *omitted = json_get(content, "omitted");
    if (omitted) {
        drop_str char *text =
            xasprintf("[%.0f bytes of output are too long to be sent]\n", json_number(omitted));
        put_stream_line(out, "stderr", text, strlen(text), event->time_ms);
    } else if (event->kind == LOGGED_ERROR) {
        put_raised(out, content);
    } else {
        put_result_line(out, content, event->kind == LOGGED_RESULT);
    }
}

void e2b_put_event(struct buf *out, const struct logged *event)
{
    switch (event->kind) {
    case LOGGED_BEGIN:
        (void)buf_addf(out, "{\"type\":\"number_of_executions\",\"execution_count\":%llu}\n",
                       (unsigned long long)event->cell);
        break;
    case LOGGED_STDOUT:
    case LOGGED_STDERR:
        put_stream_line(out, logged_names[event->kind], event->data, event->n, event->time_ms);
        break;
    case LOGGED_DISPLAY:
    case LOGGED_RESULT:
    case LOGGED_ERROR:
        put_content(out, event);
        break;
    case LOGGED_UPDATE:
    case LOGGED_CLEAR:
    case LOGGED_END:
    case LOGGED_APPROVAL:
    case LOGGED_KERNEL:
    case LOGGED_PROGRESS:
    case LOGGED__COUNT:
        break;
    }
}

void e2b_put_gap(struct buf *out, uint64_t missed, int64_t time_ms)
{
    drop_str char *text = xasprintf("[%llu parts of the output were dropped: it was read too "
                                    "slowly]\n",
                                    (unsigned long long)missed);
    put_stream_line(out, "stderr", text, strlen(text), time_ms);
}

void e2b_put_end(struct buf *out, const struct execution *x)
{
    static const char *const names[] = {[CELL_TIMEOUT] = "TimeoutError",
                                        [CELL_LOST] = "KernelDied",
                                        [CELL_STOPPED] = "SandboxEnded",
                                        [CELL_CANCELLED] = NULL,
                                        [CELL_REFUSED] = "KernelNotStarted"};
    enum cell_status status = x->result.status;
    if (status > CELL_ERROR && names[status]) {
        e2b_put_error(out, names[status], x->result.reason, x->result.last_words);
        (void)buf_adds(out, "{\"type\":\"unexpected_end_of_execution\"}\n");
    }
    (void)buf_adds(out, "{\"type\":\"end_of_execution\"}\n");
}
