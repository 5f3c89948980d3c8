/* SPDX-License-Identifier: Apache-2.0
 *
 * session/executions/result.h - collects what an execution brings (private to this room).
 * Limits:  as of executions.h; what is over them is counted or marked, never an error. */
#ifndef SESSION_EXECUTIONS_RESULT_H
#define SESSION_EXECUTIONS_RESULT_H

#include "session/executions/executions.h"

void result_init(struct execution_result *r);
void result_done(struct execution_result *r);
/* A message of the kernel, while it runs. */
void result_collect(struct execution_result *r, const struct jupyter_msg *m);
/* The end: copies what is borrowed. */
void result_finish(struct execution_result *r, const struct cell_result *cell, int64_t duration_ms);
/* What it takes, about, in bytes. */
size_t result_bytes(const struct execution_result *r);

#endif
