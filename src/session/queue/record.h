/* SPDX-License-Identifier: Apache-2.0
 *
 * session/queue/record.h - what a session writes into its event log (private to session/). log ==
 * NULL: none is kept. */
#ifndef SESSION_QUEUE_RECORD_H
#define SESSION_QUEUE_RECORD_H

#include "session/events/eventlog.h"
#include "session/queue/session.h"
#include "wire/jupyter_msg.h"

/* As the config says; NULL: none. */
struct eventlog *record_open(const struct session_config *config);

/* Likewise, of its notebook. */
struct history *record_open_history(const struct session_config *config);

/* What was left out of it becomes "". */
void record_result(struct cell_result *result);

void record_kernel(struct eventlog *log, const char *state, const char *reason);
/* Its code up to RECORD_CODE_MAX bytes, and who sent it. */
#define RECORD_CODE_MAX ((size_t)64 << 10)
void record_begin(struct eventlog *log, uint64_t cell, const struct request_context *origin,
                  struct slice code);
void record_end(struct eventlog *log, const struct cell_result *result);
void record_history_end(struct history *history, const struct cell_result *result);

/* What a kernel said. `late`: after the end of that cell. False: an event does not hold it. */
bool record_message(struct eventlog *log, uint64_t cell, bool late, const struct jupyter_msg *m);

/* Records the cell in the audit log, before the code runs; -EIO: it must not run. */
MUST_CHECK int record_audit_begin(const struct session_config *config, uint64_t cell,
                                  const struct request_context *origin, struct slice code,
                                  struct err *e);
void record_audit_end(const struct session_config *config, uint64_t cell, const char *request_id,
                      enum cell_status status, int64_t ms);

#endif
