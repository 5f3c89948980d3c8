/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/server/server_internal.h - what the server consists of (private to server.c, which
 * opens the rooms, and doors.c, which opens the doors). */
#ifndef ENTRYPOINT_SERVER_SERVER_INTERNAL_H
#define ENTRYPOINT_SERVER_SERVER_INTERNAL_H

#include "entrypoint/identity/environment.h"
#include "entrypoint/sandbox/server_sandbox.h"
#include "entrypoint/server/server_memory.h"
#include "entrypoint/server/server_place.h"
#include "entrypoint/server/server_tools.h"
#include "front/agentsandbox/agentsandbox.h"
#include "front/api.h"
#include "front/door.h"
#include "front/gateway/control.h"
#include "front/gateway/relay.h"
#include "front/gateway/supervise.h"
#include "front/http/ahead.h"
#include "front/http/closed_port.h"
#include "front/http/instance.h"
#include "front/http/public_url.h"
#include "front/mcp_stdio/stdio.h"
#include "jupyter/gateway.h"
#include "session/kernels/judge.h"
#include "session/kernels/kernels.h"
#include "session/kernels/sessions.h"

struct server {
    const struct options *options;
    struct loop *loop;
    struct spawner *spawner;
    struct zctx *zctx;
    char *workspace, *runtime_dir;
    int channels; /* the directory of kernels' sockets */
    char channels_path[40];
    char *python; /* its absolute path */
    struct environment env;
    char **offered_env; /* of kernels behind: */
    struct session_walls offered;
    struct server_sandbox sandbox;
    struct server_place place; /* of MCP servers */
    struct server_memory memory;
    struct tokens tokens; /* of kernels */
    struct server_tools *tools;
    struct template_config template_config;
    struct template *template;
    struct pool *pool;
    struct judge_places closed; /* to clients that ask for files */
    struct session_config session_config;
    struct metrics metrics;
    struct audit *audit; /* NULL: none */
    struct sessions *sessions;
    struct session *session; /* the default one */
    struct mcp_http *mcp_http;
    struct e2b *e2b;                   /* NULL: its wire is not served */
    struct librechat *librechat;       /* likewise */
    struct agentsandbox *agentsandbox; /* NULL: it is not served */
    char agentsandbox_host[OPTIONS_HOST_MAX + 1];
    struct api *api;
    int api_socket; /* inherited; -1: none, or taken over */
    char http_host[OPTIONS_HOST_MAX + 1];
    char instance[INSTANCE_MAX + 1]; /* this server's name among others */
    struct public_url public_url;    /* of the HTTP API */
    struct ahead ahead;              /* what PID 1 listens at, until the doors have taken it */
    struct supervise *supervise;
    struct kernels *kernels; /* that the kernel gateway was asked for */
    struct relay *relay;
    struct closed_port *closed_gateway, *closed_api; /* NULL: none is needed */
    struct gateway_config gateway_config;
    struct gateway *gateway;             /* while it runs */
    struct gate gateway_lines, refusals; /* that code in kernels brings into the log */
    struct control *control;
    struct mcp_config mcp_config; /* of stdio */
    struct packages_config packages;
    struct stdio *stdio;
    struct doors *doors; /* server_doors, while they are open */
    bool stopping, sessions_closed;
    int64_t grace_ms; /* of the stop */
};

/* Every door of the server, in the order in which they open (doors.c). NULL ends the list. */
extern const struct door *const server_doors[];

/* Takes no new work, gives what is under way grace_ms, and then ends the loop. A second call
 * hurries the first. */
void server_stop(struct server *s, int64_t grace_ms);

/* What the options give to work that is under way. */
int64_t server_grace_ms(const struct server *s);

/* All cells have ended. */
void server_sessions_closed(void *ctx);

#endif
