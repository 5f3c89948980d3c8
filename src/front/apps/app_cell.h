/* SPDX-License-Identifier: Apache-2.0
 *
 * front/apps/app_cell.h - what the page of a cell shows, as JSON for _meta of the cell's result
 * (private to front/).
 * Form:    {"status", "reason", "outputs": as nbformat has them, "files": [{"path", "mime"}],
 *          "variables": [{"name", "type", "value"}]}. What is unknown is missing.
 * Hostile: all of it was made by code in the kernel. It is valid JSON of this form here; the page
 *          shows it as text, as pictures, or as HTML without script and origin.
 * Limits:  APP_OUTPUTS_MAX bytes of outputs, in whole ones; APP_VARIABLES_MAX variables, with
 *          APP_TEXT_MAX characters in each text; APP_FILES_MAX files. So hosts take the result. */
#ifndef FRONT_APPS_APP_CELL_H
#define FRONT_APPS_APP_CELL_H

#include "session/queue/session.h"

#define APP_OUTPUTS_MAX ((size_t)700 << 10)
#define APP_VARIABLES_MAX 200
#define APP_TEXT_MAX 100
#define APP_FILES_MAX 50
#define APP_CELL_MAX ((size_t)4 << 20) /* a buffer that takes all of it */

/* history: of the cell's session, or NULL. */
void app_cell_put(struct jsonw *w, const struct cell_result *r, const struct history *history);

#endif
