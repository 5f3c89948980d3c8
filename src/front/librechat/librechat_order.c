/* SPDX-License-Identifier: Apache-2.0
 *
 * What a request for code says: language, arguments, files, and the session that it continues. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hmac.h"
#include "base/random.h"
#include "front/librechat/librechat_internal.h"

enum { ARGS_MAX = 1000, HINT_CHARS = 20 };

#define DATA "/mnt/data/" /* as clients know the session's folder */

void librechat_order_done(struct librechat_order *order)
{
    for (size_t i = 0; i < order->n; i++) {
        xfree(order->inputs[i].source);
        xfree(order->inputs[i].name);
    }
    xfree(order->inputs);
    (void)json_free(order->body);
    *order = (struct librechat_order){0};
}

/* --- members ---------------------------------------------------------------------------------- */

/* NULL: it is not there, or null. */
static const struct json *order_member(const struct json *body, const char *name)
{
    const struct json *value = json_get(body, name);
    return value && !json_is_null(value) ? value : NULL;
}

static int read_lang(struct librechat_order *o, struct err *e)
{
    const char *lang;
    int r = json_need_text(o->body, "lang", &lang, e);
    if (r < 0)
        return r;
    if (strcmp(lang, "py") == 0)
        o->language = LIBRECHAT_PYTHON;
    else if (strcmp(lang, "bash") == 0)
        o->language = LIBRECHAT_BASH;
    else
        return err_set(e, -EINVAL, "lang: %.40s is not served here; py and bash are", lang);
    return 0;
}

static int read_code_args(struct librechat_order *o, struct err *e)
{
    const struct json *args = order_member(o->body, "args");
    size_t n = 0;
    if (args && !json_is_array(args))
        return err_set(e, -EINVAL, "args: an array of strings is needed");
    for (const struct json *j = json_first(args); j; j = json_next(j), n++)
        if (!json_text(j) || strstr(json_text(j), "\xC0\x80") || n == ARGS_MAX)
            return err_set(e, -EINVAL, "args[%zu]: a string without NUL is needed, %d at most", n,
                           ARGS_MAX);
    o->args = args;
    return 0;
}

static int read_order_tools(struct librechat_order *o, struct err *e)
{
    const struct json *tools = order_member(o->body, "tools");
    size_t n = 0;
    if (!json_is_array(tools))
        return err_set(e, -EINVAL, "tools: an array is needed");
    for (const struct json *j = json_first(tools); j; j = json_next(j), n++) {
        const char *name = json_get_text(j, "name");
        if (!name || !*name || n == LIBRECHAT_TOOLS_MAX)
            return err_set(e, -EINVAL, "tools[%zu].name: a string is needed, of %d tools at most",
                           n, LIBRECHAT_TOOLS_MAX);
    }
    o->tools = tools;
    return 0;
}

static int read_run_timeout(struct librechat_order *o, struct err *e)
{
    const struct json *timeout = order_member(o->body, "timeout");
    double ms = json_number(timeout);
    if (!timeout)
        return 0;
    if (!json_is_number(timeout) || ms < 1 || ms > (double)SESSIONS_MS_MAX || ms != floor(ms))
        return err_set(e, -EINVAL, "timeout: whole milliseconds from 1 to %lld are needed",
                       (long long)SESSIONS_MS_MAX);
    o->timeout_ms = (int64_t)ms;
    return 0;
}

/* --- the session ------------------------------------------------------------------------------ */

static bool is_there(const struct librechat *l, const char *space, const char *id)
{
    struct err e = ERR_NONE;
    struct beneath folder;
    if (librechat_folder(l, space, id, false, &folder, &e) < 0)
        return false;
    beneath_close(&folder);
    return true;
}

static int read_session(const struct librechat *l, struct librechat_order *o, struct err *e)
{
    const struct json *session = order_member(o->body, "session_id");
    const struct json *hint = order_member(o->body, "runtime_session_hint");
    const char *id = json_text(session), *hinted = json_text(hint);
    char hex[HMAC_HEX + 1];
    if (session && (!id || !librechat_is_id(id) || !is_there(l, o->space, id)))
        return err_set(e, -EINVAL, "session_id: there is no session %.60s", id ? id : "of that");
    if (hint && (!hinted || !*hinted))
        return err_set(e, -EINVAL, "runtime_session_hint: a string is needed");
    if (hint) {
        sha256_hex(hinted, strlen(hinted), hex);
        (void)snprintf(o->session, sizeof o->session, "rt%.*s", HINT_CHARS, hex);
        o->hinted = true;
        o->reused = is_there(l, o->space, o->session);
    } else if (session) {
        (void)snprintf(o->session, sizeof o->session, "%s", id);
    } else {
        random_hex(o->session, LIBRECHAT_ID_BYTES);
    }
    return 0;
}

/* --- files ------------------------------------------------------------------------------------ */

struct input_source { /* the session whose files were looked at last */
    char space[LIBRECHAT_SPACE_MAX + 1], id[LIBRECHAT_ID_MAX + 1];
    struct librechat_files files;
};

static int look_at(const struct librechat *l, const char *space, const char *id,
                   struct input_source *source, struct err *e)
{
    struct beneath folder;
    if (strcmp(source->id, id) == 0 && strcmp(source->space, space) == 0)
        return 0;
    librechat_files_done(&source->files);
    source->id[0] = '\0';
    int r = librechat_folder(l, space, id, false, &folder, e);
    if (r < 0)
        return r;
    r = librechat_list(l, &folder, &source->files, e);
    beneath_close(&folder);
    if (r == 0) {
        (void)snprintf(source->space, sizeof source->space, "%s", space);
        (void)snprintf(source->id, sizeof source->id, "%s", id);
    }
    return r;
}

/* Where the session of a file is that a request names. */
static void read_input_space(const struct http_request *r, const struct json *j,
                             char ret[LIBRECHAT_SPACE_MAX + 1])
{
    const struct json *version = order_member(j, "version");
    drop_str char *text = version ? json_print(version) : NULL;
    const struct librechat_owner owner = {.kind = json_get_text(j, "kind"),
                                          .id = json_get_text(j, "resource_id"),
                                          .version =
                                              json_text(version) ? json_text(version) : text};
    librechat_space_of(r, &owner, ret);
}

static int read_input(const struct librechat *l, const struct http_request *request,
                      const struct json *j, struct input_source *source, struct librechat_order *o,
                      struct err *e)
{
    char clean[BENEATH_PATH_MAX], space[LIBRECHAT_SPACE_MAX + 1];
    const char *id, *from, *name;
    int r = json_need_text(j, "id", &id, e);
    if (r == 0)
        r = json_need_text(j, "storage_session_id", &from, e);
    if (r == 0)
        r = json_need_text(j, "name", &name, e);
    read_input_space(request, j, space);
    if (r == 0)
        r = look_at(l, space, from, source, e);
    if (r < 0)
        return r;
    const struct librechat_file *file = librechat_find(&source->files, id);
    if (!file)
        return err_set(e, -EINVAL, "there is no file %.60s in session %s", id, from);
    name += strncmp(name, DATA, sizeof DATA - 1) == 0 ? sizeof DATA - 1 : 0;
    if (!*name || beneath_clean(name, clean) < 0 || strstr(name, "\xC0\x80"))
        return err_set(e, -EINVAL, "name: %.200s is no path below " DATA, name);
    struct librechat_input *input = &o->inputs[o->n++];
    *input = (struct librechat_input){.name = xstrdup(clean), .st = file->st};
    (void)snprintf(input->id, sizeof input->id, "%s", file->id);
    (void)snprintf(input->from, sizeof input->from, "%s", from);
    (void)snprintf(input->space, sizeof input->space, "%s", space);
    input->source =
        xasprintf("%s/" LIBRECHAT_FOLDER "/%s%s/%s", l->config.workspace, space, from, file->name);
    return 0;
}

static int read_inputs(const struct librechat *l, const struct http_request *request,
                       struct librechat_order *o, struct err *e)
{
    const struct json *files = order_member(o->body, "files");
    struct input_source source = {0};
    struct err why = ERR_NONE;
    int r = 0;
    if (files && (!json_is_array(files) || json_count(files) > LIBRECHAT_INPUTS_MAX))
        return err_set(e, -EINVAL, "files: an array of at most %d is needed", LIBRECHAT_INPUTS_MAX);
    o->inputs = xcalloc(json_count(files) + 1, sizeof *o->inputs);
    for (const struct json *j = json_first(files); j && r == 0; j = json_next(j))
        r = read_input(l, request, j, &source, o, &why);
    librechat_files_done(&source.files);
    return r < 0 ? err_set(e, -EINVAL, "files[%zu]: %s", o->n, why.msg) : 0;
}

int librechat_order_read(const struct librechat *l, struct http_request *r, bool with_tools,
                         struct librechat_order *ret, struct err *e)
{
    struct buf *body = http_body(r);
    struct err why = ERR_NONE;
    librechat_space_of_user(r, ret->space);
    ret->body = json_parse(body->data, body->len, JSON_REQUEST, &why);
    if (!json_is_object(ret->body))
        return err_set(e, -EINVAL, "the body: %s", ret->body ? "an object is needed" : why.msg);
    int code = with_tools ? read_order_tools(ret, e) : read_lang(ret, e);
    if (code == 0)
        code = json_need_text(ret->body, "code", &ret->code, e);
    if (code == 0)
        code = read_code_args(ret, e);
    if (code == 0)
        code = read_run_timeout(ret, e);
    if (code == 0)
        code = read_session(l, ret, e);
    return code == 0 ? read_inputs(l, r, ret, e) : code;
}

/* --- cells ------------------------------------------------------------------------------------ */

static bool is_in_place(const struct librechat_order *order, const struct librechat_input *input)
{
    char id[LIBRECHAT_FILE_ID + 1];
    librechat_file_id(input->name, id);
    return strcmp(input->space, order->space) == 0 && strcmp(input->from, order->session) == 0 &&
           strcmp(input->id, id) == 0;
}

void librechat_put_setup(const struct librechat_order *order, struct buf *out)
{
    struct jsonw w = JSONW(out);
    (void)buf_adds(out, "__import__('ipybox_tools.librechat').librechat.prepare(");
    jsonw_object(&w);
    jsonw_set_array(&w, "files");
    for (size_t i = 0; i < order->n; i++) {
        if (is_in_place(order, &order->inputs[i]))
            continue;
        jsonw_array(&w);
        jsonw_text(&w, order->inputs[i].source);
        jsonw_text(&w, order->inputs[i].name);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_set_array(&w, "args");
    for (const struct json *j = json_first(order->args); j; j = json_next(j))
        jsonw_text(&w, json_text(j));
    jsonw_end(&w);
    jsonw_set_array(&w, "tools");
    for (const struct json *j = json_first(order->tools); j; j = json_next(j))
        jsonw_text(&w, json_get_text(j, "name"));
    jsonw_end(&w);
    jsonw_set_int(&w, "script", order->tools ? 0 : 1);
    jsonw_end(&w);
    (void)buf_addc(out, ')');
}

/* One word of a magic's line. */
static void put_magic_word(struct buf *out, const char *text)
{
    (void)buf_adds(out, " '");
    for (; *text; text++)
        (void)(*text == '\'' ? buf_adds(out, "'\"'\"'") : buf_addc(out, *text));
    (void)buf_addc(out, '\'');
}

void librechat_put_code(const struct librechat_order *order, struct buf *out)
{
    if (order->language == LIBRECHAT_BASH) {
        (void)buf_adds(out, "%%bash");
        if (json_first(order->args))
            (void)buf_adds(out, " -s");
        for (const struct json *j = json_first(order->args); j; j = json_next(j))
            put_magic_word(out, json_text(j));
        (void)buf_addc(out, '\n');
    }
    (void)buf_adds(out, order->code);
}
