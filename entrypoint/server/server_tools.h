/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/server/server_tools.h - opens the tool plane of the server: the MCP servers' registry,
 * the approvals, and two doors (doors.c) for those who call tools and who approve calls: the socket
 * for code in kernels and the port of the tool server. */
#ifndef ENTRYPOINT_SERVER_SERVER_TOOLS_H
#define ENTRYPOINT_SERVER_SERVER_TOOLS_H

#include "approval/toolplane.h"
#include "entrypoint/options.h"
#include "jupyter/tokens.h"
#include "session/kernels/sessions.h"

struct server_tools_config { /* borrowed */
    struct loop *loop;
    struct spawner *spawner;
    const struct options *options;
    const char *workspace, *runtime_dir;
    const char *instance;                /* which answers of the tool server name */
    const char *const *envp;             /* of MCP servers */
    const struct sandbox_spec *sandbox;  /* what they are put behind; NULL: nothing */
    const struct tools_place *place;     /* where they live; NULL: nowhere */
    const struct remembered *remembered; /* where registrations are kept; NULL: nowhere */
    struct tokens *tokens;               /* told here when one is worth nothing any more */
    struct sessions *sessions;
    struct metrics *metrics;
    struct audit *audit;
};

/* The session of standard input and output, of the kernel gateway and of applications. */
#define SERVER_SESSION SESSIONS_DEFAULT

/* Where the socket is; the caller frees it with xfree(). */
char *server_tools_socket(const char *runtime_dir);

struct server_tools;
MUST_CHECK int server_tools_open(const struct server_tools_config *config,
                                 struct server_tools **ret, struct err *e);
/* Both doors are closed before. */
struct server_tools *server_tools_close(struct server_tools *tools); /* NULL in, NULL out */

MUST_CHECK int server_tools_open_socket(struct server_tools *tools, struct err *e);
void server_tools_close_socket(struct server_tools *tools);
MUST_CHECK int server_tools_open_port(struct server_tools *tools, struct err *e);
void server_tools_close_port(struct server_tools *tools);

/* Begins to register the servers of --mcp-servers. */
MUST_CHECK int server_tools_register(struct server_tools *tools, struct err *e);

/* install_package has installed this. */
void server_tools_note_package(struct server_tools *tools, const char *package);

struct toolplane *server_tools_plane(const struct server_tools *tools);
struct approvals *server_tools_approvals(const struct server_tools *tools);

#endif
