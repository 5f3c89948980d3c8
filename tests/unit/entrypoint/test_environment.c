/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "entrypoint/identity/environment.h"

/* What a workspace may say, and what nobody outside of kernels may hear of it. */
static const char planted[] = "PYTHONPATH=/evil\nPYTHONSTARTUP=/evil\nPYTHONUSERBASE=/evil\n"
                              "PYTHONHOME=/evil\nLD_PRELOAD=/evil\nLD_LIBRARY_PATH=/evil\n"
                              "PATH=/evil\nHOME=/evil\nTMPDIR=/evil\nTZ=/evil\nLC_ALL=/evil\n"
                              "USER=/evil\nIPYBOX_PRELOAD=/evil\nPIP_INDEX_URL=/evil\n"
                              "HTTP_PROXY=/evil\nUV_INDEX=/evil\nnpm_config_prefix=/evil\n"
                              "SSL_CERT_FILE=/evil\nGIT_CONFIG_GLOBAL=/evil\nIPYTHONDIR=/evil\n"
                              "KERNEL_ENV_PYTHONPATH=/evil\nKERNEL_ENV_PLAIN=for kernels\n"
                              "API_KEY=/evil\n";

static const struct environment_config config = {.workspace = "/w",
                                                 .gateway_token = "word",
                                                 .tool_socket = "/run/tools",
                                                 .preload = "/opt/preload.so"};

static void write_dotenv(const char *dir)
{
    drop_str char *path = xasprintf("%s/.env", dir);
    FILE *file = fopen(path, "we");
    TEST_ASSERT(file != NULL);
    TEST_CHECK(fputs(planted, file) >= 0 && fclose(file) == 0);
}

/* The server's environment as an operator gives it, and the workspace's .env. */
static void begin(void)
{
    char dir[] = "/tmp/test-environment-XXXXXX";
    TEST_ASSERT(mkdtemp(dir) != NULL && clearenv() == 0);
    (void)setenv("PATH", "/mine:/usr/bin", 1);
    (void)setenv("HOME", dir, 1);
    (void)setenv("SECRET", "secret", 1);
    (void)setenv("PYTHONPATH", "/operators", 1);
    (void)setenv("LD_LIBRARY_PATH", "/operators", 1);
    (void)setenv("PIP_TIMEOUT", "7", 1);
    (void)setenv("UV_OFFLINE", "1", 1);
    write_dotenv(dir);
    environment_load_dotenv(dir);
    drop_str char *path = xasprintf("%s/.env", dir);
    TEST_CHECK(unlink(path) == 0 && rmdir(dir) == 0);
}

static const char *value(char *const *envp, const char *name)
{
    size_t n = strlen(name);
    for (; *envp; envp++)
        if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
            return *envp + n + 1;
    return NULL;
}

static bool has(char *const *envp, const char *name, const char *want)
{
    const char *got = value(envp, name);
    return got && strcmp(got, want) == 0;
}

static void outside_nothing_of_the_workspace_steers(void)
{
    begin();
    for (int i = 0; i < ENVIRONMENT__COUNT; i++) {
        TEST_CASE_("purpose %d", i);
        char **envp = environment_build(&config, (enum environment_purpose)i, "/base");
        for (char **item = envp; *item; item++) {
            TEST_CHECK_(!strstr(*item, "evil") && !strstr(*item, "for kernels"), "%s", *item);
            TEST_CHECK_(!strstr(*item, "operators") && !strstr(*item, "secret"), "%s", *item);
        }
        TEST_CHECK(has(envp, "PATH", ENVIRONMENT_PATH) && has(envp, "HOME", "/opt/ipybox/home"));
        TEST_CHECK(has(envp, "PYTHONNOUSERSITE", "1") &&
                   has(envp, "GIT_CONFIG_GLOBAL", "/dev/null"));
        TEST_CHECK(value(envp, "PYTHONSAFEPATH") != NULL && !value(envp, "LD_LIBRARY_PATH"));
        TEST_CHECK(has(envp, "IPYTHONDIR", "/opt/ipybox/home/ipython"));
        (void)environment_free(envp);
    }
}

static void each_purpose_has_its_own_and_no_other(void)
{
    static const struct {
        const char *name, *value;
        unsigned of;
    } rows[] = {
        {"PYTHONUSERBASE", "/base", 1 << ENVIRONMENT_PIP | 1 << ENVIRONMENT_TEMPLATE},
        {"LD_PRELOAD", "/opt/preload.so", 1 << ENVIRONMENT_TEMPLATE},
        {"KG_AUTH_TOKEN", "word", 1 << ENVIRONMENT_GATEWAY},
        {"PIP_TIMEOUT", "7", 1 << ENVIRONMENT_PIP | 1 << ENVIRONMENT_SERVER},
        {"PIP_NO_CACHE_DIR", "1", 1 << ENVIRONMENT_PIP},
        {"UV_OFFLINE", "1", 1 << ENVIRONMENT_SERVER},
        {"IPYBOX_TOOL_SOCKET", "/run/tools", 0},
    };
    begin();
    for (int i = 0; i < ENVIRONMENT__COUNT; i++) {
        char **envp = environment_build(&config, (enum environment_purpose)i, "/base");
        for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
            TEST_CASE_("purpose %d, %s", i, rows[row].name);
            if (rows[row].of & 1U << i)
                TEST_CHECK(has(envp, rows[row].name, rows[row].value));
            else
                TEST_CHECK(!value(envp, rows[row].name));
        }
        (void)environment_free(envp);
    }
}

static void kernels_have_theirs_and_it_is_nobody_elses(void)
{
    begin();
    struct environment env = {0};
    struct err e = ERR_NONE;
    (void)setenv("PYTHONUSERBASE", "/base", 1);
    TEST_ASSERT_(environment_make(&config, &env, &e) == 0, "%s", e.msg);
    TEST_CHECK(has(env.kernel, "PATH", "/base/bin:/mine:/usr/bin") ||
               strstr(value(env.kernel, "PATH"), "/base/bin:") == value(env.kernel, "PATH"));
    TEST_CHECK(has(env.kernel, "PYTHONPATH", "/evil")); /* KERNEL_ENV_: behind walls */
    TEST_CHECK(has(env.kernel, "PLAIN", "for kernels") && !value(env.kernel, "SECRET"));
    TEST_CHECK(!value(env.kernel, "API_KEY") && !value(env.kernel, "PIP_INDEX_URL"));
    TEST_CHECK(!value(env.kernel, "PYTHONNOUSERSITE") && !value(env.kernel, "LD_LIBRARY_PATH"));
    TEST_CHECK(has(env.kernel, "IPYBOX_TOOL_SOCKET", "/run/tools"));
    TEST_CHECK(strcmp(environment_lookup("API_KEY"), "/evil") == 0);
    environment_done(&env);
}

/* What the log has to say about .env, of a child: it goes to standard error. */
static void read_log(char *ret, size_t size)
{
    int ends[2];
    TEST_ASSERT(pipe2(ends, O_CLOEXEC) == 0);
    pid_t child = fork();
    if (child == 0) {
        if (dup2(ends[1], STDERR_FILENO) < 0)
            _exit(1);
        begin();
        _exit(0);
    }
    (void)close(ends[1]);
    size_t n = 0;
    for (ssize_t got; (got = read(ends[0], ret + n, size - 1 - n)) > 0;)
        n += (size_t)got;
    ret[n] = '\0';
    (void)close(ends[0]);
    TEST_CHECK(waitpid(child, NULL, 0) == child);
}

static void what_has_no_effect_is_said_once_by_name(void)
{
    char text[4000];
    read_log(text, sizeof text);
    const char *line = strstr(text, "that reach no program");
    TEST_ASSERT_(line != NULL, "%s", text);
    TEST_CHECK(!strstr(line + 1, "that reach no program"));
    TEST_CHECK(strstr(text, "PIP_INDEX_URL, HTTP_PROXY, UV_INDEX, npm_config_prefix") != NULL);
    TEST_CHECK(strstr(line, "-e NAME=VALUE") != NULL && !strstr(text, "/evil"));
    TEST_CHECK(!strstr(text, "KERNEL_ENV_PLAIN") && !strstr(text, "API_KEY"));
    TEST_CHECK(!strstr(text, ", PATH")); /* the environment has it, and wins */
}

TEST_LIST = {
    {"outside_nothing_of_the_workspace_steers", outside_nothing_of_the_workspace_steers},
    {"each_purpose_has_its_own_and_no_other", each_purpose_has_its_own_and_no_other},
    {"kernels_have_theirs_and_it_is_nobody_elses", kernels_have_theirs_and_it_is_nobody_elses},
    {"what_has_no_effect_is_said_once_by_name", what_has_no_effect_is_said_once_by_name},
    {NULL, NULL},
};
