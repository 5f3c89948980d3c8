/* SPDX-License-Identifier: Apache-2.0
 *
 * front/toolserver/toolsock.h - the Unix socket on which code in kernels calls tools and asks for
 * approval.
 * Protocol: JSON-RPC 2.0, one message a line; requests are answered in any order.
 *   hello   {"token"}                                      {}; the first message, within 5 s
 *   run     {"server_name","tool_name","tool_args",        {"result":VALUE}, and "content":[BLOCK…]
 *            "server_params"?}                             when one of them is no text; or
 *                                                          {"error":TEXT,"type"?}
 *   approve {"server_name","tool_name","tool_args"}        {"approved":true}, or
 *                                                          {"approved":false,"error":TEXT,"type"?}
 *   await   {"server_name"}                                {"started":true}, once no registration
 *                                                          of that name is under way, or
 *                                                          {"started":false,"error":TEXT}
 *   servers {}                                             {"servers":[{"name","state","tools",
 *                                                          "error"?}…]}
 *   reset   {}                                             {}; stops the servers, which all
 *                                                          sessions share: code of one may
 *   cancel  {"id"}                                         a notification: that request is not
 *                                                          answered any more
 *           "type" is "rejected" or "timeout". An error of the protocol that belongs to no request
 *           has the id null, and the connection ends.
 * Numbers:  tool_args and results go through as they were written.
 * Trust:    who connects is nobody before its hello: little memory, little time, and the oldest
 *           such connection makes room for a new one. After it, what all connections of one token
 *           hold together is limited, so that code harms its own calls alone.
 * Closing:  a connection's end cancels its calls. */
#ifndef FRONT_TOOLSERVER_TOOLSOCK_H
#define FRONT_TOOLSERVER_TOOLSOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "approval/toolplane.h"
#include "loop/loop.h"

#define TOOLSOCK_LINE_MAX ((size_t)64 << 20) /* bytes of a request or an answer */
#define TOOLSOCK_HELD_MAX                                                                          \
    ((size_t)256 << 20)                    /* bytes that one token may keep here: lines that are   \
                                              not whole or not read, arguments of open calls */
#define TOOLSOCK_BACKLOG ((size_t)1 << 20) /* bytes of unread answers: nothing more is read */
#define TOOLSOCK_HELLO_MAX ((size_t)4096)  /* bytes of the first line */
#define TOOLSOCK_HELLO_MS 5000
#define TOOLSOCK_CONNECTIONS_MAX 1024
#define TOOLSOCK_STRANGERS_MAX 128 /* of these, before their hello */
#define TOOLSOCK_PER_TOKEN_MAX 256
#define TOOLSOCK_CALLS_MAX 1000 /* open requests of a connection */

struct toolsock_config { /* copied; what it points to is borrowed */
    struct loop *loop;
    const char *path; /* replaced when it is there */
    struct toolplane *toolplane;
    const char *may_reset; /* the session whose code may stop the servers, which all share; NULL:
                              none */
    /* Whether there is such a token (compared in constant time), and the session it belongs to. */
    bool (*who)(void *ctx, const char *token, const char **session);
    void *ctx;
};

struct toolsock;
MUST_CHECK int toolsock_open(const struct toolsock_config *config, struct toolsock **ret,
                             struct err *e);
struct toolsock *toolsock_close(struct toolsock *s); /* cancels all; NULL in, NULL out */

/* Cancels the calls of this token, which is not valid any more, and ends its connections. */
void toolsock_revoke(struct toolsock *s, const char *token);

#endif
