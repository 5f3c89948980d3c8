/* SPDX-License-Identifier: Apache-2.0
 *
 * front/api/api_internal.h - the parts of the HTTP API, each with its routes in a file of its own
 * (private to front/). api.c puts the groups together, admits requests by the role in a route's
 * tag, and its struct api is the ctx of every handler. */
#ifndef FRONT_API_API_INTERNAL_H
#define FRONT_API_API_INTERNAL_H

#include "front/http/http.h"
#include "session/events/eventlog.h"

struct api_config;    /* api.h */
struct api_core;      /* api.c */
struct api_files;     /* api_files.c: /v1/files */
struct api_sessions;  /* api_sessions.c: /v1/sessions */
struct api_sandbox;   /* api_sandbox.c: /v1/sessions/{id}/sandbox */
struct api_mcp;       /* api_mcp.c: /mcp */
struct api_approvals; /* api_approvals.c: /v1/approvals */
struct api_packages;  /* api_packages.c: /v1/packages */
struct api_servers;   /* api_servers.c: /v1/mcp-servers */

/* What a route asks of the token: the tag of its struct http_route. Admin may do everything;
 * execute may not approve, and approve may not execute. */
enum api_role {
    API_EVERYONE, /* no token needed */
    API_EXECUTE,
    API_APPROVE,
    API_ADMIN
};

struct api {
    struct loop *loop;
    struct http *http;
    const char *workspace; /* absolute */
    struct api_sessions *sessions;
    struct api_sandbox *sandbox;
    struct api_files *files;
    struct api_mcp *mcp; /* mcp_http.c's; NULL: /mcp is not served */
    struct api_approvals *approvals;
    struct api_servers *servers;
    struct api_packages *packages;
    const struct api_config *config;
    struct api_core *core;
    struct judge *judge; /* of files (session/kernels/judge.h) */
    bool stopping;       /* no new work is taken */
    bool drains;         /* nor are streams opened: those that were have had their last event */
};

#define API_STOPPING "the server is stopping"

/* Routes, and what is behind them. Which groups there are stands in src/meson.build. */
struct api_group {
    const struct http_route *routes;
    size_t n;
    int (*open)(struct api *api, struct err *e); /* sets its member of struct api; may be NULL */
    void (*close)(struct api *api); /* also when it was not opened; no request is open any more */
    void (*drain)(struct api *api); /* its streams end with a last event; NULL: it has none */
};

/* Every group, in the order in which they open; they close in reverse order. NULL ends the list. */
extern const struct api_group *const api_groups[];

/* The events of streams, as openapi.json has them; NULL is the end of each. Those of sessions come
 * beside logged_names. */
extern const char *const api_event_names[], *const api_approval_event_names[],
                                                *const api_package_event_names[],
                                                    *const api_watch_event_names[];

extern const struct api_group api_files_group, api_mcp_group; /* which tests serve alone */

/* An event of the cell that runs in the session; data: an object. */
void api_record(const struct api *api, const char *session, enum logged_kind kind,
                const struct buf *data);

/* The parameter `limit` of a query; *ret stays as it is without one. False: it is wrong, and a
 * problem was answered. */
bool api_limit(struct http_request *r, size_t max, size_t *ret);

/* May the caller do what this role may? For members of a body that need more than the route. */
bool api_may(const struct api *api, const struct http_request *r, enum api_role role);

/* Tells the audit log and the log that an administrator gave a session settings, or tried to. */
struct sandbox_told {
    const char *session, *peer, *request_id, *settings, *outcome;
};
void api_notify_sandbox(const struct api *api, const struct sandbox_told *told);

/* The roles, as bits, of a peer on the Unix socket. */
unsigned api_peer_roles(uid_t peer, uid_t server);

uint64_t api_requests(const struct api *api); /* that were let in so far */

#endif
