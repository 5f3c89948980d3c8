/* SPDX-License-Identifier: Apache-2.0 */
#include "session/commands/command_words.h"

#include <string.h>

#include "base/alloc.h"

static bool has_nul(const char *text)
{
    return strstr(text, "\xC0\x80") != NULL; /* as json.h has it */
}

static int check_words(const struct command_spec *spec, struct err *e)
{
    if (!spec->program || !*spec->program || has_nul(spec->program))
        return err_set(e, -EINVAL, "cmd: the name of a program is needed");
    if (spec->args && (!json_is_array(spec->args) || json_count(spec->args) > COMMANDS_WORDS_MAX))
        return err_set(e, -EINVAL, "args: an array of at most %d texts is needed",
                       COMMANDS_WORDS_MAX);
    for (const struct json *arg = json_first(spec->args); arg; arg = json_next(arg))
        if (!json_text(arg) || has_nul(json_text(arg)))
            return err_set(e, -EINVAL, "args: a text without NUL is needed");
    if (spec->envs && (!json_is_object(spec->envs) || json_count(spec->envs) > COMMANDS_WORDS_MAX))
        return err_set(e, -EINVAL, "envs: an object of at most %d texts is needed",
                       COMMANDS_WORDS_MAX);
    for (const struct json *item = json_first(spec->envs); item; item = json_next(item)) {
        const char *name = json_name(item), *text = json_text(item);
        if (!text || !*name || strchr(name, '=') || has_nul(name) || has_nul(text))
            return err_set(e, -EINVAL, "envs.%.80s: a text without NUL is needed", name);
    }
    return 0;
}

/* In the place of the variable that has its name. */
static void set_variable(struct command_words *words, size_t *n, char *text, size_t *made)
{
    size_t name = strcspn(text, "=") + 1, at = 0;
    words->made[(*made)++] = text;
    while (at < *n && strncmp(words->envp[at], text, name) != 0)
        at++;
    words->envp[at] = text;
    *n += at == *n;
}

static void set_all(struct command_words *words, size_t *n, const struct json *env, size_t *made)
{
    for (const struct json *item = json_first(env); item; item = json_next(item))
        set_variable(words, n, xasprintf("%s=%s", json_name(item), json_text(item)), made);
}

static void make_env(struct command_words *words, const char *const *base,
                     const struct json *session_env, const struct json *envs)
{
    size_t n = 0, made = 0, more = json_count(session_env) + json_count(envs);
    while (base[n])
        n++;
    words->envp = xcalloc(n + more + 1, sizeof *words->envp);
    words->made = xcalloc(more + 1, sizeof *words->made);
    memcpy(words->envp, base, n * sizeof *base);
    set_all(words, &n, session_env, &made);
    set_all(words, &n, envs, &made);
}

int command_words_make(const struct command_spec *spec, const char *const *base,
                       const struct json *session_env, struct command_words *ret, struct err *e)
{
    int r = check_words(spec, e);
    if (r < 0)
        return r;
    size_t n = 0;
    ret->argv = xcalloc(json_count(spec->args) + 2, sizeof *ret->argv);
    ret->argv[n++] = spec->program;
    for (const struct json *arg = json_first(spec->args); arg; arg = json_next(arg))
        ret->argv[n++] = json_text(arg);
    make_env(ret, base, session_env, spec->envs);
    return 0;
}

void command_words_done(struct command_words *words)
{
    for (size_t i = 0; words->made && words->made[i]; i++)
        xfree(words->made[i]);
    xfree(words->made);
    xfree(words->argv);
    xfree(words->envp);
    *words = (struct command_words){0};
}
