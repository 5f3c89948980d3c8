/* SPDX-License-Identifier: Apache-2.0
 *
 * session/queue/share.h - the characters that a cell asked for at most, shared out to what its
 * answer has: the text, the links, an error, late output (private to session/).
 * Shares:  an error takes what the text leaves, and at least three fifths; late output at most a
 *          fifth, links at most a third of what the text has. What a share does not need is the
 *          text's. */
#ifndef SESSION_QUEUE_SHARE_H
#define SESSION_QUEUE_SHARE_H

#include "session/queue/session_internal.h"

/* The cell's output is finished, its error and the late output are cut; `result` tells of them.
 * `late`: that output is told with this cell. */
void share_room(struct session *s, struct cell *cell, struct cell_result *result, bool late);

#endif
