/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/started.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"

enum { GATEWAY_PORT = 8888, NULL_MAJOR = 1, NULL_MINOR = 3 };

enum started started_how(int input)
{
    struct stat st;
    if (fstat(input, &st) < 0)
        return STARTED_WITHOUT_INPUT;
    if (!S_ISCHR(st.st_mode))
        return STARTED_WITH_PEER;
    if (st.st_rdev == makedev(NULL_MAJOR, NULL_MINOR))
        return STARTED_WITHOUT_INPUT;
    return isatty(input) ? STARTED_AT_TERMINAL : STARTED_WITH_PEER;
}

/* The names that images of Jupyter have for it; IPYBOX_KERNEL_GATEWAY_TOKEN and KG_AUTH_TOKEN are
 * read with the options. */
static const char *framework_token(void)
{
    const char *token = getenv("TOKEN"), *jupyter = getenv("JUPYTER_TOKEN");
    if (token && *token)
        return token;
    return jupyter && *jupyter ? jupyter : NULL;
}

/* Who may run code through one port may do so through the other. Not so IPYBOX_TOKEN, which may
 * more, approve calls of tools for one: it stays out of the URLs of the gateway's clients. */
static void share_token(struct options *o)
{
    if (!o->kernel_gateway_token)
        o->kernel_gateway_token = framework_token();
    if (!o->kernel_gateway_token)
        o->kernel_gateway_token = o->execute_token;
    if (!o->token && !o->execute_token)
        o->execute_token = o->kernel_gateway_token;
}

void started_complete(struct options *o)
{
    share_token(o);
    if (o->kernel_gateway_port < 0) /* with a token for the API alone no port is open without */
        o->kernel_gateway_port = o->token && !o->kernel_gateway_token ? 0 : GATEWAY_PORT;
    if (!o->kernel_gateway_host)
        o->kernel_gateway_host = o->kernel_gateway_token ? "0.0.0.0" : "localhost";
}

bool started_http_address(const struct options *o, char ret_host[OPTIONS_HOST_MAX + 1],
                          int *ret_port)
{
    bool guarded = o->token || o->execute_token;
    if (!options_address(o->http, ret_host, ret_port))
        return false;
    if (!*ret_host)
        (void)snprintf(ret_host, OPTIONS_HOST_MAX + 1, guarded ? "0.0.0.0" : "localhost");
    return true;
}

/* Files of tokens are read later, and a token decides which addresses are served. */
static bool has_token_file(void)
{
    const char *name;
    for (size_t i = 0; (name = options_secret(i)); i++) {
        drop_str char *file = xasprintf("%s_FILE", name);
        const char *path = getenv(file);
        if (path && *path)
            return true;
    }
    return false;
}

void started_listen(const struct options *o, struct ahead *ahead)
{
    char host[OPTIONS_HOST_MAX + 1];
    int port;
    if (has_token_file())
        return;
    if (o->kernel_gateway_port > 0)
        ahead_listen(ahead, o->kernel_gateway_host, o->kernel_gateway_port);
    if (o->http && started_http_address(o, host, &port))
        ahead_listen(ahead, host, port);
}

void started_explain(struct buf *out)
{
    (void)buf_adds(
        out, "ipybox runs Python for agents. A terminal speaks no MCP, so it serves HTTP at 8080\n"
             "and the Jupyter Kernel Gateway at 8888, until Ctrl-C. It is meant to be started\n"
             "  by an MCP client:   docker run -i --rm -v \"$PWD:/app/workspace\" ipybox\n"
             "  by who uses HTTP:   docker run -d -p 8080:8080 -p 8888:8888 -e TOKEN=… ipybox\n"
             "  for a shell:        docker run -it --rm ipybox bash     (all options: --help)\n");
}
