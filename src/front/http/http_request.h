/* SPDX-License-Identifier: Apache-2.0
 *
 * front/http/http_request.h - one request as the door sees it (private to http*.c).
 * http_request.c: what does not need libmicrohttpd: what a handler asks, error documents, and
 *          whether a request is let in at all. http_pace.c: who is too slow. http.c: all the rest.
 * Judged:  in this order, the first fault answers: the head's length (414, 431), Host (421), Origin
 *          (403), target (400), path (404), method (405), instance (421), the owner's `admit`,
 *          handshake (426), the announced length of the body (413), its type (415). */
#ifndef FRONT_HTTP_HTTP_REQUEST_H
#define FRONT_HTTP_HTTP_REQUEST_H

#include <netdb.h>

#include "base/log.h"
#include "front/http/http.h"
#include "front/http/http_head.h"

#define HTTP_ID_HEADER "X-Request-Id"

struct MHD_Connection;
struct MHD_Daemon;
struct MHD_Response;

struct conn {
    struct http *http;
    struct conn *next, *prev;
    int fd;
    bool cut;   /* it made room for another one; its end is on its way */
    bool is_ws; /* the library has let go of it, the WebSocket not yet */
    bool local; /* by the Unix socket, from: */
    bool below; /* the server: it is a child's child */
    uid_t uid;
    char address[NI_MAXHOST];
    struct loop_timer deadline; /* for the head of the next request, or a refused one's body */
    int64_t idle_since;         /* the last one is over */
};

/* How much of a request is there. */
enum http_arrival { HTTP_ARRIVES, HTTP_HEAD_CAME, HTTP_ALL_CAME };

/* Whose a request is: nobody's until its handler is started (one that is refused by its head stays
 * so), the handler's until it has answered or was told `gone`, and then the door's. */
enum http_owner { HTTP_NOBODYS, HTTP_HANDLERS, HTTP_DOORS };

/* What becomes of a stream when its queue is empty: it waits, or it ends. One that breaks off does
 * not wait for that, and stays so. */
enum http_stream { HTTP_STREAM_RUNS, HTTP_STREAM_ENDS, HTTP_STREAM_BREAKS };

struct http_request {
    struct http *http;
    struct conn *conn;
    struct MHD_Connection *mhd;
    struct http_request *next, *prev;
    char method[16];
    char id[LOG_REQUEST_MAX + 1];
    bool brings_id; /* a good one or not */
    char who[HTTP_WHO_MAX + 1];
    const char *owned_by; /* the instance that it is meant for; NULL: this one */
    int64_t begun_ms;
    struct http_target target;
    struct http_match match;
    const struct http_realm *realm; /* NULL: the port's own routes */
    enum http_arrival arrival;
    enum http_owner owner;
    enum http_stream stream;
    bool dead;      /* nobody reads an answer any more */
    bool suspended; /* the library does not look at it */
    bool paused;    /* the handler wants no more of the body now */
    bool held;      /* the answer is held back until `timer` */
    bool small;     /* the answer */
    const struct http_events *events;
    void *ctx;
    struct buf body;
    uint64_t body_got, body_mark, answer_mark, discarded;
    int64_t body_due;              /* when a step more is to be there */
    size_t memory;                 /* its part of http->memory */
    struct MHD_Response *response; /* ready, not queued yet */
    bool shared;                   /* it is an http_prepared's */
    int status;
    bool blocked;     /* its handler was told -EAGAIN, and waits for `writable` */
    bool idle;        /* the stream was, once since the last look at its pace */
    struct buf queue; /* of a stream; bytes before `taken` are gone */
    size_t taken;
    struct ws *ws;
    struct loop_timer timer; /* progress of the body, or an answer that is held back */
    struct loop_defer tell;
    struct loop_io *watch; /* while it is suspended */
    char raw[];            /* the target as it came */
};

struct http {
    struct http_config config;
    struct http_limits limits;
    struct loop *loop;
    struct MHD_Daemon *daemon;
    struct loop_io *io;
    struct loop_timer busy;
    struct loop_defer soon;
    struct listener *listen;
    struct ws_hub *hub;
    struct conn *conns, *arriving;
    size_t conn_count;
    uint64_t received, sent; /* of bodies */
    uint64_t ids;            /* of requests that brought none */
    char id_start[17];       /* of theirs: random digits, once */
    size_t memory;           /* bodies that are collected, answers that are not taken yet */
    struct http_request *requests;
};

extern const struct http_events http_no_events;

/* --- pace (http_pace.c): each takes the place of the one before ------------------------------- */

void http_expect_first(struct conn *c);          /* the head of its first request */
void http_expect_next(struct conn *c);           /* of the next one */
void http_expect_body(struct http_request *r);   /* progress; refused: all of it */
void http_expect_reader(struct http_request *r); /* progress of the answer */
/* Cuts off the oldest connection (of this address; NULL: of any) whose next request is not there
 * yet, or was refused and not its body. So those that only sit there keep nobody out. */
bool http_make_room(struct http *http, const char *address);

/* --- the rest --------------------------------------------------------------------------------- */

/* The library runs in the next turn. */
void http_kick(struct http *http);

/* Fills address, local and uid. False: nobody can tell who it is. */
bool http_find_peer(struct conn *c, const struct sockaddr *from, socklen_t n);
/* As many connections of this address as it may have are there. */
bool http_is_crowded(const struct http *http, const char *address);

/* Its head is there: what it is called from now on. */
void http_begin(struct http_request *r, const char *method);
/* It is over: a line for the log, without what the client wrote but for the id. */
void http_notify_over(const struct http_request *r);

/* How far the client has taken what was sent; 0: the kernel does not tell. */
uint64_t http_acknowledged(const struct http_request *r);

/* Whether it is let in; else it has been answered. */
bool http_judge(struct http_request *r, const char *method);
bool http_has_body(const struct http_request *r);
bool http_query_is_text(const struct http_request *r); /* UTF-8, and no %00 */

#endif
