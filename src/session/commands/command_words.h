/* SPDX-License-Identifier: Apache-2.0
 *
 * session/commands/command_words.h - the argv and the environment of a command (private to
 * session/commands). */
#ifndef SESSION_COMMANDS_COMMAND_WORDS_H
#define SESSION_COMMANDS_COMMAND_WORDS_H

#include "session/commands/commands.h"

struct command_words {
    const char **argv; /* owned; its texts are the spec's */
    const char **envp; /* owned */
    char **made;       /* the variables that were put together here; owned, ends with NULL */
};

/* -EINVAL: the message names what is wrong. */
MUST_CHECK int command_words_make(const struct command_spec *spec, const char *const *base,
                                  const struct json *session_env, struct command_words *ret,
                                  struct err *e);
void command_words_done(struct command_words *words);

#endif
