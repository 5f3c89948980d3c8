/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/cli/cli_fill.h - the answer to a question of an MCP server at the command line, from
 * words or from a terminal.
 * Answer:  the text of a JSON object that fits the form (front/mcp/form.h); the server judges it
 *          once more. Numbers are sent as they were written.
 * Failing: -EINVAL, e names the field; -ECANCELED: the terminal's input ended. The texts of a form
 *          may be in *e: it is shown by cli_complain(). */
#ifndef ENTRYPOINT_CLI_CLI_FILL_H
#define ENTRYPOINT_CLI_CLI_FILL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"

#define CLI_FILL_MAX ((size_t)255 << 10) /* the server takes 256 KiB with all around it */

/* NAME=VALUE each; for a list the same name again, and an empty value for none. A field that is
 * not named has its default. */
MUST_CHECK int cli_fill_words(const struct json *form, const char *const *words, int n,
                              struct buf *ret, struct err *e);

/* Exactly this. */
MUST_CHECK int cli_fill_json(const struct json *form, const char *text, size_t n, struct buf *ret,
                             struct err *e);

/* Asks what to do (accept, decline, cancel: *ret_action), and to accept field after field; again
 * where a value does not fit. An empty line is the default, or leaves the field out. */
MUST_CHECK int cli_fill_terminal(const struct json *form, int in, int out, const char **ret_action,
                                 struct buf *ret, struct err *e);

/* Asks until one of the words comes, or a beginning of it. No byte behind the line is read. */
MUST_CHECK int cli_fill_choose(int in, int out, const char *what, const char *const *words,
                               const char **ret, struct err *e);

#endif
