/* SPDX-License-Identifier: Apache-2.0
 *
 * front/api_parts.h - the parts of the HTTP API, each with its routes in a file of its own (private
 * to front/). api.c puts the tables together; the ctx of every handler is the struct api. */
#ifndef FRONT_API_PARTS_H
#define FRONT_API_PARTS_H

#include "front/http.h"

struct api_files;    /* api_files.c: /v1/files */
struct api_sessions; /* api_sessions.c: /v1/sessions */
struct api_mcp;      /* api_mcp.c: /mcp */

struct api {
    struct loop *loop;
    struct http *http;
    struct api_sessions *sessions;
    struct api_files *files;
    struct api_mcp *mcp;
};

struct api_routes {
    const struct http_route *routes;
    size_t n;
};

#endif
