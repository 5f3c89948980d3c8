/* SPDX-License-Identifier: Apache-2.0
 *
 * front/apps/apps.h - pages that an MCP client shows beside a result: the extension
 * io.modelcontextprotocol/ui (private to front/).
 * Pages:   ui://ipybox/cell, which execute_ipython_cell names: what a cell has left (app_cell.h has
 *          its data). ui://ipybox/approvals: what waits for a human, for reading. Both are whole in
 *          one text: the build puts style and script into them, and a policy that lets no other
 *          script run. They ask for nothing from elsewhere.
 * Clients: only those that say that they show HTML of this profile are told of the pages.
 * Calls:   pure; no call blocks or keeps anything.
 * Source:  SEP-1865, MCP Apps of 2026-01-26. */
#ifndef FRONT_APPS_APPS_H
#define FRONT_APPS_APPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json/json.h"
#include "base/json/jsonw.h"

#define APPS_EXTENSION "io.modelcontextprotocol/ui"
#define APPS_TYPE "text/html;profile=mcp-app"
#define APPS_CELL "ui://ipybox/cell"
#define APPS_APPROVALS "ui://ipybox/approvals"
#define APPS_CELL_DATA "ipybox/cell" /* in _meta of a result */

/* Whether a client with these capabilities shows such pages; NULL: it has said nothing. */
bool apps_are_shown(const struct json *capabilities);

void apps_put_extension(struct jsonw *w); /* a member of "extensions" */
void apps_put_list(struct jsonw *w);      /* elements of "resources" */

/* The element of "contents". False, and nothing is written: there is no such page. */
bool apps_put_page(struct jsonw *w, const char *uri);

/* As the build makes them. */
extern const unsigned char app_cell_html[], app_approvals_html[];
extern const size_t app_cell_html_size, app_approvals_html_size;

#endif
