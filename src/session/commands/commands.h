/* SPDX-License-Identifier: Apache-2.0
 *
 * session/commands/commands.h - the programs that clients start in a session, beside its cells.
 * Runs:    as a kernel of the session does: its sandbox, its budgets (each command has those of a
 *          kernel for its own tree), its user, its environment. A change of the session's sandbox
 *          holds for what runs, too, or ends it (commands_confine()).
 * Ends:    by itself, when what it started has closed its output, too; by a signal or at its
 *          timeout, its whole tree with it; or with the session. Never because nobody reads it.
 * Leaves:  what it started and left, a server in the background, goes on to the session's end, or
 *          until command_kill().
 * Readers: any number, at any time. All get the same; a command waits for the slowest. What it
 *          writes while there is none is kept, COMMANDS_KEPT_MAX bytes of it, the newest, for the
 *          first that comes; and COMMANDS_ENDED_MAX that have ended for COMMANDS_ENDED_MS.
 * Calls:   loop thread only. Events come from the loop, never from inside a call. */
#ifndef SESSION_COMMANDS_COMMANDS_H
#define SESSION_COMMANDS_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/json/json.h"
#include "session/queue/session.h"

#define COMMANDS_MAX 64 /* of one session, of which something is left */
#define COMMANDS_ENDED_MAX 16
#define COMMANDS_ENDED_MS 60000
#define COMMANDS_KEPT_MAX (256 << 10)
#define COMMANDS_INPUT_MAX (4 << 20) /* bytes that wait until a command reads them */
#define COMMANDS_WORDS_MAX 1000      /* arguments; variables likewise */

struct commands_config {                 /* borrowed while they live */
    const struct session_config *config; /* as which kernel they run; read at each start */
    const char *cwd;                     /* where they start if they do not say */
    const struct json *env;              /* of the session, beside what its kernels have; or NULL */
};

struct commands;
struct commands *commands_open(const struct commands_config *config);
/* What runs gets TERM; nothing new is started. */
void commands_stop(struct commands *commands);
/* Ends all, which their readers are told. NULL in, NULL out. */
struct commands *commands_close(struct commands *commands);

/* Those of which something is left. */
size_t commands_running(const struct commands *commands);
/* All of them stand still, or go on. */
void commands_pause(struct commands *commands, bool pause);
/* config.kernel.sandbox is another one now. */
void commands_confine(struct commands *commands);

struct command_spec { /* borrowed for the call */
    const char *program;
    const struct json *args; /* an array of texts, or NULL */
    const struct json *envs; /* an object of texts, or NULL */
    const char *cwd;         /* NULL: the session's; relative: below it */
    const char *tag;         /* NULL: none */
    bool input;              /* without: /dev/null */
    bool terminal;           /* 0, 1 and 2 are one, of this size */
    unsigned short columns, rows;
    int64_t timeout_ms; /* 0: none */
};

struct command_end {
    int code, signal;  /* exit status, or -1 and the signal that ended it */
    const char *limit; /* the budget that ended it, in a sentence; NULL */
    const char *why;   /* it never ran, or the session has ended; NULL */
    int error;         /* beside `why`: a negative errno */
    bool timed_out;    /* and was killed, if it had not ended itself */
};

enum command_stream { COMMAND_STDOUT, COMMAND_STDERR, COMMAND_TERMINAL };

struct command_events {
    void (*started)(void *ctx, pid_t pid); /* the first, but for an end without a start */
    /* They are taken. False: no more for now; command_continue() follows. */
    bool (*output)(void *ctx, enum command_stream stream, const char *bytes, size_t n);
    void (*ended)(void *ctx, const struct command_end *end); /* the last */
};

struct command;
struct command_reader { /* embedded in its owner */
    struct command_reader *prev, *next;
    struct command *command; /* NULL: of none */
    const struct command_events *events;
    void *ctx;
    bool told, behind;
    struct loop_defer tell;
};

/* -EINVAL: the message names the member; -ENOENT, -ENOTDIR, -EACCES: of its folder; -EAGAIN: there
 * are too many; -ESHUTDOWN; -EIO: the audit log takes nothing. */
MUST_CHECK int command_start(struct commands *commands, const struct command_spec *spec,
                             const struct command_events *events, void *ctx,
                             struct command_reader *reader, struct err *e);

struct command *commands_find(const struct commands *commands, pid_t pid);
struct command *commands_find_tag(const struct commands *commands, const char *tag);

/* `started` follows, what was kept, and maybe the end at once. */
void command_follow(struct command *command, const struct command_events *events, void *ctx,
                    struct command_reader *reader);
void command_unfollow(struct command_reader *reader); /* no event follows; of none: nothing */
void command_continue(struct command_reader *reader);

struct command_view { /* borrowed */
    pid_t pid;
    const char *program, *cwd, *tag; /* tag: NULL: none */
    const struct json *args, *envs;  /* as they were given; NULL: none */
    bool running, input, terminal;
};
void command_look(const struct command *command, struct command_view *ret);
/* Those that run, in no order; *at is NULL first. */
struct command *commands_next(const struct commands *commands, const struct command *at);

/* All: -ESRCH: it has ended. command_kill(): nothing is left, or it was killed already. */
MUST_CHECK int command_kill(struct command *command, bool at_once); /* KILL, or TERM */
MUST_CHECK int command_interrupt(struct command *command);          /* INT to its group */
/* -EPIPE: it has no input any more, or never had any; -EAGAIN: too much waits. */
MUST_CHECK int command_type(struct command *command, const char *bytes, size_t n);
MUST_CHECK int command_close_input(struct command *command); /* -ENOTTY: a terminal has no end */
MUST_CHECK int command_resize(struct command *command, unsigned short columns,
                              unsigned short rows); /* -ENOTTY */

#endif
