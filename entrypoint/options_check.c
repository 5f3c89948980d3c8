/* SPDX-License-Identifier: Apache-2.0
 *
 * What only makes sense together. */
#include <string.h>

#include "entrypoint/options.h"
#include "sandbox/confine/level.h"

static int check_sandbox(const struct options *o, struct err *e)
{
    if (sandbox_level_of(o->sandbox_min) < 0)
        return err_set(e, -EINVAL, "--sandbox-min: full, landlock or none is needed, not '%s'",
                       o->sandbox_min);
    return 0;
}

static int check_agent_sandbox(const struct options *o, struct err *e)
{
    static const char *const names[] = {"port", "rest-port", "grpc-port"};
    const int ports[] = {o->agent_sandbox_port, o->agent_sandbox_rest_port,
                         o->agent_sandbox_grpc_port};
    if (!o->agent_sandbox)
        return 0;
    if (ports[0] == 0 && ports[1] == 0 && ports[2] == 0)
        return err_set(e, -EINVAL,
                       "--agent-sandbox: --agent-sandbox-port, --agent-sandbox-rest-port and "
                       "--agent-sandbox-grpc-port are all off");
    for (size_t i = 1; i < sizeof ports / sizeof *ports; i++) /* the first may be both's */
        if (ports[i] != 0 && ports[i] == o->kernel_gateway_port)
            return err_set(e, -EINVAL, "--agent-sandbox-%s and --kernel-gateway-port: both are %d",
                           names[i], ports[i]);
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++)
        for (size_t j = 0; j < i; j++)
            if (ports[i] != 0 && ports[i] == ports[j])
                return err_set(e, -EINVAL, "--agent-sandbox-%s and --agent-sandbox-%s: both are %d",
                               names[j], names[i], ports[i]);
    return 0;
}

static int check_together(const struct options *o, struct err *e)
{
    if (o->require_shell_escape && !o->approve_shell_cmds)
        return err_set(e, -EINVAL, "--require-shell-escape needs --approve-shell-cmds");
    if (o->tool_server_token && o->approver_token &&
        strcmp(o->tool_server_token, o->approver_token) == 0)
        return err_set(e, -EINVAL,
                       "IPYBOX_TOOL_SERVER_TOKEN and IPYBOX_APPROVER_TOKEN are the same: who calls "
                       "tools could approve the calls");
    if (check_agent_sandbox(o, e) < 0)
        return e->code;
    if (o->librechat_jwt_keys && !o->librechat)
        return err_set(e, -EINVAL, "--librechat-jwt-keys needs --librechat");
    const char *wire = o->e2b ? "--e2b" : o->librechat ? "--librechat" : NULL;
    if (wire && !o->http)
        return err_set(e, -EINVAL, "%s needs --http, or `ipybox serve`: it is on that port", wire);
    if (wire && o->execute_token && !o->token)
        return err_set(e, -EINVAL, "%s needs IPYBOX_TOKEN, which is its key", wire);
    const char *const tokens[] = {o->token, o->execute_token, o->approver_token};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        for (size_t j = 0; j < i; j++)
            if (tokens[i] && tokens[j] && strcmp(tokens[i], tokens[j]) == 0)
                return err_set(e, -EINVAL,
                               "two of IPYBOX_TOKEN, IPYBOX_EXECUTE_TOKEN and "
                               "IPYBOX_APPROVER_TOKEN are the same: one role would have another's "
                               "rights");
    return 0;
}

int options_check(const struct options *o, struct err *e)
{
    int r = check_together(o, e);
    return r < 0 ? r : check_sandbox(o, e);
}

bool options_is_loopback(const char *host)
{
    return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "::1") == 0;
}
