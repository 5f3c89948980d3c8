/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/launch/surroundings.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"

static size_t count_variables(char *const *envp)
{
    size_t n = 0;
    while (envp && envp[n])
        n++;
    return n;
}

static char **find_variable(char **envp, const char *name)
{
    size_t n = strlen(name);
    for (; envp && *envp; envp++)
        if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
            return envp;
    return NULL;
}

const char *surroundings_get(char *const *envp, const char *name)
{
    char **at = find_variable((char **)(uintptr_t)envp, name);
    return at ? *at + strlen(name) + 1 : NULL;
}

void surroundings_put(char ***envp, const char *name, const char *value)
{
    char *entry = xasprintf("%s=%s", name, value);
    char **at = find_variable(*envp, name);
    if (at) {
        xfree(*at);
        *at = entry;
        return;
    }
    size_t n = count_variables(*envp);
    *envp = xrealloc(*envp, (n + 2) * sizeof **envp);
    (*envp)[n] = entry;
    (*envp)[n + 1] = NULL;
}

static void put_new(char ***envp, const char *name, const char *value)
{
    if (!find_variable(*envp, name))
        surroundings_put(envp, name, value);
}

/* Of uv and npm; npm reads such names in either case. */
static void put_setting(char ***envp, const char *name, const char *value)
{
    drop_str char *other = xstrdup(name);
    for (char *c = other; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    if (!find_variable(*envp, other))
        put_new(envp, name, value);
}

static void drop_variable(char **envp, const char *name)
{
    char **at = find_variable(envp, name);
    if (!at)
        return;
    xfree(*at);
    do
        at[0] = at[1];
    while (*at++);
}

/* --- programs and packages -------------------------------------------------------------------- */

static void put_server_path(char ***envp, const char *folder, const char *user_base)
{
    const char *system = surroundings_get(*envp, "PATH");
    drop_str char *own = folder ? xasprintf(":%s/home/.local/bin", folder) : xstrdup("");
    drop_str char *cells = user_base ? xasprintf(":%s/bin", user_base) : xstrdup("");
    drop_str char *path = xasprintf("%s%s%s", system ? system : "/usr/bin:/bin", own, cells);
    surroundings_put(envp, "PATH", path);
}

static void put_python(char ***envp, const char *folder, const char *user_base)
{
    drop_str char *own = folder ? xasprintf("%s/home/.local", folder) : NULL;
    const char *base = user_base ? user_base : own;
    drop_variable(*envp, "PYTHONNOUSERSITE");
    if (base)
        surroundings_put(envp, "PYTHONUSERBASE", base);
    else
        surroundings_put(envp, "PYTHONNOUSERSITE", "1");
    surroundings_put(envp, "PYTHONSAFEPATH", "1");
}

/* --- its own folder --------------------------------------------------------------------------- */

/* By HOME uv, npm, git and pip find their caches and their settings. */
static void put_folder(char ***envp, const char *folder)
{
    static const char *const nobodys[] = {"GIT_CONFIG_GLOBAL", "NPM_CONFIG_USERCONFIG"};
    drop_str char *home = xasprintf("%s/home", folder);
    drop_str char *tmp = xasprintf("%s/tmp", folder);
    surroundings_put(envp, "HOME", home);
    surroundings_put(envp, "TMPDIR", tmp);
    for (size_t i = 0; i < sizeof nobodys / sizeof *nobodys; i++) {
        const char *value = surroundings_get(*envp, nobodys[i]);
        if (value && strcmp(value, "/dev/null") == 0)
            drop_variable(*envp, nobodys[i]);
    }
}

/* --- loaders ---------------------------------------------------------------------------------- */

/* What .git/config of a repository could make git run. Of keys with a name inside (filter.NAME.*)
 * none can be given here. */
static const char *const git_settings[][2] = {
    {"core.fsmonitor", "false"},
    {"core.hooksPath", "/dev/null"},
    {"core.sshCommand", "ssh"},
    {"core.pager", "cat"},
    {"core.editor", "true"},
    {"sequence.editor", "true"},
    {"core.askPass", ""},
    {"core.alternateRefsCommand", "true"},
    {"protocol.ext.allow", "never"},
    {"credential.helper", ""},
    {"commit.gpgSign", "false"},
    {"tag.gpgSign", "false"},
    {"log.showSignature", "false"},
    {"gpg.program", "gpg"},
};

static void put_git(char ***envp, const char *folder, bool secret)
{
    size_t n = sizeof git_settings / sizeof *git_settings;
    if (find_variable(*envp, "GIT_CONFIG_COUNT"))
        return;
    for (size_t i = 0; i <= n; i++) {
        drop_str char *key = xasprintf("GIT_CONFIG_KEY_%zu", i);
        drop_str char *value = xasprintf("GIT_CONFIG_VALUE_%zu", i);
        drop_str char *own = folder ? xasprintf("%s/*", folder) : xstrdup("");
        surroundings_put(envp, key, i < n ? git_settings[i][0] : "safe.directory");
        surroundings_put(envp, value, i < n ? git_settings[i][1] : own);
    }
    drop_str char *total = xasprintf("%zu", n + 1);
    surroundings_put(envp, "GIT_CONFIG_COUNT", total);
    surroundings_put(envp, "GIT_PROXY_COMMAND", "");
    surroundings_put(envp, "GIT_TERMINAL_PROMPT", "0");
    /* Filters and diff.external of .git/config cannot be switched off. So git takes a repository
     * for somebody else's, and refuses it, unless it is below the server's own folder. */
    if (secret)
        put_new(envp, "GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
}

static void put_loaders(char ***envp, const struct tools_place *place, const char *work)
{
    put_new(envp, "UV_NO_CONFIG", "1");
    if (place->python)
        put_new(envp, "UV_PYTHON", place->python);
    put_setting(envp, "npm_config_update_notifier", "false");
    if (!place->npm_shell || !work)
        return;
    put_setting(envp, "npm_config_script_shell", place->npm_shell);
    surroundings_put(envp, "IPYBOX_SERVER_CWD", work);
}

char **surroundings_new(const char *const *base, const struct tools_place *place,
                        const char *folder, bool secret, const char *work)
{
    char **envp = xcalloc(1, sizeof *envp);
    const char *user_base = secret ? NULL : place->user_base;
    for (size_t i = 0; base && base[i]; i++) {
        drop_str char *name = xstrndup(base[i], strcspn(base[i], "="));
        surroundings_put(&envp, name, base[i] + strlen(name) + (base[i][strlen(name)] == '='));
    }
    put_server_path(&envp, folder, user_base);
    put_python(&envp, folder, user_base);
    if (folder)
        put_folder(&envp, folder);
    put_git(&envp, folder, secret);
    put_loaders(&envp, place, work);
    return envp;
}

char **surroundings_free(char **envp)
{
    for (char **at = envp; at && *at; at++)
        xfree(*at);
    xfree(envp);
    return NULL;
}
