/* SPDX-License-Identifier: Apache-2.0
 *
 * session/history/nbcell.h - one code cell of a notebook while its outputs come (private to this
 * room).
 * Outputs: as Jupyter keeps them: stream text in pieces by its stream, displays with their whole
 *          MIME bundle, the last state of a display that is updated while its cell is open,
 *          clear_output done.
 * Limits:  NBCELL_CODE_MAX bytes of code, NBCELL_TEXT_MAX of stream text, NBCELL_BYTES_MAX of all
 *          other outputs, NBCELL_OUTPUTS_MAX outputs; what is over them is counted, and the cell
 *          says so at its end. So a cell takes at most NBCELL_JSON_MAX as JSON. */
#ifndef SESSION_HISTORY_NBCELL_H
#define SESSION_HISTORY_NBCELL_H

#include <stdint.h>

#include "base/buf.h"
#include "base/json/jsonw.h"
#include "base/text/slice.h"
#include "wire/jupyter_msg.h"

#define NBCELL_CODE_MAX ((size_t)256 << 10)
#define NBCELL_TEXT_MAX ((size_t)256 << 10)
#define NBCELL_BYTES_MAX ((size_t)4 << 20)
#define NBCELL_OUTPUTS_MAX 1000
#define NBCELL_JSON_MAX ((size_t)8 << 20)

struct nbcell;

/* client: who ran it, in its metadata; borrowed for ever. */
struct nbcell *nbcell_new(uint64_t number, struct slice code, const char *client);
struct nbcell *nbcell_free(struct nbcell *cell); /* NULL in, NULL out */

void nbcell_message(struct nbcell *cell, const struct jupyter_msg *m);
/* status: borrowed for ever. error: a name for what ended it from outside, with `reason`; NULL:
 * its own error, if any, has come as a message. */
void nbcell_end(struct nbcell *cell, const char *status, const char *error, const char *reason);

bool nbcell_has_ended(const struct nbcell *cell);
uint64_t nbcell_number(const struct nbcell *cell);

/* The cell as nbformat 4.5 has it. */
void nbcell_put(struct buf *out, const struct nbcell *cell);

/* Its outputs, an array: of at most `max` bytes of JSON, those that fit into what is left. In place
 * of another stands {"output_type":"omitted","bytes":…}. */
void nbcell_put_outputs(struct jsonw *w, const struct nbcell *cell, size_t max);

#endif
