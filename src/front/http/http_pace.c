/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is slower than the limits allow is cut off, and so are those that only sit there when others
 * need their place. */
#include <string.h>
#include <sys/socket.h>

#include "front/http/http_request.h"

enum { LOOK_MS = 1000 }; /* so often a body is looked at, and an idle connection once */

static void cut_off(struct http *http, int fd)
{
    (void)shutdown(fd, SHUT_RDWR);
    http_kick(http);
}

static void on_head_late(void *ctx)
{
    struct conn *c = ctx;
    cut_off(c->http, c->fd);
}

/* An end that came with the last bytes is no news to the library, which has seen that edge before
 * it read the bytes. */
static bool input_is_over(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void on_idle_look(void *ctx)
{
    struct conn *c = ctx;
    int64_t left = c->idle_since + c->http->limits.idle_ms - loop_now(c->http->loop);
    if (left <= 0 || input_is_over(c->fd))
        cut_off(c->http, c->fd);
    else
        loop_timer_set(c->http->loop, &c->deadline, left, on_head_late, c);
}

void http_expect_first(struct conn *c)
{
    loop_timer_set(c->http->loop, &c->deadline, c->http->limits.header_ms, on_head_late, c);
}

void http_expect_next(struct conn *c)
{
    const int64_t idle_ms = c->http->limits.idle_ms;
    c->idle_since = loop_now(c->http->loop);
    loop_timer_set(c->http->loop, &c->deadline, idle_ms < LOOK_MS ? idle_ms : LOOK_MS, on_idle_look,
                   c);
}

static void on_body_look(void *ctx);

static void look_at_body(struct http_request *r)
{
    const int64_t left = r->body_due - loop_now(r->http->loop);
    loop_timer_set(r->http->loop, &r->timer, left < LOOK_MS ? left : LOOK_MS, on_body_look, r);
}

static void expect_step(struct http_request *r)
{
    r->body_mark = r->body_got;
    r->body_due = loop_now(r->http->loop) + r->http->limits.stall_ms;
    look_at_body(r);
}

static void on_body_look(void *ctx)
{
    struct http_request *r = ctx;
    const bool late = loop_now(r->http->loop) >= r->body_due;
    if (input_is_over(r->conn->fd) || (late && r->body_got - r->body_mark < HTTP_STEP))
        cut_off(r->http, r->conn->fd);
    else if (late)
        expect_step(r);
    else
        look_at_body(r);
}

/* Who is refused by the head may be anybody: a place is not kept for hours of a body that is thrown
 * away, and so it stands among those that make room. */
void http_expect_body(struct http_request *r)
{
    if (r->held || r->dead)
        return;
    if (r->response && r->owner == HTTP_NOBODYS)
        http_expect_first(r->conn);
    else
        expect_step(r);
}

static void on_answer_late(void *ctx)
{
    struct http_request *r = ctx;
    uint64_t now = http_acknowledged(r);
    if (!r->idle && now > 0 && now - r->answer_mark < HTTP_STEP) {
        cut_off(r->http, r->conn->fd);
        return;
    }
    r->idle = r->suspended;
    r->answer_mark = now;
    loop_timer_set(r->http->loop, &r->timer, r->http->limits.stall_ms, on_answer_late, r);
}

/* The system takes a small answer at once, mostly; asking it costs a tenth of a short request. A
 * connection on which more was sent before has one stall_ms more for it. */
void http_expect_reader(struct http_request *r)
{
    r->answer_mark = r->small ? 0 : http_acknowledged(r);
    loop_timer_set(r->http->loop, &r->timer, r->http->limits.stall_ms, on_answer_late, r);
}

bool http_make_room(struct http *http, const char *address)
{
    struct conn *oldest = NULL;
    for (struct conn *c = http->conns; c; c = c->next) {
        if (c->deadline.armed && !c->cut && (!address || strcmp(c->address, address) == 0))
            oldest = c;
    }
    if (!oldest)
        return false;
    oldest->cut = true;
    cut_off(http, oldest->fd);
    return true;
}
