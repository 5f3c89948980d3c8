/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/tools.h - the MCP servers whose tools code may use: registered by name, started when they
 * are needed, called.
 * Owner:   one `struct tools` for the process; it owns the servers' processes and connections.
 * Start:   a server is started by its registration or by the first call after a reset or after its
 *          end, once for all who wait for it; a slow one delays nobody else. A call that was under
 *          way when its server died fails with the server's last words; the next one starts it
 *          anew.
 * Names:   two that differ only in case are refused: their packages and folders would be one where
 *          the file system does not tell case apart, as in a mount from macOS or Windows.
 * Params:  {"command", "args", "env", "cwd"}, or {"url", "headers", "type"}; "type" is
 *          "streamable_http" (also "streamable-http", "http") or "sse", and guessed from /mcp or
 *          /sse in the URL when it is absent. ${VAR} in any string is replaced by `lookup`; one
 *          that is missing is an error which names it. What was replaced appears in no error, log
 *          or answer.
 * Calls:   loop thread only; nothing blocks. Events come from the loop, never from inside a call.
 * Source:  modelcontextprotocol.io specification, revisions 2024-11-05 to 2026-07-28. */
#ifndef TOOLS_TOOLS_H
#define TOOLS_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json/json.h"
#include "base/log.h"
#include "loop/loop.h"
#include "sandbox/shim/spawn.h"
#include "wire/traceparent.h"

#define TOOLS_SERVERS_MAX 256
#define TOOLS_PER_SERVER_MAX 4096
#define TOOLS_NAME_MAX 64 /* bytes of a server's name */
#define TOOLS_INPUT_ROUNDS_MAX 10

/* Where stdio servers live: one folder each, with HOME, caches and packages of its own. */
struct tools_place {       /* what it points to is borrowed */
    const char *dir;       /* belongs to this process; NULL: there is none */
    bool kept;             /* code in kernels cannot write there, nor make names on the way to it */
    bool runs;             /* programs in it can be started */
    bool open;             /* nothing is kept from cells: they run natively, without a sandbox, as
                            * the user who starts servers */
    const char *writable;  /* natively in a sandbox: the folder that cells write; or NULL: what they
                            * could change is found out */
    const char *user_base; /* the packages of cells, for servers without a secret; or NULL */
    const char *python;    /* absolute */
    const char *npm_shell; /* the shell by which npx starts a server; or NULL */
    const char *cwd;       /* where servers work without a "cwd"; NULL: that depends on secrets */
};

struct tools_config { /* copied; what it points to is borrowed */
    struct loop *loop;
    struct spawner *spawner;
    const char *const *envp;            /* of stdio servers; their "env" is added */
    const struct sandbox_spec *sandbox; /* what stdio servers are put behind; NULL: nothing */
    const struct tools_place *place;    /* NULL: they are started as they are given, by `envp` */
    const char *workspace;              /* their cwd without one of their own and a place */
    const char *root;           /* the only root that servers are told; NULL: roots are not offered.
                                 * Some take it for the only folder that they may use. */
    const char *version;        /* of this program */
    const char *ca_file;        /* extra authorities for HTTP; NULL: the system's alone */
    int64_t connect_timeout_ms; /* from the start to the list of tools */
    const char *(*lookup)(const char *name); /* value of ${name}, or NULL */
    void (*log)(enum log_level level, const char *text);
    /* What the answerer of `input` can do; sent to servers as client capabilities. May change
     * between calls. NULL: nothing. */
    bool (*can_elicit)(void *ctx);
    void *ctx;
};

struct tools;
MUST_CHECK int tools_open(const struct tools_config *config, struct tools **ret, struct err *e);
struct tools *tools_close(struct tools *tools); /* no event comes after it; NULL in, NULL out */

/* --- servers --------------------------------------------------------------------------------- */

struct tools_tool {          /* borrowed from its server, until that is registered or listed anew */
    const char *name;        /* as the server has it */
    const char *description; /* "" when there is none */
    const struct json *input;  /* its schema, an object; NULL: it has none that is one */
    const struct json *output; /* likewise */
    const char *digest;        /* hex SHA-256 over name, description and schemas */
};

enum tools_state {
    TOOLS_STOPPED, /* the next call starts it */
    TOOLS_STARTING,
    TOOLS_RUNNING,
    TOOLS_FAILED, /* its last start; the next call tries again */
};
const char *tools_state_name(enum tools_state state); /* "stopped", … */

struct tools_server { /* borrowed until the next turn of the loop */
    const char *name;
    enum tools_state state;
    const char *why;    /* of TOOLS_FAILED, with its last words; NULL else */
    const char *params; /* JSON text as registered, ${VAR} unreplaced */
    const char *shown;  /* for a human: its command line or its URL, as registered */
    const struct tools_tool *tools;
    size_t n_tools;
    /* Of a program with a place; NULL else. */
    const char *program, *cwd; /* which file it is, and where it works */
    const char *note;          /* in a sentence: also what it may use, and why */
    bool secret;               /* it holds one */
};

/* -EINVAL: not a name (a Python identifier of ASCII), or not parameters. */
MUST_CHECK int tools_check_params(const char *name, const struct json *params, struct err *e);

/* For a human: the command line or the URL, ${VAR} unreplaced. The caller frees it. */
char *tools_shown(const struct json *params);

struct tools_job;
/* Connects and lists the tools; replaces a server of that name once this has succeeded, whose
 * calls under way may end. The server is left running. done: server == NULL when it failed, why
 * says so. */
MUST_CHECK int tools_register(struct tools *tools, const char *name, const struct json *params,
                              void (*done)(void *ctx, const struct tools_server *server,
                                           const struct err *why),
                              void *ctx, struct tools_job **ret, struct err *e);
void tools_job_cancel(struct tools_job *job); /* done is not called */

/* What is said while the server's package is installed; before the first turn of the loop. */
void tools_job_listen(struct tools_job *job, void (*text)(void *ctx, const char *text, size_t n));

/* install_package was asked for this and has installed it: servers may get a copy of it. */
void tools_note_package(struct tools *tools, const char *spec);

bool tools_find(const struct tools *tools, const char *name, struct tools_server *ret);
bool tools_next(const struct tools *tools, size_t *at, struct tools_server *ret); /* *at: 0 first */

/* The tools of a server stay what *ret says until tools_release(), whatever becomes of the server;
 * the rest of it is borrowed as ever. NULL: there is no such server, or it has listed none yet. */
struct tool_list;
struct tool_list *tools_hold(const struct tools *tools, const char *name, struct tools_server *ret);
void tools_release(struct tool_list *held);

/* True when these are the parameters that the server was registered with, member by member. */
bool tools_same_params(const struct tools *tools, const char *name, const struct json *params);

bool tools_equal_params(const struct json *a, const struct json *b);

void tools_remove(struct tools *tools, const char *name);

/* Stops all servers; calls under way fail. They stay registered; the next call starts them. What
 * is being registered goes on. */
void tools_reset(struct tools *tools);

/* --- calls ----------------------------------------------------------------------------------- */

struct tools_result {              /* borrowed for the call */
    bool is_error;                 /* the tool failed; its content says why */
    const struct json *content;    /* the array of content blocks, or NULL */
    const struct json *structured; /* structuredContent, or NULL: for a look at it … */
    const char *structured_text;   /* … and as the server wrote it, numbers exact; NULL with it */
};

struct tools_call_events {
    /* notifications/progress of this call; total < 0: unknown; message: "" when absent. */
    void (*progress)(void *ctx, double progress, double total, const char *message);
    /* The server asks something: `params` of elicitation/create. Answered by tools_call_answer()
     * with the same key; one after the other. NULL: answered with a decline. */
    void (*input)(void *ctx, uint64_t key, const struct json *params);
    /* The last event, the call is gone; result == NULL: no answer, why says so. */
    void (*done)(void *ctx, const struct tools_result *result, const struct err *why);
};

struct tools_call;
/* trace: where the call belongs, NULL: nowhere. It goes with every request of the call as from a
 * new span: HTTP has headers, a program _meta.
 * arguments: JSON text of an object, which reaches the server as it is written (numbers are not
 * touched); -EINVAL: it is none. -ENOENT: there is no such server. A tool that is not in the list
 * is an error of the server, which is asked. `events` is copied. */
MUST_CHECK int tools_call_start(struct tools *tools, const char *server, const char *tool,
                                const char *arguments, const struct trace *trace,
                                const struct tools_call_events *events, void *ctx,
                                struct tools_call **ret, struct err *e);

/* The result of elicitation/create as JSON text: {"action":"accept","content":{…}}. */
void tools_call_answer(struct tools_call *call, uint64_t key, const char *answer);

/* Tells the server, too; no event comes any more, the call is gone. */
void tools_call_cancel(struct tools_call *call);

#endif
