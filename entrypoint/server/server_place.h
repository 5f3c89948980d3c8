/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/server/server_place.h - finds the place of stdio MCP servers, at the start:
 * --servers-dir, else SERVER_PLACE_DIR (natively a folder of the user's cache), else a folder in
 * the runtime directory.
 * Kept:    `keep` is what is to be kept from kernels, pip and other servers: the highest folder
 *          that is for this alone.
 * Owns:    what the struct tools_place points to. */
#ifndef ENTRYPOINT_SERVER_SERVER_PLACE_H
#define ENTRYPOINT_SERVER_SERVER_PLACE_H

#include "entrypoint/options.h"
#include "entrypoint/sandbox/server_sandbox.h"
#include "tools/tools.h"

#define SERVER_PLACE_ABOVE "/var/lib/ipybox"
#define SERVER_PLACE_DIR SERVER_PLACE_ABOVE "/servers"

struct server_place {
    struct tools_place place;
    char *dir, *cwd, *keep; /* keep: NULL without a dir */
};

/* `fallback`: a directory of the server's, or NULL. Only what was asked for can be an error. */
MUST_CHECK int server_place_open(const struct options *options, const char *workspace,
                                 const char *fallback, struct server_place *ret, struct err *e);
/* Tells the sandbox what is to be kept, and finds out whether it will be. Other servers are kept
 * from it where that takes no broker: `srt` below a server needs to be one itself. Where they are
 * not, the place is none for secrets; but for root of a user namespace, whose servers may change
 * the image, too. */
MUST_CHECK int server_place_keep(struct server_place *place, struct server_sandbox *sandbox,
                                 struct err *e);
void server_place_done(struct server_place *place);

#endif
