/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "entrypoint/options.h"
#include "entrypoint/started.h"

static void what_standard_input_is_tells_how_it_was_started(void)
{
    int ends[2], sockets[2];
    TEST_ASSERT(pipe2(ends, O_CLOEXEC) == 0);
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC), zero = open("/dev/zero", O_CLOEXEC);
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    TEST_CHECK(started_how(ends[0]) == STARTED_WITH_PEER);
    (void)close(ends[1]);
    TEST_CHECK(started_how(ends[0]) == STARTED_WITH_PEER); /* docker run -i </dev/null */
    TEST_CHECK(started_how(sockets[0]) == STARTED_WITH_PEER);
    TEST_CHECK(started_how(file) == STARTED_WITH_PEER);
    TEST_CHECK(started_how(zero) == STARTED_WITH_PEER);
    TEST_CHECK(started_how(null) == STARTED_WITHOUT_INPUT);
    TEST_CHECK(started_how(terminal) == STARTED_AT_TERMINAL);
    (void)close(null);
    TEST_CHECK(started_how(null) == STARTED_WITHOUT_INPUT); /* closed */
}

static const struct {
    const char *variables[5]; /* NAME=VALUE */
    const char *words[3];
    const char *gateway, *execute, *host; /* the tokens and the gateway's host */
    int port;                             /* the gateway's */
} cases[] = {
    {{NULL}, {NULL}, NULL, NULL, "localhost", 8888},
    {{"KG_AUTH_TOKEN=a", "TOKEN=b", "JUPYTER_TOKEN=c"}, {NULL}, "a", "a", "0.0.0.0", 8888},
    {{"TOKEN=b", "JUPYTER_TOKEN=c"}, {NULL}, "b", "b", "0.0.0.0", 8888},
    {{"TOKEN=", "JUPYTER_TOKEN=c"}, {NULL}, "c", "c", "0.0.0.0", 8888},
    {{"IPYBOX_KERNEL_GATEWAY_TOKEN=d", "KG_AUTH_TOKEN=a"}, {NULL}, "d", "d", "0.0.0.0", 8888},
    {{"IPYBOX_EXECUTE_TOKEN=e"}, {NULL}, "e", "e", "0.0.0.0", 8888},
    {{"IPYBOX_EXECUTE_TOKEN=e", "TOKEN=b"}, {NULL}, "b", "e", "0.0.0.0", 8888},
    {{"IPYBOX_TOKEN=t"}, {NULL}, NULL, NULL, "localhost", 0},
    {{"IPYBOX_TOKEN=t"}, {"--kernel-gateway-port=1"}, NULL, NULL, "localhost", 1},
    {{"IPYBOX_TOKEN=t", "TOKEN=b"}, {NULL}, "b", NULL, "0.0.0.0", 8888},
    {{"TOKEN=b", "KG_PORT=9", "KG_IP=::1"}, {NULL}, "b", "b", "::1", 9},
    {{"TOKEN=b", "IPYBOX_KERNEL_GATEWAY_PORT=9"}, {NULL}, "b", "b", "0.0.0.0", 9},
    {{"TOKEN=b"}, {"--kernel-gateway-port=0"}, "b", "b", "0.0.0.0", 0},
    {{"TOKEN=b"}, {"--kernel-gateway-host=localhost"}, "b", "b", "localhost", 8888},
};

static void set_variables(const char *const *variables)
{
    static const char *const names[] = {"KG_AUTH_TOKEN",
                                        "KG_IP",
                                        "KG_PORT",
                                        "TOKEN",
                                        "JUPYTER_TOKEN",
                                        "IPYBOX_TOKEN",
                                        "IPYBOX_EXECUTE_TOKEN",
                                        "IPYBOX_KERNEL_GATEWAY_TOKEN",
                                        "IPYBOX_KERNEL_GATEWAY_PORT",
                                        "IPYBOX_KERNEL_GATEWAY_HOST"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)unsetenv(names[i]);
    for (; *variables; variables++) {
        char name[64];
        size_t n = strcspn(*variables, "=");
        memcpy(name, *variables, n);
        name[n] = '\0';
        TEST_ASSERT(setenv(name, *variables + n + 1, 1) == 0);
    }
}

static bool is_text(const char *is, const char *wanted)
{
    return is && wanted ? strcmp(is, wanted) == 0 : is == wanted;
}

static void one_token_opens_both_ports_and_an_admins_only_its_own(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *argv[3] = {NULL};
        int argc = 0;
        for (; cases[i].words[argc]; argc++)
            argv[argc] = (char *)(uintptr_t)cases[i].words[argc];
        set_variables(cases[i].variables);
        struct options o;
        struct err e = ERR_NONE;
        TEST_CASE_("case %zu", i);
        TEST_CHECK_(options_parse(ROLE_SERVE_ALL, argc, argv, &o, &e) == 0, "%s", e.msg);
        TEST_CHECK(o.serve && is_text(o.http, "8080"));
        TEST_CHECK(is_text(o.kernel_gateway_token, cases[i].gateway));
        TEST_CHECK(is_text(o.execute_token, cases[i].execute));
        TEST_CHECK(is_text(o.kernel_gateway_host, cases[i].host));
        TEST_CHECK(o.kernel_gateway_port == cases[i].port);
    }
}

static void other_servers_heed_the_gateways_own_names_alone(void)
{
    static const char *const variables[] = {"KG_AUTH_TOKEN=a", "KG_PORT=9", "KG_IP=::1", "TOKEN=b",
                                            NULL};
    static const char *const frameworks[] = {"TOKEN=b", "JUPYTER_TOKEN=c", NULL};
    struct options o;
    struct err e = ERR_NONE;
    set_variables(variables);
    TEST_CHECK(options_parse(ROLE_SERVER, 0, NULL, &o, &e) == 0);
    TEST_CHECK(is_text(o.kernel_gateway_token, "a") && is_text(o.kernel_gateway_host, "::1"));
    TEST_CHECK(o.kernel_gateway_port == 9 && !o.execute_token && !o.http);
    set_variables(frameworks);
    TEST_CHECK(options_parse(ROLE_SERVE, 0, NULL, &o, &e) == 0);
    TEST_CHECK(!o.kernel_gateway_token && !o.execute_token && o.kernel_gateway_port == 0);
}

static void a_bad_variable_of_the_gateway_is_refused_by_its_own_name(void)
{
    static const char *const variables[] = {"KG_PORT=x", NULL};
    struct options o;
    struct err e = ERR_NONE;
    set_variables(variables);
    TEST_CHECK(options_parse(ROLE_SERVER, 0, NULL, &o, &e) == -EINVAL);
    TEST_CHECK_(strncmp(e.msg, "KG_PORT: ", 9) == 0, "%s", e.msg);
}

static void a_terminal_is_told_in_five_lines_of_eighty_columns(void)
{
    drop_buf struct buf out = BUF_INIT(4096);
    started_explain(&out);
    size_t lines = 0;
    for (const char *line = buf_text(&out); *line; lines++) {
        size_t n = strcspn(line, "\n");
        TEST_CHECK_(n <= 82, "%.*s", (int)n, line);
        line += n + (line[n] == '\n');
    }
    TEST_CHECK(lines == 5);
}

TEST_LIST = {
    {"what_standard_input_is_tells_how_it_was_started",
     what_standard_input_is_tells_how_it_was_started},
    {"one_token_opens_both_ports_and_an_admins_only_its_own",
     one_token_opens_both_ports_and_an_admins_only_its_own},
    {"other_servers_heed_the_gateways_own_names_alone",
     other_servers_heed_the_gateways_own_names_alone},
    {"a_bad_variable_of_the_gateway_is_refused_by_its_own_name",
     a_bad_variable_of_the_gateway_is_refused_by_its_own_name},
    {"a_terminal_is_told_in_five_lines_of_eighty_columns",
     a_terminal_is_told_in_five_lines_of_eighty_columns},
    {NULL, NULL},
};
