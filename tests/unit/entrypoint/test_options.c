/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "entrypoint/options.h"

static int parse(enum role role, const char *const *words, struct options *ret, struct err *e)
{
    char *argv[16] = {NULL};
    int argc = 0;
    for (; words[argc]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc];
    return options_parse(role, argc, argv, ret, e);
}

/* Whoever runs the tests may have settings of the program in the environment. */
__attribute__((constructor)) static void forget_environment(void)
{
    size_t n;
    const struct options_row *rows = options_rows(&n);
    for (size_t i = 0; i < n; i++)
        if (rows[i].env)
            (void)unsetenv(rows[i].env);
}

#define PARSE(o, e, ...) parse(ROLE_SERVER, (const char *const[]){__VA_ARGS__, NULL}, (o), (e))

static void without_words_the_defaults_hold(void)
{
    struct options o;
    struct err e = ERR_NONE;
    TEST_ASSERT_(options_parse(ROLE_SERVER, 0, NULL, &o, &e) == 0, "%s", e.msg);
    TEST_CHECK(o.want == OPTIONS_RUN);
    TEST_CHECK(strcmp(o.workspace, ".") == 0);
    TEST_CHECK(strcmp(o.tool_server_host, "localhost") == 0 && o.tool_server_port == 0);
    TEST_CHECK(strcmp(o.kernel_gateway_host, "localhost") == 0 && o.kernel_gateway_port == 0);
    TEST_CHECK(o.kernel_gateway_token == NULL && o.sandbox_config == NULL && o.ca == NULL);
    TEST_CHECK(!o.sandbox && o.log_level == LOG_INFO && o.log_format == OPTIONS_LOG_TEXT);
    TEST_CHECK(o.stop_grace == 8 && o.interrupt_grace == 5 && o.kernel_start_timeout == 60);
    TEST_CHECK(o.output_file_limit == (uint64_t)4 << 30);
    TEST_CHECK(strcmp(o.python, "python3") == 0);
    TEST_CHECK(o.spare_kernels == 1 && !o.no_kernel_template);
}

static void every_default_is_a_value_that_the_option_takes(void)
{
    size_t n;
    const struct options_row *rows = options_rows(&n);
    for (size_t i = 0; i < n; i++) {
        char word[128];
        struct options o;
        struct err e = ERR_NONE;
        TEST_CASE(rows[i].name);
        if (!rows[i].fallback)
            continue;
        (void)snprintf(word, sizeof word, "--%s=%s", rows[i].name, rows[i].fallback);
        enum role role = rows[i].flags & OPTION_APIGEN    ? ROLE_APIGEN
                         : rows[i].flags & OPTION_OF_EXEC ? ROLE_EXEC
                                                          : ROLE_SERVER;
        TEST_CHECK_(parse(role, (const char *const[]){word, NULL}, &o, &e) == 0, "%s", e.msg);
    }
}

static void every_variable_is_named_after_its_option(void)
{
    size_t n;
    const struct options_row *rows = options_rows(&n);
    for (size_t i = 0; i < n; i++) {
        char env[128] = "IPYBOX_";
        size_t at = strlen(env);
        for (const char *p = rows[i].name; *p; p++)
            env[at++] = *p == '-' ? '_' : *p < 'a' ? *p : (char)(*p - 'a' + 'A');
        env[at] = '\0';
        if (rows[i].flags & OPTION_OF_COMMANDS)
            TEST_CHECK_(!rows[i].env, "%s", rows[i].name);
        else
            TEST_CHECK_(strcmp(env, rows[i].env) == 0, "%s: %s", rows[i].name, rows[i].env);
        TEST_CHECK_((rows[i].word == NULL) == (rows[i].kind == OPTION_FLAG), "%s", rows[i].name);
    }
}

static void what_belongs_to_apigen_is_unknown_to_the_server(void)
{
    struct options o;
    struct err e = ERR_NONE;
    TEST_CHECK(PARSE(&o, &e, "--server-name", "x") == -EINVAL);
    TEST_CHECK_(strstr(e.msg, "unknown option --server-name") != NULL, "%s", e.msg);
    const char *const words[] = {
        "--server-name", "git", "--server-params", "{}", "--workspace", "/w", NULL};
    TEST_ASSERT(parse(ROLE_APIGEN, words, &o, &e) == 0);
    TEST_CHECK(strcmp(o.server_name, "git") == 0 && strcmp(o.root_dir, "mcptools") == 0);
    TEST_CHECK(strcmp(o.workspace, "/w") == 0 && !o.tools_file);
}

#define PARSE_AS(role, o, e, ...) parse(role, (const char *const[]){__VA_ARGS__, NULL}, (o), (e))

static void commands_have_options_and_words_of_their_own(void)
{
    struct options o;
    struct err e = ERR_NONE;
    TEST_ASSERT(PARSE_AS(ROLE_EXEC, &o, &e, "1+1", "--session", "s", "--timeout=5") == 0);
    TEST_CHECK(o.n_words == 1 && strcmp(o.words[0], "1+1") == 0);
    TEST_CHECK(strcmp(o.session, "s") == 0 && o.cell_timeout == 5);
    TEST_ASSERT(PARSE_AS(ROLE_EXEC, &o, &e, "-") == 0);
    TEST_CHECK(o.n_words == 1 && strcmp(o.words[0], "-") == 0 && o.cell_timeout == 0);
    TEST_CHECK(strcmp(o.session, "default") == 0);
    TEST_ASSERT(PARSE_AS(ROLE_EXEC, &o, &e, "--", "--help") == 0);
    TEST_CHECK(o.want == OPTIONS_RUN && strcmp(o.words[0], "--help") == 0);
    TEST_CHECK(PARSE_AS(ROLE_EXEC, &o, &e, "a", "b") == -EINVAL);
    TEST_CHECK(PARSE_AS(ROLE_EXEC, &o, &e, "--follow", "1") == -EINVAL);
    TEST_CHECK(PARSE_AS(ROLE_EXEC, &o, &e, "--workspace=/", "1") == -EINVAL);
    TEST_ASSERT(PARSE_AS(ROLE_APPROVE, &o, &e, "id", "yes", "--remember", "60") == 0);
    TEST_CHECK(o.n_words == 2 && o.remember == 60 && o.remember_calls == 0);
    TEST_ASSERT(PARSE_AS(ROLE_APPROVE, &o, &e, "id", "a=b", "c=d", "--answer", "-") == 0);
    TEST_CHECK(o.n_words == 3 && strcmp(o.words[2], "c=d") == 0 && strcmp(o.answer, "-") == 0);
    TEST_CHECK(PARSE_AS(ROLE_EXEC, &o, &e, "1", "--answer={}") == -EINVAL);
    TEST_CHECK(PARSE_AS(ROLE_APPROVE, &o, &e, "id", "yes", "--token=x") == -EINVAL);
    TEST_CHECK(PARSE_AS(ROLE_SESSIONS, &o, &e, "x") == -EINVAL);
    TEST_ASSERT(PARSE_AS(ROLE_POLICY, &o, &e, "--session=s", "--reset", "-") == 0);
    TEST_CHECK(o.reset && o.n_words == 1 && strcmp(o.words[0], "-") == 0);
    TEST_CHECK(PARSE_AS(ROLE_POLICY, &o, &e, "a", "b") == -EINVAL);
    TEST_CHECK(PARSE_AS(ROLE_LOGS, &o, &e, "--follow", "--json") == 0 && o.follow && o.json);
    TEST_CHECK(PARSE_AS(ROLE_SERVER, &o, &e, "--session", "s") == -EINVAL);
    (void)setenv("IPYBOX_STOP_GRACE", "soon", 1); /* the server's affair */
    TEST_CHECK(PARSE_AS(ROLE_LOGS, &o, &e, "--json") == 0);
    TEST_CHECK(PARSE_AS(ROLE_SERVER, &o, &e, "--sandbox=0") == -EINVAL);
}

static void contradictions_are_refused(void)
{
    struct options o;
    struct err e = ERR_NONE;
    TEST_CHECK(PARSE(&o, &e, "--require-shell-escape") == -EINVAL);
    TEST_CHECK(PARSE(&o, &e, "--require-shell-escape", "--approve-shell-cmds") == 0);
    TEST_CHECK(PARSE(&o, &e, "--tool-server-token=a", "--approver-token=a") == -EINVAL);
    TEST_CHECK_(strstr(e.msg, "are the same") != NULL, "%s", e.msg);
    TEST_CHECK(PARSE(&o, &e, "--agent-sandbox", "--agent-sandbox-port=0") == -EINVAL);
    TEST_CHECK_(strstr(e.msg, "are all off") != NULL, "%s", e.msg);
    TEST_CHECK(PARSE(&o, &e, "--agent-sandbox", "--agent-sandbox-rest-port=8888") == -EINVAL);
    TEST_CHECK_(strstr(e.msg, "both are 8888") != NULL, "%s", e.msg);
    TEST_CHECK(PARSE(&o, &e, "--agent-sandbox", "--kernel-gateway-port=9090",
                     "--agent-sandbox-grpc-port=9090") == -EINVAL);
    TEST_CHECK(PARSE(&o, &e, "--agent-sandbox", "--kernel-gateway-port=8888") == 0);
    TEST_CHECK(PARSE(&o, &e, "--agent-sandbox", "--agent-sandbox-port=0",
                     "--agent-sandbox-grpc-port=9090") == 0);
    TEST_CHECK(PARSE(&o, &e, "--librechat") == -EINVAL);
    TEST_CHECK_(strstr(e.msg, "--librechat needs --http") != NULL, "%s", e.msg);
    TEST_CHECK(PARSE(&o, &e, "--librechat", "--http=1", "--execute-token=a") == -EINVAL);
    TEST_CHECK_(strstr(e.msg, "--librechat needs IPYBOX_TOKEN") != NULL, "%s", e.msg);
    TEST_CHECK(PARSE(&o, &e, "--tool-server-token=a", "--approver-token=b") == 0);
}

static void values_come_behind_a_space_or_an_equals_sign(void)
{
    struct options o;
    TEST_ASSERT(PARSE(&o, NULL, "--workspace", "/a", "--python=/b=c", "--ca", "/ca.pem",
                      "--kernel-gateway-host=0.0.0.0", "--kernel-gateway-port", "8888",
                      "--kernel-gateway-token", "-secret", "--log-level=debug", "--log-format",
                      "JSON") == 0);
    TEST_CHECK(strcmp(o.workspace, "/a") == 0 && strcmp(o.python, "/b=c") == 0);
    TEST_CHECK(strcmp(o.ca, "/ca.pem") == 0);
    TEST_CHECK(strcmp(o.kernel_gateway_host, "0.0.0.0") == 0 && o.kernel_gateway_port == 8888);
    TEST_CHECK(strcmp(o.kernel_gateway_token, "-secret") == 0);
    TEST_CHECK(o.log_level == LOG_DEBUG && o.log_format == OPTIONS_LOG_JSON);
    TEST_ASSERT(PARSE(&o, NULL, "--stop-grace", "0", "--stop-grace=30", "--interrupt-grace", "1",
                      "--kernel-start-timeout=86400") == 0);
    TEST_CHECK(o.stop_grace == 30 && o.interrupt_grace == 1 && o.kernel_start_timeout == 86400);
}

static void a_flag_wins_over_the_environment_and_that_over_the_default(void)
{
    struct options o;
    (void)setenv("IPYBOX_WORKSPACE", "/env", 1);
    (void)setenv("IPYBOX_PYTHON", "/env/python", 1);
    (void)setenv("IPYBOX_LOG_LEVEL", "", 1); /* as compose files leave it: unset */
    TEST_ASSERT(PARSE(&o, NULL, "--workspace", "/flag") == 0);
    TEST_CHECK(strcmp(o.workspace, "/flag") == 0);
    TEST_CHECK(strcmp(o.python, "/env/python") == 0);
    TEST_CHECK(o.log_level == LOG_INFO);
}

static const struct {
    const char *text;
    uint64_t bytes;
} sizes[] = {
    {"0", 0},
    {"1", 1},
    {"10K", 10 << 10},
    {"10k", 10 << 10},
    {"3M", 3 << 20},
    {"3m", 3 << 20},
    {"2G", (uint64_t)2 << 30},
    {"2g", (uint64_t)2 << 30},
    {"007", 7},
    {"9223372036854775807", INT64_MAX},
};

static void sizes_take_a_unit(void)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct options o;
        struct err e = ERR_NONE;
        TEST_CASE(sizes[i].text);
        TEST_CHECK_(PARSE(&o, &e, "--output-file-limit", sizes[i].text) == 0, "%s", e.msg);
        TEST_CHECK(o.output_file_limit == sizes[i].bytes);
    }
}

static const struct {
    const char *words[3], *message;
} refused[] = {
    {{"--workspce", "/x"}, "unknown option --workspce (did you mean --workspace?)"},
    {{"--workspce=/x"}, "unknown option --workspce (did you mean --workspace?)"},
    {{"--kernel-gateway"}, "unknown option --kernel-gateway (did you mean --kernel-gateway-host?)"},
    {{"--vesion"}, "unknown option --vesion (did you mean --version?)"},
    {{"--zzzzzzzz"}, "unknown option --zzzzzzzz (see ipybox --help)"},
    {{"-x"}, "unknown option -x (see ipybox --help)"},
    {{"--"}, "unknown option -- (see ipybox --help)"},
    {{"--=x"}, "unknown option -- (see ipybox --help)"},
    {{"word"}, "unexpected word 'word' (see ipybox --help)"},
    {{"-"}, "unexpected word '-' (see ipybox --help)"},
    {{""}, "unexpected word '' (see ipybox --help)"},
    {{"--workspace"}, "--workspace: a value is needed (PATH)"},
    {{"--workspace", "--python=x"}, "--workspace: a value is needed (PATH)"},
    {{"--workspace="}, "--workspace: a value is needed"},
    {{"--workspace", ""}, "--workspace: a value is needed"},
    {{"--kernel-gateway-token="}, "--kernel-gateway-token: a value is needed"},
    {{"--kernel-gateway-port", "65536"},
     "--kernel-gateway-port: a port, 0 to 65535, is needed, not '65536'"},
    {{"--kernel-gateway-port", "-1"},
     "--kernel-gateway-port: a port, 0 to 65535, is needed, not '-1'"},
    {{"--kernel-gateway-port", " 1"},
     "--kernel-gateway-port: a port, 0 to 65535, is needed, not ' 1'"},
    {{"--kernel-gateway-port", "80x"},
     "--kernel-gateway-port: a port, 0 to 65535, is needed, not '80x'"},
    {{"--kernel-gateway-port", "99999999999999999999999"},
     "--kernel-gateway-port: a port, 0 to 65535, is needed, not '99999999999999999999999'"},
    {{"--stop-grace", "1.5"}, "--stop-grace: seconds, 0 to 86400, are needed, not '1.5'"},
    {{"--kernel-start-timeout=0"},
     "--kernel-start-timeout: seconds, 1 to 86400, are needed, not '0'"},
    {{"--output-file-limit", "4T"},
     "--output-file-limit: a number of bytes, with K, M or G, is needed, not '4T'"},
    {{"--output-file-limit", "4GB"},
     "--output-file-limit: a number of bytes, with K, M or G, is needed, not '4GB'"},
    {{"--output-file-limit", "9999999999999G"},
     "--output-file-limit: a number of bytes, with K, M or G, is needed, not '9999999999999G'"},
    {{"--log-level", "loud"},
     "--log-level: DEBUG, INFO, WARNING, ERROR or CRITICAL is needed, not 'loud'"},
    {{"--log-format", "xml"}, "--log-format: text or json is needed, not 'xml'"},
    {{"--sandbox=maybe"},
     "--sandbox: 1, true, yes, on, 0, false, no or off is needed, not 'maybe'"},
};

static void unknown_and_bad_words_are_refused_by_name(void)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct options o = {.stop_grace = -7};
        struct err e = ERR_NONE;
        TEST_CASE(refused[i].message);
        TEST_CHECK(parse(ROLE_SERVER, refused[i].words, &o, &e) == -EINVAL);
        TEST_CHECK_(strcmp(e.msg, refused[i].message) == 0, "%s", e.msg);
        TEST_CHECK(o.stop_grace == -7);
    }
}

static void a_bad_variable_is_refused_by_name(void)
{
    struct options o;
    struct err e = ERR_NONE;
    (void)setenv("IPYBOX_STOP_GRACE", "soon", 1);
    TEST_CHECK(options_parse(ROLE_SERVER, 0, NULL, &o, &e) == -EINVAL);
    TEST_CHECK_(strncmp(e.msg, "IPYBOX_STOP_GRACE: seconds", 26) == 0, "%s", e.msg);
}

static void the_sandbox_is_full_where_it_is_asked_for(void)
{
    struct options o;
    struct err e = ERR_NONE;
    TEST_CHECK(PARSE(&o, &e, "--log-level", "INFO") == 0 && strcmp(o.sandbox_min, "none") == 0);
    TEST_CHECK(PARSE(&o, &e, "--sandbox") == 0 && strcmp(o.sandbox_min, "full") == 0);
    TEST_CHECK(PARSE(&o, &e, "--sandbox", "--sandbox-min", "landlock") == 0 &&
               strcmp(o.sandbox_min, "landlock") == 0);
    TEST_CHECK(PARSE(&o, &e, "--sandbox-min", "some") == -EINVAL);
    TEST_CHECK_(strcmp(e.msg, "--sandbox-min: full, landlock or none is needed, not 'some'") == 0,
                "%s", e.msg);
    TEST_CHECK(PARSE(&o, &e, "--sandbox-config", "x") == 0 && !o.sandbox);
    (void)setenv("IPYBOX_SANDBOX", "off", 1);
    TEST_CHECK(options_parse(ROLE_SERVER, 0, NULL, &o, &e) == 0 && !o.sandbox);
    (void)setenv("IPYBOX_SANDBOX", "Yes", 1);
    TEST_CHECK(options_parse(ROLE_SERVER, 0, NULL, &o, &e) == 0 && o.sandbox);
}

static void help_and_version_win_over_bad_words(void)
{
    struct options o;
    TEST_CHECK(PARSE(&o, NULL, "--nonsense", "--help") == 0 && o.want == OPTIONS_HELP);
    TEST_CHECK(PARSE(&o, NULL, "-h") == 0 && o.want == OPTIONS_HELP);
    TEST_CHECK(PARSE(&o, NULL, "--version") == 0 && o.want == OPTIONS_VERSION);
    TEST_CHECK(PARSE(&o, NULL, "-V") == 0 && o.want == OPTIONS_VERSION);
    TEST_CHECK(strncmp(options_version(), "ipybox 0.", 9) == 0);
}

static const struct {
    const char *words[4];
    int result;
    enum role role;
    int skip;
} roles[] = {
    {{"ipybox"}, 0, ROLE_SERVER, 1},
    {{"ipybox", "--workspace", "x"}, 0, ROLE_SERVER, 1},
    {{"ipybox", "server", "--sandbox"}, 0, ROLE_SERVER, 2},
    {{"ipybox", "serve", "--http=1"}, 0, ROLE_SERVE, 2},
    {{"ipybox", "serve-all"}, 0, ROLE_SERVE_ALL, 2},
    {{"ipybox", "init"}, 0, ROLE_INIT, 2},
    {{"ipybox", "shim", "3", "--"}, 0, ROLE_SHIM, 2},
    {{"ipybox", "health"}, 0, ROLE_HEALTH, 2},
    {{"ipybox", "man"}, 0, ROLE_MAN, 2},
    {{"ipybox", "help"}, 0, ROLE_HELP, 2},
    {{"ipybox", "version"}, 0, ROLE_VERSION, 2},
    {{"ipybox", "bash"}, -EINVAL, ROLE_SERVER, 0},
    {{"ipybox", ""}, -EINVAL, ROLE_SERVER, 0},
};

static void the_first_word_chooses_the_role(void)
{
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        char *argv[5] = {NULL};
        int argc = 0, skip = 0;
        for (; argc < 4 && roles[i].words[argc]; argc++)
            argv[argc] = (char *)(uintptr_t)roles[i].words[argc];
        enum role role = ROLE_SERVER;
        struct err e = ERR_NONE;
        TEST_CASE(argc > 1 ? argv[1] : "none");
        TEST_CHECK(options_role(argc, argv, &role, &skip, &e) == roles[i].result);
        TEST_CHECK(role == roles[i].role && skip == roles[i].skip);
    }
    char program[] = "ipybox", word[] = "helth";
    char *argv[] = {program, word};
    enum role role;
    int skip;
    struct err e = ERR_NONE;
    TEST_CHECK(options_role(2, argv, &role, &skip, &e) == -EINVAL);
    TEST_CHECK_(strstr(e.msg, "did you mean 'health'?") != NULL, "%s", e.msg);
}

static void the_secrets_are_those_of_the_table(void)
{
    static const char *const secrets[] = {"IPYBOX_TOOL_SERVER_TOKEN", "IPYBOX_APPROVER_TOKEN",
                                          "IPYBOX_TOKEN", "IPYBOX_EXECUTE_TOKEN",
                                          "IPYBOX_KERNEL_GATEWAY_TOKEN"};
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
        TEST_CHECK(strcmp(options_secret(i), secrets[i]) == 0);
    TEST_CHECK(options_secret(sizeof secrets / sizeof *secrets) == NULL);
}

static void an_address_is_a_port_behind_a_host_or_alone(void)
{
    static const struct {
        const char *text, *host;
        int port;
    } good[] = {{"8080", "", 8080},
                {"localhost:0", "localhost", 0},
                {"[::1]:80", "::1", 80},
                {"0.0.0.0:65535", "0.0.0.0", 65535},
                {"a.example:1", "a.example", 1}};
    static const char *const bad[] = {
        "", ":", ":80", "a", "a:", "a:65536", "::1:80", "[]:80", "a:b:1"};
    char host[OPTIONS_HOST_MAX + 1];
    int port = -1;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        TEST_CASE(good[i].text);
        TEST_CHECK(options_address(good[i].text, host, &port));
        TEST_CHECK(strcmp(host, good[i].host) == 0 && port == good[i].port);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        TEST_CHECK_(!options_address(bad[i], host, &port), "%s", bad[i]);
}

static void serve_has_a_port_and_tokens_differ(void)
{
    struct options o;
    struct err e = ERR_NONE;
    TEST_CHECK(PARSE(&o, &e, "--stop-grace=1") == 0 && !o.serve && !o.http);
    TEST_CHECK(parse(ROLE_SERVE, (const char *const[]){NULL}, &o, &e) == 0);
    TEST_CHECK(o.serve && strcmp(o.http, "8080") == 0 && o.max_sessions == 100);
    TEST_CHECK(parse(ROLE_SERVE, (const char *const[]){"--http=1", NULL}, &o, &e) == 0);
    TEST_CHECK(strcmp(o.http, "1") == 0);
    TEST_CHECK(PARSE(&o, &e, "--token=a", "--execute-token=a") == -EINVAL);
    TEST_CHECK(PARSE(&o, &e, "--execute-token=a", "--approver-token=a") == -EINVAL);
    TEST_CHECK(PARSE(&o, &e, "--token=a", "--execute-token=b") == 0);
    TEST_CHECK(PARSE(&o, &e, "--max-sessions=0") == -EINVAL);
    TEST_CHECK(PARSE(&o, &e, "--max-sessions=1001") == -EINVAL);
}

static void a_variable_that_is_almost_one_of_ours_is_refused(void)
{
    static const char *const cases[][2] = {
        {"IPYBOX_LOGLEVEL", "IPYBOX_LOG_LEVEL"},
        {"IPYBOX_TOKN", "IPYBOX_TOKEN"},
        {"IPYBOX_TOKEN_FIL", "IPYBOX_TOKEN_FILE"},
        {"IPYBOX_TOKN_FILE", "IPYBOX_TOKEN_FILE"},
        {"IPYBOX_DEFAULT_UIDS", "IPYBOX_DEFAULT_UID"},
        {"IPYBOX_KERNEL_GATEWAYPORT", "IPYBOX_KERNEL_GATEWAY_PORT"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char message[200];
        struct options o;
        struct err e = ERR_NONE;
        (void)snprintf(message, sizeof message, "unknown variable %s (did you mean %s?)",
                       cases[i][0], cases[i][1]);
        (void)setenv(cases[i][0], "1", 1);
        TEST_CHECK(PARSE(&o, &e, "--stop-grace=1") == -EINVAL);
        TEST_CHECK_(strcmp(e.msg, message) == 0, "%s", e.msg);
        TEST_CHECK(parse(ROLE_SESSIONS, (const char *const[]){NULL}, &o, &e) == 0);
        (void)unsetenv(cases[i][0]);
    }
}

/* Of Kubernetes, of Docker's links, of what this program passes on to itself, and of others. */
static void other_variables_are_let_through(void)
{
    static const char *const names[] = {"IPYBOX_PORT",
                                        "IPYBOX_PORT_8080_TCP",
                                        "IPYBOX_PORT_8080_TCP_ADDR",
                                        "IPYBOX_PORT_8080_TCP_PORT",
                                        "IPYBOX_PORT_8080_TCP_PROTO",
                                        "IPYBOX_SERVICE_HOST",
                                        "IPYBOX_SERVICE_PORT",
                                        "IPYBOX_SERVICE_PORT_HTTP",
                                        "IPYBOX_MCP_PORT",
                                        "IPYBOX_MCP_SERVICE_HOST",
                                        "IPYBOX_TOKEN_FILE",
                                        "IPYBOX_RUNTIME_DIR",
                                        "IPYBOX_API_SOCKET",
                                        "IPYBOX_GATEWAY_IDLE",
                                        "IPYBOX_GATEWAY_INSTANCE",
                                        "IPYBOX_GATEWAY_MAX_KERNELS",
                                        "IPYBOX_IDENTITY",
                                        "IPYBOX_LISTENERS",
                                        "IPYBOX_NAME",
                                        "IPYBOX_NATIVE",
                                        "IPYBOX_RESTORE_CWD",
                                        "IPYBOX_SECRET_FILES",
                                        "IPYBOX_SERVER_CWD",
                                        "IPYBOX_TOOL_SERVER",
                                        "IPYBOX_TOOL_SOCKET",
                                        "IPYBOX_TOOL_TOKEN",
                                        "IPYBOX_TEST_IMAGE",
                                        "IPYBOX_",
                                        "IPYBOX_ANYTHING_ELSE",
                                        "IPYBOX"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct options o;
        struct err e = ERR_NONE;
        (void)setenv(names[i], strstr(names[i], "PORT") ? "tcp://192.0.2.1:80" : "x", 1);
        TEST_CHECK_(PARSE(&o, &e, "--stop-grace=1") == 0, "%s: %s", names[i], e.msg);
        (void)unsetenv(names[i]);
    }
}

static void every_command_has_a_help_of_one_screen(void)
{
    size_t n, rows_n;
    const struct options_command *commands = options_commands(&n);
    const struct options_row *rows = options_rows(&rows_n);
    for (size_t i = 0; i < n; i++) {
        drop_buf struct buf out = BUF_INIT(OPTIONS_TEXT_MAX);
        int lines = 0;
        TEST_CASE(commands[i].word);
        if (commands[i].role == ROLE_SERVER)
            continue;
        options_help_of(commands[i].role, &out);
        for (const char *at = buf_text(&out); (at = strchr(at, '\n')) != NULL; at++)
            lines++;
        TEST_CHECK_(lines >= 3 && lines <= 30, "%d lines", lines);
        TEST_CHECK(strstr(buf_text(&out), commands[i].word) != NULL);
        for (size_t r = 0; r < rows_n; r++)
            if (rows[r].flags & options_own(commands[i].role))
                TEST_CHECK_(strstr(buf_text(&out), rows[r].name) != NULL, "%s", rows[r].name);
    }
}

static void every_shell_is_told_every_command_and_option(void)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};
    size_t n, rows_n;
    struct err e = ERR_NONE;
    const struct options_command *commands = options_commands(&n);
    const struct options_row *rows = options_rows(&rows_n);
    drop_buf struct buf none = BUF_INIT(OPTIONS_SCRIPT_MAX);
    for (size_t s = 0; s < sizeof shells / sizeof *shells; s++) {
        drop_buf struct buf out = BUF_INIT(OPTIONS_SCRIPT_MAX);
        TEST_CASE(shells[s]);
        TEST_CHECK(options_completions(shells[s], &out, &e) == 0);
        for (size_t i = 0; i < n; i++)
            TEST_CHECK_(commands[i].hidden || strstr(buf_text(&out), commands[i].word), "%s",
                        commands[i].word);
        for (size_t i = 0; i < rows_n; i++)
            TEST_CHECK_(strstr(buf_text(&out), rows[i].name) != NULL, "%s", rows[i].name);
    }
    TEST_CHECK(options_completions("csh", &none, &e) == -EINVAL && none.len == 0);
}

static void every_text_names_every_option(void)
{
    void (*const makers[])(struct buf *) = {options_help, options_man, options_markdown};
    size_t n;
    const struct options_row *rows = options_rows(&n);
    for (size_t m = 0; m < sizeof makers / sizeof *makers; m++) {
        drop_buf struct buf out = BUF_INIT(OPTIONS_TEXT_MAX);
        makers[m](&out);
        TEST_ASSERT(out.failed == 0);
        for (size_t i = 0; i < n; i++) {
            char name[128];
            size_t at = 0;
            for (const char *p = rows[i].name; *p; p++) {
                if (makers[m] == options_man && *p == '-')
                    name[at++] = '\\';
                name[at++] = *p;
            }
            name[at] = '\0';
            TEST_CHECK_(strstr(buf_text(&out), name) != NULL, "text %zu lacks %s", m, name);
        }
    }
}

static void the_help_fits_eighty_columns(void)
{
    drop_buf struct buf out = BUF_INIT(OPTIONS_TEXT_MAX);
    options_help(&out);
    for (const char *line = buf_text(&out); *line;) {
        size_t n = strcspn(line, "\n");
        TEST_CHECK_(n <= 80, "%zu columns: %.*s", n, (int)n, line);
        TEST_CHECK_(n == 0 || line[n - 1] != ' ', "space at the end: %.*s", (int)n, line);
        line += n + (line[n] == '\n');
    }
    TEST_CHECK(strstr(buf_text(&out), "docker run -i --rm -v") != NULL);
    TEST_CHECK(strstr(buf_text(&out), "mcpServers") != NULL);
    TEST_CHECK(strstr(buf_text(&out), "  shim") == NULL);
}

TEST_LIST = {
    {"a variable that is almost one of ours is refused",
     a_variable_that_is_almost_one_of_ours_is_refused},
    {"other variables are let through", other_variables_are_let_through},
    {"every command has a help of one screen", every_command_has_a_help_of_one_screen},
    {"every shell is told every command and option", every_shell_is_told_every_command_and_option},
    {"without_words_the_defaults_hold", without_words_the_defaults_hold},
    {"every_default_is_a_value_that_the_option_takes",
     every_default_is_a_value_that_the_option_takes},
    {"every_variable_is_named_after_its_option", every_variable_is_named_after_its_option},
    {"what_belongs_to_apigen_is_unknown_to_the_server",
     what_belongs_to_apigen_is_unknown_to_the_server},
    {"commands_have_options_and_words_of_their_own", commands_have_options_and_words_of_their_own},
    {"contradictions_are_refused", contradictions_are_refused},
    {"values_come_behind_a_space_or_an_equals_sign", values_come_behind_a_space_or_an_equals_sign},
    {"a_flag_wins_over_the_environment_and_that_over_the_default",
     a_flag_wins_over_the_environment_and_that_over_the_default},
    {"sizes_take_a_unit", sizes_take_a_unit},
    {"unknown_and_bad_words_are_refused_by_name", unknown_and_bad_words_are_refused_by_name},
    {"a_bad_variable_is_refused_by_name", a_bad_variable_is_refused_by_name},
    {"the_sandbox_is_full_where_it_is_asked_for", the_sandbox_is_full_where_it_is_asked_for},
    {"help_and_version_win_over_bad_words", help_and_version_win_over_bad_words},
    {"the_first_word_chooses_the_role", the_first_word_chooses_the_role},
    {"the_secrets_are_those_of_the_table", the_secrets_are_those_of_the_table},
    {"an_address_is_a_port_behind_a_host_or_alone", an_address_is_a_port_behind_a_host_or_alone},
    {"serve_has_a_port_and_tokens_differ", serve_has_a_port_and_tokens_differ},
    {"every_text_names_every_option", every_text_names_every_option},
    {"the_help_fits_eighty_columns", the_help_fits_eighty_columns},
    {NULL, NULL},
};
