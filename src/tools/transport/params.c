/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/transport/params.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json/jsonw.h"
#include "tools/tools.h"

/* --- what they may be ------------------------------------------------------------------------ */

static const char *const keywords[] = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",
};

int params_check_name(const char *name, struct err *e)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t n = strlen(name);
    if (n == 0 || n > TOOLS_NAME_MAX || strspn(name, letters) != n ||
        (*name >= '0' && *name <= '9'))
        return err_set(e, -EINVAL,
                       "server_name: a Python identifier is needed (a-z, A-Z, 0-9 and _, at most "
                       "%d characters, no digit first)",
                       TOOLS_NAME_MAX);
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        if (strcmp(name, keywords[i]) == 0)
            return err_set(e, -EINVAL, "server_name: \"%s\" is a keyword of Python", name);
    }
    return 0;
}

enum member_kind { TEXT, TEXTS, TEXT_MAP, ANYTHING };

static const struct {
    const char *name;
    enum member_kind kind;
    bool stdio, http;
} members[] = {
    {"command", TEXT, true, false},
    {"args", TEXTS, true, false},
    {"env", TEXT_MAP, true, false},
    {"cwd", TEXT, true, false},
    {"url", TEXT, false, true},
    {"headers", TEXT_MAP, false, true},
    {"type", TEXT, true, true},
    /* Of the client library that was used before; without meaning here. */
    {"encoding", ANYTHING, true, false},
    {"encoding_error_handler", ANYTHING, true, false},
    {"timeout", ANYTHING, true, true},
    {"sse_read_timeout", ANYTHING, false, true},
    {"terminate_on_close", ANYTHING, false, true},
};

enum { MEMBERS = sizeof members / sizeof *members };

static int check_param_kind(const struct json *value, enum member_kind kind, struct err *e)
{
    const char *name = json_name(value);
    if (json_is_null(value))
        return 0; /* as if it were absent */
    if (kind == TEXT && !json_text(value))
        return err_set(e, -EINVAL, "server_params.%s: a string is needed", name);
    if (kind == TEXTS && !json_is_array(value))
        return err_set(e, -EINVAL, "server_params.%s: an array of strings is needed", name);
    if (kind == TEXT_MAP && !json_is_object(value))
        return err_set(e, -EINVAL, "server_params.%s: an object of strings is needed", name);
    if (kind != TEXTS && kind != TEXT_MAP)
        return 0;
    size_t i = 0;
    for (const struct json *v = json_first(value); v; v = json_next(v), i++) {
        if (json_text(v))
            continue;
        if (kind == TEXT_MAP)
            return err_set(e, -EINVAL, "server_params.%s.%s: a string is needed", name,
                           json_name(v));
        return err_set(e, -EINVAL, "server_params.%s[%zu]: a string is needed", name, i);
    }
    return 0;
}

static int check_member(const struct json *value, bool stdio, struct err *e)
{
    const char *name = json_name(value);
    for (size_t i = 0; i < MEMBERS; i++) {
        if (strcmp(members[i].name, name) == 0 && (stdio ? members[i].stdio : members[i].http))
            return check_param_kind(value, members[i].kind, e);
    }
    return err_set(e, -EINVAL, "server_params.%s: not known here; %s", name,
                   stdio ? "with \"command\" there may be \"args\", \"env\" and \"cwd\""
                         : "with \"url\" there may be \"headers\" and \"type\"");
}

static int kind_of_type(const char *type, enum params_kind *ret, struct err *e)
{
    static const struct {
        const char *name;
        enum params_kind kind;
    } types[] = {
        {"streamable_http", PARAMS_HTTP},
        {"streamable-http", PARAMS_HTTP},
        {"http", PARAMS_HTTP},
        {"sse", PARAMS_SSE},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(type, types[i].name) == 0) {
            *ret = types[i].kind;
            return 0;
        }
    }
    return err_set(e, -EINVAL,
                   "server_params.type: \"streamable_http\" or \"sse\" is needed with \"url\"");
}

static int kind_of_url(const char *url, const char *shown, enum params_kind *ret, struct err *e)
{
    if (strstr(url, "/mcp"))
        *ret = PARAMS_HTTP;
    else if (strstr(url, "/sse"))
        *ret = PARAMS_SSE;
    else
        return err_set(e, -EINVAL,
                       "server_params.url: %s does not tell the transport: it contains neither "
                       "\"/mcp\" nor \"/sse\"; add \"type\": \"streamable_http\" or \"sse\"",
                       shown);
    return 0;
}

int params_check(const struct json *params, struct err *e)
{
    if (!json_is_object(params))
        return err_set(e, -EINVAL, "server_params: an object is needed");
    const char *command = json_get_text(params, "command"), *url = json_get_text(params, "url");
    if (!command && !url && !json_get(params, "command") && !json_get(params, "url"))
        return err_set(e, -EINVAL,
                       "server_params: \"command\" (of a program to start) or \"url\" (of a server "
                       "to connect to) is needed");
    if (command && url)
        return err_set(e, -EINVAL, "server_params: \"command\" and \"url\" exclude each other");
    bool stdio = json_get(params, "command") != NULL;
    for (const struct json *v = json_first(params); v; v = json_next(v)) {
        int r = check_member(v, stdio, e);
        if (r < 0)
            return r;
    }
    if ((stdio && (!command || *command == '\0')) || (!stdio && (!url || *url == '\0')))
        return err_set(e, -EINVAL, "server_params.%s: a string is needed",
                       stdio ? "command" : "url");
    const char *type = json_get_text(params, "type");
    enum params_kind kind;
    if (stdio)
        return !type || strcmp(type, "stdio") == 0
                   ? 0
                   : err_set(e, -EINVAL, "server_params.type: not known with \"command\"");
    if (type)
        return strstr(type, "${") ? 0 : kind_of_type(type, &kind, e);
    return strstr(url, "${") ? 0 : kind_of_url(url, url, &kind, e);
}

/* --- replacing variables --------------------------------------------------------------------- */

struct params_reading {
    const struct params_source *source;
    struct params *into;
    struct buf missing; /* names, joined by ", " */
    size_t n_missing;
    int failed;
};

static void keep_secret(struct params *params, const char *value)
{
    if (strlen(value) < PARAMS_SECRET_MIN)
        return;
    params->secrets = xrealloc(params->secrets, (params->n_secrets + 1) * sizeof *params->secrets);
    params->secrets[params->n_secrets++] = xstrdup(value);
}

static bool named_already(const struct buf *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = buf_text(names); (at = strstr(at, name)) != NULL; at++) {
        if ((at == names->data || at[-1] == ' ') && (at[n] == ',' || at[n] == '\0'))
            return true;
    }
    return false;
}

static void note_missing(struct params_reading *r, const char *name)
{
    if (named_already(&r->missing, name))
        return;
    (void)buf_addf(&r->missing, "%s%s", r->n_missing ? ", " : "", name);
    r->n_missing++;
}

/* Length of ${NAME} at s, 0: it is none. */
static size_t variable_length(const char *s)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    if (s[0] != '$' || s[1] != '{')
        return 0;
    size_t n = strspn(s + 2, letters);
    return n > 0 && s[2 + n] == '}' ? n + 3 : 0;
}

bool params_has_variable(const char *text)
{
    for (const char *at = text; (at = strchr(at, '$')) != NULL; at++)
        if (variable_length(at) > 0)
            return true;
    return false;
}

/* The caller frees it; never NULL. What is put in is not looked at again. */
static char *expand_param(struct params_reading *r, const char *text)
{
    drop_buf struct buf out = BUF_INIT(PARAMS_TEXT_MAX);
    (void)buf_reserve(&out, 1);
    for (const char *s = text; *s != '\0';) {
        size_t n = variable_length(s);
        if (n == 0) {
            size_t plain = 1 + strcspn(s + 1, "$");
            (void)buf_add(&out, s, plain);
            s += plain;
            continue;
        }
        drop_str char *name = xstrndup(s + 2, n - 3);
        const char *value = r->source->lookup ? r->source->lookup(name) : NULL;
        if (value) {
            keep_secret(r->into, value);
            (void)buf_adds(&out, value);
        } else {
            note_missing(r, name);
        }
        s += n;
    }
    if (out.failed)
        r->failed = out.failed;
    return out.len == 0 || out.failed ? xstrdup("") : buf_take(&out);
}

/* --- a program ------------------------------------------------------------------------------- */

static void read_argv(struct params_reading *r, const struct json *params)
{
    const struct json *args = json_get(params, "args");
    char **argv = xcalloc(json_count(args) + 2, sizeof *argv);
    size_t n = 0;
    argv[n++] = expand_param(r, json_get_text(params, "command"));
    for (const struct json *v = json_first(args); v; v = json_next(v))
        argv[n++] = expand_param(r, json_text(v));
    r->into->argv = argv;
}

static bool sets(const char *entry, const char *name)
{
    size_t n = strlen(name);
    return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

static void read_env(struct params_reading *r, const struct json *env)
{
    size_t n = 0, base = 0;
    while (r->source->envp && r->source->envp[base])
        base++;
    char **envp = xcalloc(base + json_count(env) + 1, sizeof *envp);
    for (size_t i = 0; i < base; i++) {
        bool again = false;
        for (const struct json *v = json_first(env); v; v = json_next(v))
            again |= sets(r->source->envp[i], json_name(v));
        if (!again)
            envp[n++] = xstrdup(r->source->envp[i]);
    }
    for (const struct json *v = json_first(env); v; v = json_next(v)) {
        drop_str char *value = expand_param(r, json_text(v));
        envp[n++] = xasprintf("%s=%s", json_name(v), value);
    }
    r->into->envp = envp;
}

static void read_cwd(struct params_reading *r, const char *cwd)
{
    const char *home = r->source->cwd;
    if (!cwd) {
        r->into->cwd = xstrdup(r->source->usual_cwd ? r->source->usual_cwd : home);
        return;
    }
    drop_str char *given = expand_param(r, cwd);
    r->into->cwd = *given == '/' || !home ? str_take(&given) : xasprintf("%s/%s", home, given);
}

/* --- a server somewhere else ----------------------------------------------------------------- */

static void read_headers(struct params_reading *r, const struct json *headers)
{
    r->into->headers = xcalloc(json_count(headers) + 1, sizeof *r->into->headers);
    for (const struct json *v = json_first(headers); v; v = json_next(v)) {
        r->into->headers[r->into->n_headers++] = (struct transport_header){
            .name = xstrdup(json_name(v)), .value = expand_param(r, json_text(v))};
    }
}

static int read_http_params(struct params_reading *r, const struct json *params, struct err *e)
{
    const char *url = json_get_text(params, "url"), *type = json_get_text(params, "type");
    r->into->url = expand_param(r, url);
    read_headers(r, json_get(params, "headers"));
    drop_str char *given = type ? expand_param(r, type) : NULL;
    if (r->n_missing > 0)
        return 0; /* that is the better complaint */
    return given ? kind_of_type(given, &r->into->kind, e)
                 : kind_of_url(r->into->url, url, &r->into->kind, e);
}

int params_read(const struct json *params, const struct params_source *source, struct params *ret,
                struct err *e)
{
    struct params into = {.kind = PARAMS_STDIO};
    struct params_reading r = {
        .source = source, .into = &into, .missing = BUF_INIT(PARAMS_TEXT_MAX)};
    int status = 0;
    if (json_get_text(params, "command")) {
        read_argv(&r, params);
        read_env(&r, json_get(params, "env"));
        read_cwd(&r, json_get_text(params, "cwd"));
    } else {
        status = read_http_params(&r, params, e);
    }
    if (status == 0 && r.failed)
        status = err_set(e, r.failed, "server_params: a string over %zu bytes", PARAMS_TEXT_MAX);
    if (status == 0 && r.n_missing > 0)
        status = err_set(e, -EINVAL,
                         "server_params: the variable%s %s %s not set: set %s in the environment "
                         "of ipybox or in .env",
                         r.n_missing > 1 ? "s" : "", buf_text(&r.missing),
                         r.n_missing > 1 ? "are" : "is", r.n_missing > 1 ? "them" : "it");
    buf_done(&r.missing);
    if (status < 0) {
        params_done(&into);
        return status;
    }
    *ret = into;
    return 0;
}

static void free_wiped(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    xfree(text);
}

static void free_texts(char **texts)
{
    for (size_t i = 0; texts && texts[i]; i++)
        free_wiped(texts[i]);
    xfree(texts);
}

void params_done(struct params *params)
{
    free_texts(params->argv);
    free_texts(params->envp);
    xfree(params->cwd);
    free_wiped(params->url);
    for (size_t i = 0; i < params->n_headers; i++) {
        xfree((char *)(uintptr_t)params->headers[i].name);
        free_wiped((char *)(uintptr_t)params->headers[i].value);
    }
    xfree(params->headers);
    for (size_t i = 0; i < params->n_secrets; i++)
        free_wiped(params->secrets[i]);
    xfree(params->secrets);
    *params = (struct params){.kind = PARAMS_STDIO};
}

/* --- for a human, and for comparing ---------------------------------------------------------- */

static void show_word(struct buf *out, const char *word)
{
    bool plain = *word != '\0' && !strpbrk(word, " \t\r\n\"'\\;&|<>()`*?#");
    if (plain) {
        (void)buf_adds(out, word);
        return;
    }
    (void)buf_addc(out, '\'');
    for (const char *c = word; *c != '\0'; c++) {
        if (*c == '\'')
            (void)buf_adds(out, "'\\''");
        else
            (void)buf_addc(out, *c);
    }
    (void)buf_addc(out, '\'');
}

char *params_shown(const struct json *params)
{
    const char *command = json_get_text(params, "command");
    if (!command)
        return xstrdup(json_get_text(params, "url"));
    drop_buf struct buf out = BUF_INIT(PARAMS_TEXT_MAX);
    show_word(&out, command);
    for (const struct json *v = json_first(json_get(params, "args")); v; v = json_next(v)) {
        (void)buf_addc(&out, ' ');
        show_word(&out, json_text(v));
    }
    return out.failed ? xstrdup(command) : buf_take(&out);
}

static bool same_texts(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool params_same(const struct json *a, const struct json *b)
{
    if (json_is_object(a) != json_is_object(b) || json_is_array(a) != json_is_array(b) ||
        json_is_bool(a) != json_is_bool(b) || json_is_null(a) != json_is_null(b) ||
        json_is_number(a) != json_is_number(b))
        return false;
    if (!json_is_object(a) && !json_is_array(a))
        return same_texts(json_text(a), json_text(b)) && json_true(a) == json_true(b) &&
               !(json_number(a) < json_number(b)) && !(json_number(a) > json_number(b));
    if (json_count(a) != json_count(b))
        return false;
    const struct json *vb = json_first(b);
    for (const struct json *va = json_first(a); va; va = json_next(va), vb = json_next(vb)) {
        const struct json *other = json_is_object(a) ? json_get(b, json_name(va)) : vb;
        if (!other || !params_same(va, other))
            return false;
    }
    return true;
}

/* --- scrubbing ------------------------------------------------------------------------------- */

static void scrub_one(struct buf *text, const char *secret, size_t n)
{
    struct buf out = BUF_INIT(text->cap);
    const char *from = buf_text(text), *end = from + text->len;
    for (const char *at; (at = memmem(from, (size_t)(end - from), secret, n)) != NULL;) {
        (void)buf_add(&out, from, (size_t)(at - from));
        (void)buf_adds(&out, "***");
        from = at + n;
    }
    size_t rest = (size_t)(end - from);
    size_t most = n - 1 < rest ? n - 1 : rest;
    size_t start = most; /* of the secret, at the end of the text */
    while (start >= PARAMS_SECRET_MIN && memcmp(end - start, secret, start) != 0)
        start--;
    bool cut = start >= PARAMS_SECRET_MIN;
    (void)buf_add(&out, from, cut ? rest - start : rest);
    if (cut)
        (void)buf_adds(&out, "***");
    buf_done(text);
    *text = out;
}

void params_scrub(const struct params *params, struct buf *text)
{
    for (size_t i = 0; i < params->n_secrets && text->len > 0; i++) {
        const char *secret = params->secrets[i];
        scrub_one(text, secret, strlen(secret));
        drop_buf struct buf written = BUF_INIT(PARAMS_TEXT_MAX * 6 + 2);
        struct jsonw w = JSONW(&written);
        jsonw_text(&w, secret);
        if (!written.failed && written.len != strlen(secret) + 2)
            scrub_one(text, written.data + 1, written.len - 2);
    }
}

void params_scrub_err(const struct params *params, struct err *e)
{
    drop_buf struct buf text = BUF_INIT(sizeof e->msg * 2);
    (void)buf_adds(&text, e->msg);
    params_scrub(params, &text);
    if (params->n_secrets > 0)
        (void)err_set(e, e->code, "%s", text.failed ? "(not shown)" : buf_text(&text));
}
