/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp/ask_text.h - what a human reads before deciding (of front/ and the command line).
 * Hostile: names, arguments and messages are made by code and by servers. Characters that steer a
 *          terminal, turn the direction of the text or are invisible are shown as \u001b and the
 *          like. The whole stands in a fence of three backquotes, which nothing inside can close:
 *          no line of it begins with what came from outside.
 * Limits:  everything is shown in full; over 16 MiB the caller's buffer fails. */
#ifndef FRONT_MCP_ASK_TEXT_H
#define FRONT_MCP_ASK_TEXT_H

#include "approval/approvals.h"

struct buf;

#define ASK_APPROVE "approve"
#define ASK_APPROVE_SESSION "approve for this session"
#define ASK_REJECT "reject"

/* params of elicitation/create, as JSON text. with_mode: "mode" is known since 2025-11-25. */
void ask_put_approval(struct buf *out, const struct approval_view *view, bool with_mode);

/* The same for a form that a server asks for; -EINVAL: not one that can be passed on. */
MUST_CHECK int ask_put_form(struct buf *out, const struct approval_view *view, bool with_mode,
                            struct err *e);

/* The text with everything that hides or steers made visible; also line breaks and tabs, unless
 * indent > 0: then each further line begins with so many blanks (four and more keep the fence). */
void ask_put_visible(struct buf *out, const char *text, int indent);

/* JSON text, indented; its values exactly as they are written, as far as they are visible. */
void ask_put_pretty(struct buf *out, const char *json);

#endif
