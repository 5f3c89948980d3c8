/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/cli/cli_held.h - standard output of `ipybox exec`: written as it comes, until the cell
 * shows that it will change what it has shown.
 * Held:    from the first display with an id, or the first clear_output, on: updates are made and
 *          cleared text is dropped there, and the end writes what is left.
 * Limits:  CLI_HELD_MAX bytes; more is written out and stays. So does what came before anything was
 *          held. The last state of a display whose place is written is added at the end.
 * Calls:   blocking, as all of the command line. */
#ifndef ENTRYPOINT_CLI_CLI_HELD_H
#define ENTRYPOINT_CLI_CLI_HELD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define CLI_HELD_MAX ((size_t)1 << 20)
#define CLI_DISPLAYS_MAX 256 /* that can be updated; of more, the first state stays */

struct cli_piece;
struct cli_held { /* all zero: nothing is held */
    struct cli_piece *first, *last;
    size_t bytes, displays;
    bool holding, clear_due;
};

void cli_held_text(struct cli_held *h, const char *text);
/* id: NULL or "": it cannot be updated. */
void cli_held_display(struct cli_held *h, const char *id, const char *text);
void cli_held_update(struct cli_held *h, const char *id, const char *text);
void cli_held_clear(struct cli_held *h, bool wait);
void cli_held_end(struct cli_held *h); /* writes what is left; then it is all zero again */

#endif
