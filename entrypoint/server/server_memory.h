/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/server/server_memory.h - where registrations are kept for the next start: --state-dir,
 * else .ipybox/registrations in the workspace; outside of the image a folder of
 * $XDG_STATE_HOME/ipybox that is named after the workspace.
 * Kept:    with a uid of the server's own by the files' owner; else, with --sandbox, by the
 *          sandbox, which hides the folder.
 * Owns:    what the struct remembered points to. */
#ifndef ENTRYPOINT_SERVER_SERVER_MEMORY_H
#define ENTRYPOINT_SERVER_SERVER_MEMORY_H

#include "entrypoint/options.h"
#include "entrypoint/sandbox/server_sandbox.h"
#include "tools/client/remembered.h"

struct server_memory {
    struct remembered files; /* base == NULL: there is no place */
    char *base, *folder;
    char *records; /* the folder of the files; NULL: there is none */
};

/* Before server_sandbox_ready(). Only what was asked for can be an error. */
MUST_CHECK int server_memory_open(const struct options *options, const char *workspace,
                                  struct server_sandbox *sandbox, struct server_memory *ret,
                                  struct err *e);
/* NULL: registrations end with the server. */
const struct remembered *server_memory_files(const struct server_memory *memory);
void server_memory_done(struct server_memory *memory);

#endif
