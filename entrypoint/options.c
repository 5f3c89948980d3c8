/* SPDX-License-Identifier: Apache-2.0
 *
 * Every option is one row of `rows`: its word, its variable, how its text is read, where the value
 * goes, and what --help, the man page and docs/options.md say of it. A value is read three times
 * at most, and the last one stands: the default, the variable, the word of the command line.
 * What two options mean together is decided after all of them were read (options_check.c). */
#include "entrypoint/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "entrypoint/started.h"
#include "sandbox/confine/level.h"

#ifndef IPYBOX_VERSION
#include "entrypoint/version.h" /* made by the build */
#endif

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define AT(field) offsetof(struct options, field)

enum {
    SECONDS_MAX = 86400,
    PORT_MAX = 65535,
    COUNT_MAX = 16,
    NUMBER_MAX = 1000,
    MANY_MAX = 1000000,
    NAME_MAX_LEN = 40, /* of a name that is compared for a hint */
};

static const struct options_row rows[] = {
    {"workspace", "IPYBOX_WORKSPACE", OPTION_TEXT, AT(workspace), "PATH", ".", 0, 0,
     "Directory that cells work in. Their files appear there. In the image: /app/workspace."},
    {"mcp-servers", "IPYBOX_MCP_SERVERS", OPTION_TEXT, AT(mcp_servers), "PATH", NULL, 0, 0,
     "JSON file of MCP servers that code may use from the start, in the form of other clients: "
     "{\"mcpServers\": {\"name\": {\"command\": …}}}."},
    {"servers-dir", "IPYBOX_SERVERS_DIR", OPTION_TEXT, AT(servers_dir), "PATH", NULL, 0, 0,
     "Folder in which every stdio MCP server gets a folder of its own, for HOME, caches and "
     "packages. Default: /var/lib/ipybox/servers, or a folder in the runtime directory where "
     "that cannot be made."},
    {"state-dir", "IPYBOX_STATE_DIR", OPTION_TEXT, AT(state_dir), "PATH", NULL, 0, 0,
     "Where registrations of MCP servers are kept for the next start, outside of the workspace. "
     "Default: .ipybox/registrations in the workspace; outside of the image a folder of "
     "$XDG_STATE_HOME/ipybox."},
    {"mcp-cwd", "IPYBOX_MCP_CWD", OPTION_TEXT, AT(mcp_cwd), "PATH", NULL, 0, 0,
     "Working directory of stdio MCP servers that name no \"cwd\". Default: the workspace; a "
     "server that holds a secret works in its own folder."},
    {"approve-tool-calls", "IPYBOX_APPROVE_TOOL_CALLS", OPTION_FLAG, AT(approve_tool_calls), NULL,
     NULL, 0, 0,
     "Ask a human before code calls a tool: the client of the approval channel, else the MCP "
     "client (elicitation). Without this option calls are approved, unless the policy says "
     "otherwise."},
    {"approval-timeout", "IPYBOX_APPROVAL_TIMEOUT", OPTION_MILLISECONDS, AT(approval_timeout),
     "SECONDS", "600", 0, 0,
     "Time to wait for an answer. After it the call is not made; 0 waits forever."},
    {"tool-policy", "IPYBOX_TOOL_POLICY", OPTION_TEXT, AT(tool_policy), "PATH", NULL, 0, 0,
     "JSON file of rules: which tools may be called, need an approval, or are denied."},
    {"approve-shell-cmds", "IPYBOX_APPROVE_SHELL_CMDS", OPTION_FLAG, AT(approve_shell_cmds), NULL,
     NULL, 0, 0, "Ask a human before a cell runs a shell command: !command, %%bash and the like."},
    {"require-shell-escape", "IPYBOX_REQUIRE_SHELL_ESCAPE", OPTION_FLAG, AT(require_shell_escape),
     NULL, NULL, 0, 0,
     "Cells can start programs only as shell commands, and each is asked for. Needs "
     "--approve-shell-cmds."},
    {"connect-timeout", "IPYBOX_CONNECT_TIMEOUT", OPTION_MILLISECONDS, AT(connect_timeout),
     "SECONDS", "30", 0, 1, "Time an MCP server has to start and to list its tools."},
    {"search-tool", "IPYBOX_SEARCH_TOOL", OPTION_FLAG, AT(search_tool), NULL, NULL, 0, 0,
     "Offer the MCP tool search_tools, which finds tools of the registered MCP servers by words, "
     "for agents that look for tools without running code."},
    {"mcp-root", "IPYBOX_MCP_ROOT", OPTION_TEXT, AT(mcp_root), "PATH", NULL, 0, 0,
     "Folder to announce to MCP servers as the client's only root. Some servers use nothing "
     "outside it. Default: no root is announced."},
    {"tool-server-host", "IPYBOX_TOOL_SERVER_HOST", OPTION_TEXT, AT(tool_server_host), "HOST",
     "localhost", 0, 0, "Address the tool server listens on."},
    {"tool-server-port", "IPYBOX_TOOL_SERVER_PORT", OPTION_PORT, AT(tool_server_port), "PORT", "0",
     0, 0,
     "Port of the tool server, for applications and approvers outside the container; 0 turns "
     "it off. Code in kernels does not need it."},
    {"tool-server-open", "IPYBOX_TOOL_SERVER_OPEN", OPTION_FLAG, AT(tool_server_open), NULL, NULL,
     0, 0,
     "Started natively: programs of this user call tools through the tool server, and approve "
     "calls, without a token. Code in kernels and other sandboxes cannot."},
    {"tool-server-token", "IPYBOX_TOOL_SERVER_TOKEN", OPTION_TEXT, AT(tool_server_token), "TOKEN",
     NULL, OPTION_SECRET, 0,
     "Token of applications that call tools through the tool server. Without a token they "
     "cannot. Other processes can read command lines: prefer the variable or its _FILE form."},
    {"approver-token", "IPYBOX_APPROVER_TOKEN", OPTION_TEXT, AT(approver_token), "TOKEN", NULL,
     OPTION_SECRET, 0,
     "Token of the approval channel's client, and for approving over the HTTP API. Without a "
     "token nobody can do either. Prefer the variable or its _FILE form."},
    {"http", "IPYBOX_HTTP", OPTION_ADDRESS, AT(http), "[HOST:]PORT", NULL, 0, 0,
     "Serve the HTTP API at this address, beside standard input and output; `ipybox serve` "
     "serves it alone. Default host: every address if there is a token, else localhost."},
    {"token", "IPYBOX_TOKEN", OPTION_TEXT, AT(token), "TOKEN", NULL, OPTION_SECRET, 0,
     "Token of the HTTP API with all rights. Prefer the variable or its _FILE form."},
    {"execute-token", "IPYBOX_EXECUTE_TOKEN", OPTION_TEXT, AT(execute_token), "TOKEN", NULL,
     OPTION_SECRET, 0,
     "Token of the HTTP API with all rights but three: approving tool calls, registering MCP "
     "servers, and choosing what a session's sandbox allows. Prefer the variable or its _FILE "
     "form."},
    {"instance", "IPYBOX_INSTANCE", OPTION_TEXT, AT(instance), "NAME", NULL, 0, 0,
     "Name of this server among others, which every answer over HTTP has: letters, digits, '.', "
     "'-' and '_'. Default: the host's name, which in Kubernetes is the pod's."},
    {"public-url", "IPYBOX_PUBLIC_URL", OPTION_TEXT, AT(public_url), "URL", NULL, 0, 0,
     "Address of the HTTP API behind a proxy, such as https://example.org/ipybox/: its host and "
     "origin are allowed beside the server's own."},
    {"max-sessions", "IPYBOX_MAX_SESSIONS", OPTION_NUMBER, AT(max_sessions), "N", "100", 0, 0,
     "Maximum number of sessions, with the default session."},
    {"e2b", "IPYBOX_E2B", OPTION_FLAG, AT(e2b), NULL, NULL, 0, 0,
     "Serve E2B's wire on the HTTP API's port and on the next two: sessions are the sandboxes of "
     "E2B's SDKs, IPYBOX_TOKEN is their E2B_API_KEY."},
    {"e2b-envd-port", "IPYBOX_E2B_ENVD_PORT", OPTION_PORT, AT(e2b_envd_port), "PORT", "49983", 0, 0,
     "With --e2b: port of files and processes alone, as clients of E2B_DEBUG use it; 0 turns it "
     "off."},
    {"e2b-code-port", "IPYBOX_E2B_CODE_PORT", OPTION_PORT, AT(e2b_code_port), "PORT", "49999", 0, 0,
     "With --e2b: port of the code interpreter alone, likewise."},
    {"librechat", "IPYBOX_LIBRECHAT", OPTION_FLAG, AT(librechat), NULL, NULL, 0, 0,
     "Serve LibreChat's code API at /librechat/v1 of the HTTP API; its key is IPYBOX_TOKEN."},
    {"librechat-jwt-keys", "IPYBOX_LIBRECHAT_JWT_KEYS", OPTION_TEXT, AT(librechat_jwt_keys), "PATH",
     NULL, 0, 0,
     "With --librechat: file of the public keys of LibreChat, whose signed tokens (JWT) are then "
     "taken, too, and name the users: PUBLIC KEY of PEM, or a JWK set."},
    {"librechat-jwt-issuer", "IPYBOX_LIBRECHAT_JWT_ISSUER", OPTION_TEXT, AT(librechat_jwt_issuer),
     "NAME", "librechat", 0, 0, "Issuer that such tokens must have (CODEAPI_JWT_ISSUER)."},
    {"librechat-jwt-audience", "IPYBOX_LIBRECHAT_JWT_AUDIENCE", OPTION_TEXT,
     AT(librechat_jwt_audience), "NAME", "codeapi", 0, 0,
     "Audience that such tokens must have (CODEAPI_JWT_AUDIENCE)."},
    {"agent-sandbox", "IPYBOX_AGENT_SANDBOX", OPTION_FLAG, AT(agent_sandbox), NULL, NULL, 0, 0,
     "Serve the contracts of kubernetes-sigs/agent-sandbox: the default session is the sandbox. "
     "The token is IPYBOX_TOKEN or IPYBOX_EXECUTE_TOKEN."},
    {"agent-sandbox-port", "IPYBOX_AGENT_SANDBOX_PORT", OPTION_PORT, AT(agent_sandbox_port), "PORT",
     "8888", 0, 0,
     "With --agent-sandbox: port of the python-runtime's contract; 0 turns it off. It may be the "
     "Kernel Gateway's."},
    {"agent-sandbox-rest-port", "IPYBOX_AGENT_SANDBOX_REST_PORT", OPTION_PORT,
     AT(agent_sandbox_rest_port), "PORT", "0", 0, 0,
     "With --agent-sandbox: port of the REST half of sandboxd's contract, 8080 for its clients; 0 "
     "turns it off."},
    {"agent-sandbox-grpc-port", "IPYBOX_AGENT_SANDBOX_GRPC_PORT", OPTION_PORT,
     AT(agent_sandbox_grpc_port), "PORT", "0", 0, 0,
     "With --agent-sandbox: port of sandboxd's commands by gRPC, 9090 for its clients; 0 turns it "
     "off."},
    {"agent-sandbox-open", "IPYBOX_AGENT_SANDBOX_OPEN", OPTION_FLAG, AT(agent_sandbox_open), NULL,
     NULL, 0, 0,
     "With --agent-sandbox: ask for no token at its ports. Whoever reaches them runs code: the "
     "network, such as a NetworkPolicy, decides who does."},
    {"kernel-gateway-host", "IPYBOX_KERNEL_GATEWAY_HOST", OPTION_TEXT, AT(kernel_gateway_host),
     "HOST", "localhost", 0, 0, "Address the Jupyter Kernel Gateway listens on."},
    {"kernel-gateway-port", "IPYBOX_KERNEL_GATEWAY_PORT", OPTION_PORT, AT(kernel_gateway_port),
     "PORT", "0", 0, 0, "Port of the Jupyter Kernel Gateway; 0 turns it off."},
    {"kernel-gateway-token", "IPYBOX_KERNEL_GATEWAY_TOKEN", OPTION_TEXT, AT(kernel_gateway_token),
     "TOKEN", NULL, OPTION_SECRET, 0,
     "Token that clients of the Jupyter Kernel Gateway must present. Other processes can read "
     "command lines: prefer the variable or its _FILE form."},
    {"sandbox", "IPYBOX_SANDBOX", OPTION_FLAG, AT(sandbox), NULL, NULL, 0, 0,
     "Run kernels in a sandbox. Without --sandbox-config they read everything but .env, write "
     "the workspace, and have no network but the tools."},
    {"sandbox-config", "IPYBOX_SANDBOX_CONFIG", OPTION_TEXT, AT(sandbox_config), "PATH", NULL, 0, 0,
     "Settings of the sandbox: a JSON file in the format of srt. Where it is not there: the "
     "default, with a warning. Without --sandbox it is ignored."},
    {"pip-allowed-hosts", "IPYBOX_PIP_ALLOWED_HOSTS", OPTION_TEXT, AT(pip_allowed_hosts), "HOST,…",
     NULL, 0, 0,
     "With --sandbox: hosts that install_package may reach besides the index, the proxy and "
     "the host of the package's own address. Separated by commas; patterns as in "
     "allowedDomains."},
    {"sandbox-min", "IPYBOX_SANDBOX_MIN", OPTION_TEXT, AT(sandbox_min), "LEVEL", NULL, 0, 0,
     "Minimum isolation level: full, landlock or none. Where the machine cannot provide it, "
     "nothing is started. Default: full with --sandbox, else none."},
    {"kernel-tasks", "IPYBOX_KERNEL_TASKS", OPTION_MANY, AT(kernel_tasks), "N", NULL, 0, 0,
     "Maximum number of processes and threads per kernel. Default: no limit."},
    {"kernel-memory", "IPYBOX_KERNEL_MEMORY", OPTION_SIZE_AUTO, AT(kernel_memory), "SIZE", "auto",
     0, 0,
     "Maximum memory of a kernel and its processes; beyond it they are killed. K, M and G are "
     "understood. auto: what the container's own limit leaves beside the server, or no limit "
     "where it has none. 0: no limit."},
    {"kernel-disk", "IPYBOX_KERNEL_DISK", OPTION_SIZE, AT(kernel_disk), "SIZE", NULL, 0, 0,
     "Maximum disk space that a kernel and its processes take while they run, wherever they "
     "can write; beyond it they are killed. Files that were there before do not count."},
    {"kernel-open-files", "IPYBOX_KERNEL_OPEN_FILES", OPTION_MANY, AT(kernel_files), "N", NULL, 0,
     0, "Maximum number of open files per process of a kernel."},
    {"kernel-file-size", "IPYBOX_KERNEL_FILE_SIZE", OPTION_SIZE, AT(kernel_file_size), "SIZE", NULL,
     0, 0, "Maximum size of a file that a kernel writes."},
    {"kernel-cpu", "IPYBOX_KERNEL_CPU", OPTION_SECONDS, AT(kernel_cpu), "SECONDS", NULL, 0, 1,
     "Maximum processor time of a kernel and its processes; beyond it they are killed."},
    {"mcp-tasks", "IPYBOX_MCP_TASKS", OPTION_MANY, AT(mcp_tasks), "N", NULL, 0, 0,
     "Maximum number of processes and threads per stdio MCP server. With this option such a "
     "server cannot start a sandbox of its own (srt)."},
    {"mcp-memory", "IPYBOX_MCP_MEMORY", OPTION_SIZE, AT(mcp_memory), "SIZE", NULL, 0, 0,
     "Maximum memory of a stdio MCP server and its processes; beyond it they are killed, and "
     "the next call starts the server again."},
    {"mcp-open-files", "IPYBOX_MCP_OPEN_FILES", OPTION_MANY, AT(mcp_files), "N", NULL, 0, 0,
     "Maximum number of open files per process of a stdio MCP server."},
    {"mcp-cpu", "IPYBOX_MCP_CPU", OPTION_SECONDS, AT(mcp_cpu), "SECONDS", NULL, 0, 1,
     "Maximum processor time of a stdio MCP server and its processes; beyond it they are "
     "killed."},
    {"log-level", "IPYBOX_LOG_LEVEL", OPTION_LEVEL, AT(log_level), "LEVEL", "INFO", 0, 0,
     "Minimum level that is logged: DEBUG, INFO, WARNING, ERROR or CRITICAL."},
    {"log-format", "IPYBOX_LOG_FORMAT", OPTION_FORMAT, AT(log_format), "FORMAT", "text", 0, 0,
     "Format of the log on standard error: text, or json with one object per line."},
    {"audit-log", "IPYBOX_AUDIT_LOG", OPTION_TEXT, AT(audit_log), "PATH", NULL, 0, 0,
     "File outside the workspace for the audit log: a record of every cell (its SHA-256), tool "
     "call, approval and login, each bound to the one before. Default: no audit log."},
    {"stop-grace", "IPYBOX_STOP_GRACE", OPTION_SECONDS, AT(stop_grace), "SECONDS", "8", 0, 0,
     "Time to end in order after TERM or INT. A second signal, or the end of this time, kills. "
     "`docker stop` itself waits 10 seconds."},
    {"interrupt-grace", "IPYBOX_INTERRUPT_GRACE", OPTION_SECONDS, AT(interrupt_grace), "SECONDS",
     "5", 0, 0, "Time a cell may ignore an interrupt before its kernel is replaced."},
    {"kernel-start-timeout", "IPYBOX_KERNEL_START_TIMEOUT", OPTION_SECONDS,
     AT(kernel_start_timeout), "SECONDS", "60", 0, 1, "Time a kernel has to start."},
    {"kernel-idle-timeout", "IPYBOX_KERNEL_IDLE_TIMEOUT", OPTION_SECONDS, AT(kernel_idle_timeout),
     "SECONDS", NULL, 0, 1,
     "Time a session's kernel may run no cell before it is ended, for its memory. The next cell "
     "gets a new kernel and is told that its variables are gone. Default: no limit."},
    {"checkpoints", "IPYBOX_CHECKPOINTS", OPTION_COUNT, AT(checkpoints), "N", "0", 0, 0,
     "Number of states of each session that are kept, each from before a cell: a rewind brings "
     "variables back to one of them. They take memory, within --kernel-memory, and about 30 ms "
     "before a cell."},
    {"fork-tool", "IPYBOX_FORK_TOOL", OPTION_FLAG, AT(fork_tool), NULL, NULL, 0, 0,
     "Offer the MCP tools fork, which makes sessions that begin as one is, and end_session."},
    {"spare-kernels", "IPYBOX_SPARE_KERNELS", OPTION_COUNT, AT(spare_kernels), "N", "1", 0, 0,
     "Number of kernels kept ready for the next reset; each takes about 12 MiB."},
    {"no-kernel-template", "IPYBOX_NO_KERNEL_TEMPLATE", OPTION_FLAG, AT(no_kernel_template), NULL,
     NULL, 0, 0, "Start every kernel as a new program instead of forking it from a template."},
    {"output-file-limit", "IPYBOX_OUTPUT_FILE_LIMIT", OPTION_SIZE, AT(output_file_limit), "SIZE",
     "4G", 0, 0, "Maximum output of one cell that is kept in its file. K, M and G are understood."},
    {"keep-files", "IPYBOX_KEEP_FILES", OPTION_MANY, AT(keep_files), "N", NULL, 0, 0,
     "Maximum number of files that ipybox keeps in images/ and outputs/; the oldest are deleted. "
     "Default: no limit, as of the next two."},
    {"keep-files-size", "IPYBOX_KEEP_FILES_SIZE", OPTION_SIZE, AT(keep_files_size), "SIZE", NULL, 0,
     0, "Maximum size of these files together."},
    {"keep-files-age", "IPYBOX_KEEP_FILES_AGE", OPTION_SECONDS, AT(keep_files_age), "SECONDS", NULL,
     0, 1, "Maximum age of these files."},
    {"python", "IPYBOX_PYTHON", OPTION_TEXT, AT(python), "PROGRAM", "python3", 0, 0,
     "Python interpreter that kernels run in."},
    {"allow-root", "IPYBOX_ALLOW_ROOT", OPTION_FLAG, AT(allow_root), NULL, NULL, 0, 0,
     "Start although cells will be root. Without this option a server that root starts natively, "
     "or in a container without `ipybox init`, refuses to start."},
    {"ca", "IPYBOX_CA", OPTION_TEXT, AT(ca), "PATH", NULL, 0, 0,
     "PEM file of additional certificate authorities that pip, kernels and MCP servers trust."},
    {"server-name", NULL, OPTION_TEXT, AT(server_name), "NAME", NULL, OPTION_APIGEN, 0,
     "Name of the package, and of the server in its calls."},
    {"server-params", NULL, OPTION_TEXT, AT(server_params), "JSON", NULL, OPTION_APIGEN, 0,
     "How to reach the server: the JSON object that register_mcp_server takes."},
    {"tools", NULL, OPTION_TEXT, AT(tools_file), "PATH", NULL, OPTION_APIGEN, 0,
     "Instead of --server-params: a file with the result of tools/list."},
    {"root-dir", NULL, OPTION_TEXT, AT(root_dir), "PATH", "mcptools", OPTION_APIGEN, 0,
     "Directory to put the package in."},
    {"session", NULL, OPTION_TEXT, AT(session), "ID", "default",
     OPTION_OF_EXEC | OPTION_OF_POLICY | OPTION_OF_LOGS | OPTION_OF_EXPORT | OPTION_OF_FORK, 0,
     "Session to use."},
    {"format", NULL, OPTION_TEXT, AT(format), "FORMAT", NULL, OPTION_OF_EXPORT, 0,
     "ipynb or py. Default: by the FILE's name, else ipynb."},
    {"reset", NULL, OPTION_FLAG, AT(reset), NULL, NULL, OPTION_OF_POLICY, 0,
     "With a FILE: start a new kernel with these settings, in turn with the cells."},
    {"count", NULL, OPTION_MANY, AT(fork_count), "N", NULL, OPTION_OF_FORK, 0,
     "Number of new sessions, up to 64. Default: 1."},
    {"force", NULL, OPTION_FLAG, AT(force), NULL, NULL, OPTION_OF_FORK, 0,
     "Also when they lack what does not survive a fork."},
    {"wait", NULL, OPTION_FLAG, AT(wait), NULL, NULL, OPTION_OF_FORK, 0,
     "For the cells that the session has to run."},
    {"keep-random", NULL, OPTION_FLAG, AT(keep_random), NULL, NULL, OPTION_OF_FORK, 0,
     "With the session's random states, in place of new ones."},
    {"timeout", NULL, OPTION_SECONDS, AT(cell_timeout), "SECONDS", NULL, OPTION_OF_EXEC, 1,
     "Time the cell may run. Default: the session's."},
    {"remember", NULL, OPTION_SECONDS, AT(remember), "SECONDS", NULL, OPTION_OF_APPROVE, 1,
     "With yes: also approve later calls of the same tool in the same session, for this time."},
    {"remember-calls", NULL, OPTION_NUMBER, AT(remember_calls), "N", NULL, OPTION_OF_APPROVE, 0,
     "With yes: also approve so many later calls, or fewer when the time of --remember ends "
     "before."},
    {"answer", NULL, OPTION_TEXT, AT(answer), "JSON", NULL, OPTION_OF_APPROVE, 0,
     "With ID: the answer to a server's question as a JSON object; - reads it from standard "
     "input."},
    {"follow", NULL, OPTION_FLAG, AT(follow), NULL, NULL, OPTION_OF_APPROVE | OPTION_OF_LOGS, 0,
     "Keep printing what comes, until interrupted."},
    {"json", NULL, OPTION_FLAG, AT(json), NULL, NULL,
     OPTION_OF_SESSIONS | OPTION_OF_POLICY | OPTION_OF_APPROVE | OPTION_OF_LOGS, 0,
     "Print JSON instead of text."},
};

static const struct options_command commands[] = {
    {"server", ROLE_SERVER, false, "Serve MCP on standard input and output. This is the default.",
     NULL},
    {"serve", ROLE_SERVE, false,
     "Serve the HTTP API alone, on port 8080 unless --http says otherwise. Needs no standard "
     "input.",
     NULL},
    {"serve-all", ROLE_SERVE_ALL, false,
     "Serve the HTTP API and the Jupyter Kernel Gateway, on port 8888 unless "
     "--kernel-gateway-port says otherwise: on every address if there is a token, else on "
     "localhost. This is what a container without standard input does.",
     NULL},
    {"apigen", ROLE_APIGEN, false,
     "Generate the Python package for the tools of an MCP server, and print the names of its "
     "modules. apigen adopt [NAME...]: register the servers of packages that ipybox 0.7 to 0.9.2 "
     "has generated.",
     "[adopt [NAME...]]"},
    {"init", ROLE_INIT, false,
     "Be process 1 of a container: choose the user, pass signals on, reap processes, and run "
     "the server, a command of this list, or any other program.",
     "[COMMAND|PROGRAM] [WORD]..."},
    {"shim", ROLE_SHIM, true, "The process above a kernel; started by the server only.", NULL},
    {"branch", ROLE_BRANCH, true, "The process above a forked kernel; started by kernels only.",
     NULL},
    {"health", ROLE_HEALTH, false, "Ask the running server for its health; status 0 if it is well.",
     NULL},
    {"audit", ROLE_AUDIT, false,
     "audit verify FILE [HASH]: check that an audit log is whole and unchanged, and with HASH "
     "that it still has that record; status 0 if so.",
     "verify FILE [HASH]"},
    {"sandbox", ROLE_SANDBOX, false,
     "sandbox [-d] [-s FILE] [--min LEVEL] -- COMMAND ARG…, or -c TEXT for bash: run a command "
     "in the sandbox with the settings of a JSON file in the format of srt; without a file, as "
     "--sandbox does. --check-config FILE explains a file. Called as srt it takes the options "
     "of srt.",
     "[-d] [-s FILE] [--min LEVEL] -- COMMAND..."},
    {"doctor", ROLE_DOCTOR, false,
     "Report the isolation that this machine provides, and try to break out of it; status 1 if "
     "one of the attempts succeeds.",
     NULL},
    {"exec", ROLE_EXEC, false,
     "Run CODE, or with - the code on standard input, in a kernel of the running server, and "
     "print its output. Ctrl-C interrupts it.",
     "CODE|-"},
    {"sessions", ROLE_SESSIONS, false, "List the sessions of the running server.", NULL},
    {"policy", ROLE_POLICY, false,
     "Print the settings of a session's sandbox and what they mean. With a FILE of settings, "
     "or - for standard input: change them while its kernel runs. Needs root where the server "
     "is not root.",
     "[FILE|-]"},
    {"approve", ROLE_APPROVE, false,
     "List the requests that wait for an approval, with what each would run. With an ID and "
     "yes or no: decide. Answer a server's question with its ID and FIELD=VALUE…, or with no "
     "or cancel. An ID alone asks on the terminal. Needs root where the server is not root.",
     "[ID [yes|no|cancel|FIELD=VALUE...]]"},
    {"logs", ROLE_LOGS, false, "Print the events of a session, as far back as they are kept.",
     NULL},
    {"export", ROLE_EXPORT, false,
     "Write a session's cells with their outputs as a Jupyter notebook, or as a Python script, to "
     "a new FILE or to standard output.",
     "[FILE]"},
    {"fork", ROLE_FORK, false,
     "Make sessions that begin with all that a session has in memory, and print their IDs. With a "
     "NAME: their ID, or with several what their IDs begin with.",
     "[NAME]"},
    {"completions", ROLE_COMPLETIONS, false,
     "Print what makes a shell complete the words of ipybox: for ~/.bashrc, ~/.zshrc or "
     "config.fish.",
     "bash|zsh|fish"},
    {"man", ROLE_MAN, false, "Print the manual page, for man -l -.", NULL},
    {"help", ROLE_HELP, false,
     "Print this help, or that of a COMMAND; with --markdown, as tables for documents.",
     "[COMMAND]"},
    {"version", ROLE_VERSION, false, "Print the version.", NULL},
};

static const struct options_variable variables[] = {
    {"IPYBOX_PRELOAD", NULL,
     "Modules, separated by commas, that every kernel has imported from its start."},
    {"PUID, PGID", NULL,
     "Numeric user and group to run as when the container starts as root. Default: the owner "
     "of the workspace."},
    {"IPYBOX_DEFAULT_UID, IPYBOX_DEFAULT_GID", "1000",
     "User and group to run as when the workspace belongs to root or to an unknown user."},
    {"UMASK", NULL, "File mode mask in octal, such as 002."},
    {"TZ", NULL, "Time zone of cells, such as Europe/Vienna."},
    {"IPYBOX_RUNTIME_DIR", NULL,
     "Private directory for sockets. Default: the first usable of /run/ipybox, /tmp/ipybox and "
     "/dev/shm/ipybox, with the user's number below."},
    {"KG_PORT, KG_IP, KG_AUTH_TOKEN", NULL,
     "Other names of IPYBOX_KERNEL_GATEWAY_PORT, _HOST and _TOKEN, which come first. "
     "docs/gateway.md has the other KG_ variables."},
    {"TOKEN, JUPYTER_TOKEN", NULL,
     "For serve-all: token of the Jupyter Kernel Gateway where no other is given, and of the HTTP "
     "API, as IPYBOX_EXECUTE_TOKEN, where that has none."},
    {"KERNEL_ENV_NAME", NULL,
     "Reaches kernels as NAME; also from a file .env in the workspace. No other variable does."},
};

const struct options_row *options_rows(size_t *ret_count)
{
    *ret_count = COUNT(rows);
    return rows;
}

const struct options_command *options_commands(size_t *ret_count)
{
    *ret_count = COUNT(commands);
    return commands;
}

const struct options_variable *options_variables(size_t *ret_count)
{
    *ret_count = COUNT(variables);
    return variables;
}

unsigned options_own(enum role role)
{
    static const unsigned own[] = {
        [ROLE_APIGEN] = OPTION_APIGEN,
        [ROLE_EXEC] = OPTION_OF_EXEC,
        [ROLE_SESSIONS] = OPTION_OF_SESSIONS,
        [ROLE_APPROVE] = OPTION_OF_APPROVE,
        [ROLE_LOGS] = OPTION_OF_LOGS,
        [ROLE_EXPORT] = OPTION_OF_EXPORT,
        [ROLE_POLICY] = OPTION_OF_POLICY,
        [ROLE_FORK] = OPTION_OF_FORK,
        [ROLE_VERSION] = 0,
    };
    return own[role];
}

/* Those of apigen come beside the server's. */
static bool is_row_of(enum role role, const struct options_row *row)
{
    unsigned own = options_own(role);
    return row->flags & OPTION_OF_COMMANDS ? row->flags & own : !(own & OPTION_OF_CLI);
}

const char *options_version(void)
{
    return "ipybox " IPYBOX_VERSION;
}

const char *options_secret(size_t i)
{
    for (size_t r = 0; r < COUNT(rows); r++)
        if ((rows[r].flags & OPTION_SECRET) && i-- == 0)
            return rows[r].env;
    return NULL;
}

static const char *nearest_option(enum role role, const char *name)
{
    struct options_hint hint = {0};
    for (size_t i = 0; i < COUNT(rows); i++)
        if (!(rows[i].flags & OPTION_HIDDEN) && is_row_of(role, &rows[i]))
            options_nearer(&hint, name, rows[i].name);
    options_nearer(&hint, name, "help");
    options_nearer(&hint, name, "version");
    return hint.name;
}

static const struct options_command *find_option_command(const char *word)
{
    for (size_t i = 0; i < COUNT(commands); i++)
        if (strcmp(commands[i].word, word) == 0)
            return &commands[i];
    return NULL;
}

bool options_is_command(const char *word)
{
    return find_option_command(word) != NULL;
}

int options_role(int argc, char **argv, enum role *ret, int *ret_skip, struct err *e)
{
    if (argc < 2 || argv[1][0] == '-') {
        *ret = ROLE_SERVER;
        *ret_skip = argc < 1 ? 0 : 1;
        return 0;
    }
    const struct options_command *command = find_option_command(argv[1]);
    if (command) {
        *ret = command->role;
        *ret_skip = 2;
        return 0;
    }
    struct options_hint hint = {0};
    for (size_t i = 0; i < COUNT(commands); i++)
        if (!commands[i].hidden)
            options_nearer(&hint, argv[1], commands[i].word);
    if (hint.name)
        return err_set(e, -EINVAL, "unknown command '%s' (did you mean '%s'?)", argv[1], hint.name);
    return err_set(e, -EINVAL, "unknown command '%s' (see ipybox --help)", argv[1]);
}

/* A whole decimal number without sign or space; the rest of the text goes to *ret_rest. */
static bool parse_digits(const char *text, uint64_t *ret, const char **ret_rest)
{
    if (*text < '0' || *text > '9')
        return false;
    char *end;
    errno = 0;
    *ret = strtoull(text, &end, 10);
    *ret_rest = end;
    return errno == 0;
}

static bool parse_bounded(const char *text, uint64_t least, uint64_t most, int *ret)
{
    uint64_t n;
    const char *rest;
    if (!parse_digits(text, &n, &rest) || *rest || n < least || n > most)
        return false;
    *ret = (int)n;
    return true;
}

/* "1.5" is 1500. */
static bool parse_milliseconds(const char *text, int least, int *ret)
{
    uint64_t whole, part = 0;
    const char *rest, *end;
    if (!parse_digits(text, &whole, &rest) || whole > SECONDS_MAX)
        return false;
    if (*rest == '.') {
        if (!parse_digits(rest + 1, &part, &end) || *end || end - rest > 4)
            return false;
        for (ptrdiff_t digits = end - rest - 1; digits < 3; digits++)
            part *= 10;
    } else if (*rest) {
        return false;
    }
    uint64_t ms = whole * 1000 + part;
    if (ms < (uint64_t)least || ms > (uint64_t)SECONDS_MAX * 1000)
        return false;
    *ret = (int)ms;
    return true;
}

bool options_address(const char *text, char ret_host[OPTIONS_HOST_MAX + 1], int *ret_port)
{
    const char *colon = strrchr(text, ':');
    const char *port = colon ? colon + 1 : text;
    size_t n = colon ? (size_t)(colon - text) : 0;
    bool bracketed = n > 2 && text[0] == '[' && text[n - 1] == ']';
    bool strange = strpbrk(text, "[]") || (colon && memchr(text, ':', n));
    if ((colon && n == 0) || (strange && !bracketed))
        return false;
    text += bracketed;
    n -= bracketed ? 2 : 0;
    if (n > OPTIONS_HOST_MAX || !parse_bounded(port, 0, PORT_MAX, ret_port))
        return false;
    memcpy(ret_host, text, n);
    ret_host[n] = '\0';
    return true;
}

static bool is_address(const char *text)
{
    char host[OPTIONS_HOST_MAX + 1];
    int port;
    return options_address(text, host, &port);
}

static bool parse_size(const char *text, uint64_t *ret)
{
    static const char units[] = "KMG";
    uint64_t n;
    const char *rest;
    if (!parse_digits(text, &n, &rest))
        return false;
    unsigned shift = 0;
    for (unsigned i = 0; *rest && units[i]; i++)
        if (*rest == units[i] || *rest == units[i] + ('a' - 'A'))
            shift = 10 * (i + 1);
    if (shift ? rest[1] != '\0' : *rest != '\0')
        return false;
    if (n > (uint64_t)INT64_MAX >> shift)
        return false;
    *ret = n << shift;
    return true;
}

static bool parse_bool(const char *text, bool *ret)
{
    static const char *const yes[] = {"1", "true", "yes", "on"};
    static const char *const no[] = {"0", "false", "no", "off"};
    for (size_t i = 0; i < COUNT(yes); i++) {
        if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
            *ret = strcasecmp(text, yes[i]) == 0;
            return true;
        }
    }
    return false;
}

static bool parse_format(const char *text, enum options_log_format *ret)
{
    if (strcasecmp(text, "text") != 0 && strcasecmp(text, "json") != 0)
        return false;
    *ret = strcasecmp(text, "json") == 0 ? OPTIONS_LOG_JSON : OPTIONS_LOG_TEXT;
    return true;
}

/* Says what is wrong with the value; NULL: nothing, the field is written. `word` for texts. */
static const char *set_field(const struct options_row *row, const char *value, struct options *ret)
{
    void *field = (char *)ret + row->field;
    switch (row->kind) {
    case OPTION_TEXT:
        *(const char **)field = value;
        return *value ? NULL : "a value is needed";
    case OPTION_FLAG:
        return parse_bool(value, field) ? NULL : "1, true, yes, on, 0, false, no or off is needed";
    case OPTION_PORT:
        return parse_bounded(value, 0, PORT_MAX, field) ? NULL : "a port, 0 to 65535, is needed";
    case OPTION_ADDRESS:
        *(const char **)field = value;
        return is_address(value) ? NULL : "a port, or HOST:PORT, is needed";
    case OPTION_SECONDS:
        if (parse_bounded(value, (uint64_t)row->least, SECONDS_MAX, field))
            return NULL;
        return row->least ? "seconds, 1 to 86400, are needed" : "seconds, 0 to 86400, are needed";
    case OPTION_MILLISECONDS:
        if (parse_milliseconds(value, row->least, field))
            return NULL;
        return row->least ? "seconds, 0.001 to 86400, are needed"
                          : "seconds, 0 to 86400, are needed";
    case OPTION_COUNT:
        return parse_bounded(value, 0, COUNT_MAX, field) ? NULL : "a number, 0 to 16, is needed";
    case OPTION_NUMBER:
        if (parse_bounded(value, 1, NUMBER_MAX, field))
            return NULL;
        return "a number, 1 to 1000, is needed";
    case OPTION_MANY:
        if (parse_bounded(value, 1, MANY_MAX, field))
            return NULL;
        return "a number, 1 to 1000000, is needed";
    case OPTION_SIZE_AUTO:
        *(uint64_t *)field = OPTIONS_AUTO;
        if (strcmp(value, "auto") == 0 || parse_size(value, field))
            return NULL;
        return "auto, or a number of bytes, with K, M or G, is needed";
    case OPTION_SIZE:
        return parse_size(value, field) ? NULL : "a number of bytes, with K, M or G, is needed";
    case OPTION_LEVEL:
        if (log_level_parse(value, field) == 0)
            return NULL;
        return "DEBUG, INFO, WARNING, ERROR or CRITICAL is needed";
    case OPTION_FORMAT:
        return parse_format(value, field) ? NULL : "text or json is needed";
    }
    return "not understood";
}

/* `origin`: how the user wrote it, "--name" or "IPYBOX_NAME". */
static int set_option(const struct options_row *row, const char *dashes, const char *origin,
                      const char *value, struct options *ret, struct err *e)
{
    const char *wrong = set_field(row, value, ret);
    if (wrong && (row->flags & OPTION_SECRET))
        return err_set(e, -EINVAL, "%s%s: %s", dashes, origin, wrong);
    if (wrong && *value)
        return err_set(e, -EINVAL, "%s%s: %s, not '%s'", dashes, origin, wrong, value);
    if (wrong)
        return err_set(e, -EINVAL, "%s%s: %s", dashes, origin, wrong);
    return 0;
}

static void set_defaults(enum role role, struct options *ret)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].fallback)
            (void)set_field(&rows[i], rows[i].fallback, ret); /* the tests hold them valid */
    if (role == ROLE_SERVE_ALL) {                             /* for started_complete() */
        ret->kernel_gateway_port = -1;
        ret->kernel_gateway_host = NULL;
    }
}

/* The Kernel Gateway's own name for a variable of ours; NULL: it has none. */
static const char *gateway_name(const char *env)
{
    static const char *const names[][2] = {{"IPYBOX_KERNEL_GATEWAY_PORT", "KG_PORT"},
                                           {"IPYBOX_KERNEL_GATEWAY_HOST", "KG_IP"},
                                           {"IPYBOX_KERNEL_GATEWAY_TOKEN", "KG_AUTH_TOKEN"}};
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(names[i][0], env) == 0)
            return names[i][1];
    return NULL;
}

static int set_from_environment(const struct options_row *row, struct options *ret, struct err *e)
{
    const char *name = row->env, *value = getenv(name);
    if (!value || !*value) {
        name = gateway_name(name);
        value = name ? getenv(name) : NULL;
    }
    return value && *value ? set_option(row, "", name, value, ret, e) : 0;
}

static int set_defaults_and_environment(enum role role, struct options *ret, struct err *e)
{
    set_defaults(role, ret);
    int r = 0;
    for (size_t i = 0; r == 0 && i < COUNT(rows); i++)
        if (rows[i].env && is_row_of(role, &rows[i]))
            r = set_from_environment(&rows[i], ret, e);
    return r;
}

static int unknown_option(enum role role, const char *word, int length, struct err *e)
{
    char name[NAME_MAX_LEN + 2] = "";
    if (length <= NAME_MAX_LEN && word[1] == '-')
        memcpy(name, word + 2, (size_t)length - 2);
    const char *best = nearest_option(role, name);
    if (best)
        return err_set(e, -EINVAL, "unknown option %.*s (did you mean --%s?)", length, word, best);
    return err_set(e, -EINVAL, "unknown option %.*s (see ipybox --help)", length, word);
}

static const struct options_row *find_row(enum role role, const char *name, size_t length)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (is_row_of(role, &rows[i]) && strlen(rows[i].name) == length &&
            strncmp(rows[i].name, name, length) == 0)
            return &rows[i];
    return NULL;
}

/* A word that is no option, for a command that takes some. */
static int take_word(enum role role, const char *word, struct options *ret, struct err *e)
{
    const bool takes_one =
        role == ROLE_EXEC || role == ROLE_POLICY || role == ROLE_EXPORT || role == ROLE_FORK;
    const bool takes_more = role == ROLE_APPROVE || role == ROLE_APIGEN;
    int most = takes_one ? 1 : takes_more ? OPTIONS_WORDS_MAX : 0;
    bool adopts = ret->n_words > 0 || strcmp(word, OPTIONS_ADOPT) == 0;
    if (ret->n_words >= most || (role == ROLE_APIGEN && !adopts))
        return err_set(e, -EINVAL, "unexpected word '%s' (see ipybox --help)", word);
    ret->words[ret->n_words++] = word;
    return 1;
}

/* One option at argv[0]. Returns the words it took, or an error. */
static int parse_option(enum role role, int argc, char **argv, struct options *ret, struct err *e)
{
    const char *word = argv[0];
    if (word[0] != '-' || word[1] == '\0')
        return take_word(role, word, ret, e);
    if (strcmp(word, "--") == 0 && argc > 1 && (options_own(role) & OPTION_OF_CLI)) {
        int r = take_word(role, argv[1], ret, e);
        return r < 0 ? r : 2;
    }
    size_t length = strcspn(word, "=");
    const struct options_row *row = NULL;
    if (word[1] == '-' && length > 2)
        row = find_row(role, word + 2, length - 2);
    if (!row)
        return unknown_option(role, word, length > 200 ? 200 : (int)length, e);

    const char *value = word[length] ? word + length + 1 : NULL;
    int taken = 1;
    if (!value && row->kind == OPTION_FLAG)
        value = "true";
    if (!value && argc > 1 && strncmp(argv[1], "--", 2) != 0) {
        value = argv[1];
        taken = 2;
    }
    if (!value)
        return err_set(e, -EINVAL, "--%s: a value is needed (%s)", row->name, row->word);
    int r = set_option(row, "--", row->name, value, ret, e);
    return r < 0 ? r : taken;
}

static bool wants_text(const char *word, enum options_want *ret)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        *ret = OPTIONS_HELP;
    else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        *ret = OPTIONS_VERSION;
    else
        return false;
    return true;
}

int options_parse(enum role role, int argc, char **argv, struct options *ret, struct err *e)
{
    struct options parsed = {.want = OPTIONS_RUN};
    parsed.serve = role == ROLE_SERVE || role == ROLE_SERVE_ALL;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (wants_text(argv[i], &parsed.want)) {
            *ret = parsed;
            return 0;
        }
    }
    int r = options_own(role) & OPTION_OF_CLI ? 0 : options_check_variables(e);
    if (r == 0)
        r = set_defaults_and_environment(role, &parsed, e);
    for (int i = 0; r >= 0 && i < argc; i += r)
        r = parse_option(role, argc - i, argv + i, &parsed, e);
    if (parsed.serve && !parsed.http)
        parsed.http = "8080";
    if (role == ROLE_SERVE_ALL)
        started_complete(&parsed);
    if (!parsed.sandbox_min)
        parsed.sandbox_min = parsed.sandbox ? "full" : "none";
    if (r >= 0)
        r = options_check(&parsed, e);
    if (r < 0)
        return r;
    *ret = parsed;
    return 0;
}
