/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/options.h - the tables of options, commands and variables. The parser, --help, the man
 * page and docs/options.md are made from them, so none of these can differ from another. A new
 * option is one row in options.c and one field here.
 * Order:   a flag wins over the environment, the environment over the default. An empty variable
 *          counts as unset.
 * Memory:  texts are borrowed from argv, the environment and the table; keep these as they are.
 * Errors:  every message names the option and is for the user; the exit status is
 *          OPTIONS_USAGE_STATUS. */
#ifndef ENTRYPOINT_OPTIONS_H
#define ENTRYPOINT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"

#define OPTIONS_USAGE_STATUS 2
#define OPTIONS_WORDS_MAX 130           /* approve ID yes FIELD=VALUE… */
#define OPTIONS_TEXT_MAX (64 * 1024)    /* enough for every text that is made here, but for: */
#define OPTIONS_SCRIPT_MAX (256 * 1024) /* completions */

enum options_want { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION };
enum options_log_format { OPTIONS_LOG_TEXT, OPTIONS_LOG_JSON };

struct options {
    enum options_want want; /* --help and --version end the parsing: nothing else is valid then */
    const char *workspace;
    const char *tool_server_host;
    int tool_server_port;          /* 0: off */
    bool tool_server_open;         /* to the user's programs, without a token */
    const char *tool_server_token; /* NULL: none */
    const char *approver_token;    /* likewise */
    bool approve_tool_calls;
    int approval_timeout;    /* milliseconds, 0: none */
    const char *tool_policy; /* NULL: none */
    const char *mcp_servers; /* likewise */
    const char *mcp_root;    /* likewise */
    const char *servers_dir; /* likewise */
    const char *state_dir;   /* likewise */
    const char *mcp_cwd;     /* likewise */
    int connect_timeout;     /* milliseconds */
    bool approve_shell_cmds;
    bool require_shell_escape;
    bool search_tool;
    bool fork_tool;
    const char *kernel_gateway_host;
    int kernel_gateway_port;          /* 0: off */
    const char *kernel_gateway_token; /* NULL: none */
    bool serve;                       /* without standard input: `ipybox serve`, `serve-all` */
    const char *http;                 /* [HOST:]PORT (options_address()); NULL: off */
    const char *token;                /* NULL: none, as the next */
    const char *execute_token;
    const char *instance;   /* NULL: the host's name */
    const char *public_url; /* NULL: none */
    int max_sessions;
    bool agent_sandbox, agent_sandbox_open;
    int agent_sandbox_port, agent_sandbox_rest_port, agent_sandbox_grpc_port; /* 0: off */
    bool e2b, librechat;
    const char *librechat_jwt_keys; /* NULL: none */
    const char *librechat_jwt_issuer, *librechat_jwt_audience;
    int e2b_envd_port, e2b_code_port; /* 0: off */
    bool sandbox;
    const char *sandbox_config; /* NULL: none */
    const char *pip_allowed_hosts;
    const char *sandbox_min; /* name of a level; never NULL */
    int kernel_tasks;        /* 0: no limit, as of the next */
    int kernel_files;
    int kernel_cpu;                    /* seconds */
    int mcp_tasks, mcp_files, mcp_cpu; /* likewise, of each stdio MCP server */
    uint64_t mcp_memory;
    uint64_t kernel_file_size, kernel_disk; /* bytes */
    uint64_t kernel_memory;                 /* likewise; OPTIONS_AUTO: by the container's limit */
    const char *audit_log;                  /* NULL: none */
    enum log_level log_level;
    enum options_log_format log_format;
    int stop_grace;      /* seconds, as all that follow */
    int interrupt_grace; /* a cell may ignore an interrupt so long */
    int kernel_start_timeout;
    int kernel_idle_timeout; /* 0: none */
    int checkpoints;         /* 0: none */
    int spare_kernels;
    bool no_kernel_template;
    bool allow_root;
    uint64_t output_file_limit; /* bytes */
    int keep_files;             /* in images/ and outputs/; 0: all, as of the next */
    uint64_t keep_files_size;   /* bytes */
    int keep_files_age;         /* seconds */
    const char *python;
    const char *ca; /* NULL: none */
    /* of apigen alone; NULL: not given */
    const char *server_name, *server_params, *root_dir, *tools_file;
    /* of exec, sessions, policy, approve, logs, export and fork alone */
    const char *session;
    int cell_timeout; /* seconds; 0: the session's */
    bool follow, json, reset, force, wait;
    int fork_count; /* 0: not given */
    bool keep_random;
    int remember; /* seconds; 0: not */
    int remember_calls;
    const char *format;                   /* ipynb or py; NULL: not given */
    const char *answer;                   /* JSON, "-": standard input; NULL: not given */
    const char *words[OPTIONS_WORDS_MAX]; /* what is no option */
    int n_words;
};

#define OPTIONS_ADOPT "adopt" /* the word behind `apigen`, before its options */

enum role {
    ROLE_SERVER,
    ROLE_SERVE,
    ROLE_SERVE_ALL,
    ROLE_APIGEN,
    ROLE_INIT,
    ROLE_SHIM,
    ROLE_BRANCH,
    ROLE_HEALTH,
    ROLE_AUDIT,
    ROLE_SANDBOX,
    ROLE_DOCTOR,
    ROLE_EXEC,
    ROLE_SESSIONS,
    ROLE_POLICY,
    ROLE_APPROVE,
    ROLE_LOGS,
    ROLE_EXPORT,
    ROLE_FORK,
    ROLE_COMPLETIONS,
    ROLE_MAN,
    ROLE_HELP,
    ROLE_VERSION,
};

/* Which role argv asks for. *ret_skip: how many words of argv come before the role's own.
 * -EINVAL for a word that is no command. */
MUST_CHECK int options_role(int argc, char **argv, enum role *ret, int *ret_skip, struct err *e);

/* Is it the first word of a role, and not a program of the image? */
bool options_is_command(const char *word);

/* Parses the words behind the role, of ROLE_SERVER, ROLE_SERVE, ROLE_SERVE_ALL or ROLE_APIGEN, and
 * the environment; or those of ROLE_EXEC, ROLE_SESSIONS, ROLE_POLICY, ROLE_APPROVE, ROLE_LOGS,
 * ROLE_EXPORT or ROLE_FORK.
 * -EINVAL: unknown or bad. */
MUST_CHECK int options_parse(enum role role, int argc, char **argv, struct options *ret,
                             struct err *e);

#define OPTIONS_HOST_MAX 255
/* ret_host is "" when the text names none, and without the brackets of an IPv6 address. False: it
 * is no address. */
bool options_address(const char *text, char ret_host[OPTIONS_HOST_MAX + 1], int *ret_port);

bool options_is_loopback(const char *host);

/* What the options mean together (options_check.c). For options_parse(). */
MUST_CHECK int options_check(const struct options *o, struct err *e);

struct options_hint { /* zeroed */
    const char *name; /* the nearest so far; NULL: none is near */
    size_t distance;
};
/* Is `name` meant by `word`, and nearer than what the hint has? (options_near.c) */
void options_nearer(struct options_hint *hint, const char *word, const char *name);

/* -EINVAL: a variable IPYBOX_… is almost one of ours. Others, and those that Kubernetes sets for a
 * service, are not looked at. For options_parse(). */
MUST_CHECK int options_check_variables(struct err *e);

/* The variables that hold secrets, each of which may come as NAME_FILE; NULL ends the list. */
const char *options_secret(size_t i);

/* Texts, complete; errors are sticky in the buffer (cap it with OPTIONS_TEXT_MAX). */
void options_help(struct buf *out);                    /* at most 80 columns */
void options_help_of(enum role role, struct buf *out); /* of one command */
/* What makes a shell complete words (options_complete.c). -EINVAL: bash, zsh or fish is needed. */
MUST_CHECK int options_completions(const char *shell, struct buf *out, struct err *e);
void options_man(struct buf *out);      /* roff, for man(1) */
void options_markdown(struct buf *out); /* tables for the documents */
const char *options_version(void);      /* "ipybox 0.10.0" */

#define OPTIONS_AUTO UINT64_MAX /* of a size */

/* The tables, for options_text.c and the tests. */
enum options_kind {
    OPTION_TEXT,
    OPTION_FLAG,
    OPTION_PORT,
    OPTION_ADDRESS, /* [HOST:]PORT */
    OPTION_SECONDS,
    OPTION_MILLISECONDS, /* written as seconds, with up to three digits behind the point */
    OPTION_SIZE,
    OPTION_SIZE_AUTO, /* or OPTIONS_AUTO */
    OPTION_COUNT,
    OPTION_NUMBER, /* 1 to 1000 */
    OPTION_MANY,   /* 1 to 1000000 */
    OPTION_LEVEL,
    OPTION_FORMAT,
};

enum options_flag {
    OPTION_SECRET = 1,
    OPTION_HIDDEN = 4,
    /* of these commands alone; it has no variable */
    OPTION_APIGEN = 8,
    OPTION_OF_EXEC = 16,
    OPTION_OF_SESSIONS = 32,
    OPTION_OF_APPROVE = 64,
    OPTION_OF_LOGS = 128,
    OPTION_OF_POLICY = 256,
    OPTION_OF_EXPORT = 512,
    OPTION_OF_FORK = 1024,
    OPTION_OF_CLI = OPTION_OF_EXEC | OPTION_OF_SESSIONS | OPTION_OF_APPROVE | OPTION_OF_LOGS |
                    OPTION_OF_POLICY | OPTION_OF_EXPORT | OPTION_OF_FORK,
    OPTION_OF_COMMANDS = OPTION_APIGEN | OPTION_OF_CLI,
};

struct options_row {
    const char *name; /* without the dashes */
    const char *env;  /* NULL: none */
    enum options_kind kind;
    size_t field;         /* offset in struct options */
    const char *word;     /* what stands for the value in the help; NULL for a flag */
    const char *fallback; /* the default as one would write it; NULL: none */
    unsigned flags;       /* enum options_flag */
    int least;            /* of seconds */
    const char *help;
};

struct options_command {
    const char *word;
    enum role role;
    bool hidden;
    const char *help;
    const char *words; /* that follow it; NULL: none */
};

struct options_variable { /* set in the environment only */
    const char *name, *fallback, *help;
};

/* The flag of a command that has options of its own, else 0. */
unsigned options_own(enum role role);
const struct options_row *options_rows(size_t *ret_count);
const struct options_command *options_commands(size_t *ret_count);
const struct options_variable *options_variables(size_t *ret_count);

#endif
