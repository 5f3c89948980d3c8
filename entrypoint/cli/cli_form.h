/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/cli/cli_form.h - a question of an MCP server as text: its message, and a line for each
 * field with what it takes, whether it is needed, and its default.
 * Form:    the params of elicitation/create, as the HTTP API lists them (front/mcp/form.h).
 * Hostile: all its texts are the server's; they are shown visibly (front/mcp/ask_text.h). */
#ifndef ENTRYPOINT_CLI_CLI_FORM_H
#define ENTRYPOINT_CLI_CLI_FORM_H

#include "base/buf.h"
#include "base/json/json.h"

void cli_form_put(struct buf *out, const struct json *form);
void cli_form_put_value(struct buf *out, const struct json *value); /* of a schema, as JSON */

#endif
