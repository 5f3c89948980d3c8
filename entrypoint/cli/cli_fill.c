/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/cli/cli_fill.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/jsonw.h"
#include "entrypoint/cli/cli_client.h"
#include "entrypoint/cli/cli_form.h"
#include "front/mcp/ask_text.h"
#include "front/mcp/form.h"

enum { LINE_MAX_BYTES = 64 << 10, PROMPT_MAX = 1 << 20 };

/* --- values ----------------------------------------------------------------------------------- */

static bool is_number(const char *text)
{
    drop_json struct json *value = json_parse_copy(text, strlen(text), JSON_STRICT, NULL);
    return json_is_number(value);
}

static bool is_offered_choice(const char *text, const char *const *words)
{
    while (*words && strcasecmp(*words, text) != 0)
        words++;
    return *words != NULL;
}

/* What is of no use for the field is written as a string: form_fits() says what is needed. */
static void put_scalar(struct jsonw *w, const struct json *field, const char *text)
{
    static const char *const yes[] = {"true", "yes", "y", NULL};
    static const char *const no[] = {"false", "no", "n", NULL};
    bool number = form_is(field, "number") || form_is(field, "integer");
    if (number && is_number(text))
        jsonw_raw(w, text);
    else if (form_is(field, "boolean") &&
             (is_offered_choice(text, yes) || is_offered_choice(text, no)))
        jsonw_bool(w, is_offered_choice(text, yes));
    else
        jsonw_text(w, text);
}

/* Whether there is one to write. */
static bool put_default(struct jsonw *w, const struct json *field)
{
    const struct json *value = json_get(field, "default");
    drop_str char *text = value ? json_print(value) : NULL;
    if (text)
        jsonw_set_raw(w, json_name(field), text);
    return text != NULL;
}

static int check_answer(const struct json *form, const struct buf *content, struct err *e)
{
    if (content->failed)
        return err_set(e, -EINVAL, "the answer is longer than %zu bytes", content->cap);
    drop_json struct json *tree =
        json_parse_copy(buf_text(content), content->len, JSON_STRICT, NULL);
    if (!json_is_object(tree))
        return err_set(e, -EINVAL, "the answer is no JSON object");
    return form_fits(form, tree, e);
}

int cli_fill_json(const struct json *form, const char *text, size_t n, struct buf *ret,
                  struct err *e)
{
    (void)buf_add(ret, text, n);
    return check_answer(form, ret, e);
}

/* --- words ------------------------------------------------------------------------------------ */

/* The value in NAME=VALUE; NULL: it is not this field's. */
static const char *value_in(const char *word, const struct json *field)
{
    size_t n = strlen(json_name(field));
    return strncmp(word, json_name(field), n) == 0 && word[n] == '=' ? word + n + 1 : NULL;
}

/* A name may have a '=' in it, so the longest that matches is meant. */
static const struct json *form_field_of(const struct json *form, const char *word)
{
    const struct json *best = NULL;
    for (const struct json *f = form_next(form, NULL); f; f = form_next(form, f)) {
        if (value_in(word, f) && (!best || strlen(json_name(f)) > strlen(json_name(best))))
            best = f;
    }
    return best;
}

static void put_chosen(struct jsonw *w, const struct json *form, const struct json *field,
                       const char *const *words, int n)
{
    jsonw_set_array(w, json_name(field));
    for (int i = 0; i < n; i++) {
        const char *value =
            form_field_of(form, words[i]) == field ? value_in(words[i], field) : NULL;
        if (value && *value)
            jsonw_text(w, value);
    }
    jsonw_end(w);
}

static int put_field_words(struct jsonw *w, const struct json *form, const struct json *field,
                           const char *const *words, int n, struct err *e)
{
    const char *value = NULL;
    for (int i = 0; i < n; i++) {
        if (form_field_of(form, words[i]) != field)
            continue;
        if (value && !form_is(field, "array"))
            return err_set(e, -EINVAL, "%.80s: it has one value", json_name(field));
        value = value_in(words[i], field);
    }
    if (!value) {
        (void)put_default(w, field);
    } else if (form_is(field, "array")) {
        put_chosen(w, form, field, words, n);
    } else {
        jsonw_name(w, json_name(field));
        put_scalar(w, field, value);
    }
    return 0;
}

int cli_fill_words(const struct json *form, const char *const *words, int n, struct buf *ret,
                   struct err *e)
{
    struct jsonw w = JSONW(ret);
    int r = 0;
    for (int i = 0; i < n; i++) {
        if (!form_field_of(form, words[i]))
            return err_set(e, -EINVAL, "%.80s: the form has no such field", words[i]);
    }
    jsonw_object(&w);
    for (const struct json *f = form_next(form, NULL); f && r == 0; f = form_next(form, f))
        r = put_field_words(&w, form, f, words, n, e);
    jsonw_end(&w);
    return r < 0 ? r : check_answer(form, ret, e);
}

/* --- a terminal ------------------------------------------------------------------------------- */

struct talk {
    const struct json *form;
    int in, out;
};

static int read_answer_line(int in, struct buf *ret, struct err *e)
{
    char c;
    for (;;) {
        ssize_t n = read(in, &c, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 1 && c == '\n')
            return 0;
        if (n == 1 && buf_addc(ret, c) < 0)
            return err_set(e, -EINVAL, "the line is longer than %zu bytes", ret->cap);
        if (n != 1)
            return ret->len > 0 ? 0
                                : err_set(e, -ECANCELED, "the input has ended: nothing was sent");
    }
}

static int ask_person(int in, int out, const struct buf *prompt, struct buf *line, struct err *e)
{
    cli_put(out, prompt);
    buf_clear(line);
    return read_answer_line(in, line, e);
}

int cli_fill_choose(int in, int out, const char *what, const char *const *words, const char **ret,
                    struct err *e)
{
    drop_buf struct buf prompt = BUF_INIT(PROMPT_MAX), line = BUF_INIT(LINE_MAX_BYTES);
    (void)buf_addf(&prompt, "  %s (", what);
    for (size_t i = 0; words[i]; i++)
        (void)buf_addf(&prompt, "%s%s", i > 0 ? ", " : "", words[i]);
    (void)buf_adds(&prompt, "): ");
    for (;;) {
        int r = ask_person(in, out, &prompt, &line, e);
        if (r < 0)
            return r;
        for (size_t i = 0; words[i] && line.len > 0; i++) {
            if (strncasecmp(words[i], buf_text(&line), line.len) != 0)
                continue;
            *ret = words[i];
            return 0;
        }
    }
}

static void put_prompt(struct buf *out, const struct json *field)
{
    (void)buf_adds(out, "  ");
    ask_put_visible(out, json_name(field), 0);
    if (form_is(field, "array"))
        (void)buf_adds(out, ", one in a line, an empty line ends them");
    if (json_get(field, "default")) {
        (void)buf_adds(out, " [");
        cli_form_put_value(out, json_get(field, "default"));
        (void)buf_addc(out, ']');
    }
    (void)buf_adds(out, ": ");
}

/* 1: a value was written; 0: nothing was said. */
static int read_answer_value(const struct talk *t, const struct json *field, struct jsonw *w,
                             struct err *e)
{
    drop_buf struct buf prompt = BUF_INIT(PROMPT_MAX), line = BUF_INIT(LINE_MAX_BYTES);
    put_prompt(&prompt, field);
    int r = ask_person(t->in, t->out, &prompt, &line, e);
    if (r < 0 || line.len == 0)
        return r;
    jsonw_name(w, json_name(field));
    if (!form_is(field, "array")) {
        put_scalar(w, field, buf_text(&line));
        return 1;
    }
    buf_clear(&prompt);
    (void)buf_adds(&prompt, "    and: ");
    for (jsonw_array(w); r == 0 && line.len > 0; r = ask_person(t->in, t->out, &prompt, &line, e))
        jsonw_text(w, buf_text(&line));
    jsonw_end(w);
    return r < 0 ? r : 1;
}

static void notify_field(const struct talk *t, const char *why)
{
    drop_buf struct buf text = BUF_INIT(PROMPT_MAX);
    (void)buf_adds(&text, "  ");
    ask_put_visible(&text, why, 0);
    (void)buf_addc(&text, '\n');
    cli_put(t->out, &text);
}

/* One field as an object of its own: 1 when it may go into the answer, 0 when it is left out. */
static int ask_field(const struct talk *t, const struct json *field, struct buf *one, struct err *e)
{
    for (;;) {
        struct jsonw w = JSONW(one);
        struct err why = ERR_NONE;
        buf_clear(one);
        jsonw_object(&w);
        int r = read_answer_value(t, field, &w, e);
        bool given = r > 0 || (r == 0 && put_default(&w, field));
        jsonw_end(&w);
        if (r < 0)
            return r;
        drop_json struct json *tree = json_parse_copy(buf_text(one), one->len, JSON_STRICT, NULL);
        if (!given && form_needs(t->form, json_name(field)))
            notify_field(t, "it is needed");
        else if (!given)
            return 0;
        else if (!tree || one->failed)
            notify_field(t, "it is no text");
        else if (form_field_fits(t->form, json_first(tree), &why) == 0)
            return 1;
        else
            notify_field(t, why.msg);
    }
}

static int ask_fields(const struct talk *t, struct buf *ret, struct err *e)
{
    drop_buf struct buf one = BUF_INIT(CLI_FILL_MAX);
    const char *before = "";
    (void)buf_addc(ret, '{');
    for (const struct json *f = form_next(t->form, NULL); f; f = form_next(t->form, f)) {
        int r = ask_field(t, f, &one, e);
        if (r < 0)
            return r;
        if (r == 0)
            continue;
        (void)buf_adds(ret, before);
        (void)buf_add(ret, one.data + 1, one.len - 2); /* what stands between the braces */
        before = ",";
    }
    (void)buf_addc(ret, '}');
    return check_answer(t->form, ret, e);
}

static int ask_whole(const struct talk *t, struct buf *ret, struct err *e)
{
    static const char *const words[] = {"yes", "no", NULL};
    const char *word = "no";
    int r = 0;
    while (r == 0 && strcmp(word, "no") == 0) {
        buf_clear(ret);
        r = ask_fields(t, ret, e);
        drop_buf struct buf text = BUF_INIT(PROMPT_MAX);
        (void)buf_adds(&text, "the answer is ");
        (void)buf_add(&text, buf_text(ret), ret->len);
        if (r == 0)
            notify_field(t, buf_text(&text));
        if (r == 0)
            r = cli_fill_choose(t->in, t->out, "send it", words, &word, e);
    }
    return r;
}

int cli_fill_terminal(const struct json *form, int in, int out, const char **ret_action,
                      struct buf *ret, struct err *e)
{
    static const char *const actions[] = {"accept", "decline", "cancel", NULL};
    const struct talk t = {.form = form, .in = in, .out = out};
    int r = cli_fill_choose(in, out, "what to do", actions, ret_action, e);
    return r == 0 && strcmp(*ret_action, "accept") == 0 ? ask_whole(&t, ret, e) : r;
}
