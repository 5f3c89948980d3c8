/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp/cell_answer.h - a finished cell as the content of an MCP result (private to front/).
 * First block: the text as the Python ipybox assembles it, or its error text. Further blocks, only
 *              when there is something to say: output before an error, a new kernel, late output,
 *              images.
 * Limits:      all texts together have max_output_chars characters (session/queue/share.h), and the
 *              words around them. */
#ifndef FRONT_MCP_CELL_ANSWER_H
#define FRONT_MCP_CELL_ANSWER_H

#include "session/queue/session.h"

/* The `finished` event of a cell; ctx is its struct mcp_call, which is freed. */
void cell_answer(void *ctx, const struct cell_result *result);

#endif
