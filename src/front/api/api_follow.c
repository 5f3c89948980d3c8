/* SPDX-License-Identifier: Apache-2.0 */
#include "front/api/api_follow.h"

#include "base/json/jsonw.h"
#include "front/http/http_head.h"

enum {
    ALIVE_MS = 15000,   /* a comment so often: proxies end connections that say nothing */
    SAID_MAX = 4 << 10, /* of what a client says, before it is cut off for it */
};

/* --- Server-Sent Events ----------------------------------------------------------------------- */

static void on_follower_writable(void *ctx)
{
    struct follow *f = ctx;
    f->blocked = false;
    f->events->writable(f->ctx);
}

static void on_follower_gone(void *ctx)
{
    struct follow *f = ctx;
    f->events->gone(f->ctx);
}

static void on_follower_alive(void *ctx)
{
    struct follow *f = ctx;
    if (!f->blocked)
        (void)!http_stream_write(f->r, ":\n\n", 3);
    loop_timer_set(f->loop, &f->alive, ALIVE_MS, on_follower_alive, f);
}

static void begin_followed_stream(struct follow *f, const char *location)
{
    static const struct http_events events = {.writable = on_follower_writable,
                                              .gone = on_follower_gone};
    const struct http_header headers[] = {{"Content-Type", "text/event-stream"},
                                          {"Cache-Control", "no-store"},
                                          {"X-Accel-Buffering", "no"},
                                          {"Location", location}};
    http_watch(f->r, &events, f);
    http_stream_begin(f->r, 200, headers, location ? 4 : 3, -1);
    (void)!http_stream_write(f->r, ":\n\n", 3); /* the head goes out with it */
    loop_timer_set(f->loop, &f->alive, ALIVE_MS, on_follower_alive, f);
}

/* --- WebSockets ------------------------------------------------------------------------------- */

static void on_follower_message(void *ctx, bool text, char *data, size_t n)
{
    struct follow *f = ctx;
    (void)text, (void)data, (void)n;
    ws_close(f->ws, WS_POLICY, "this socket only tells events");
    f->events->gone(f->ctx);
}

static void on_follower_closed(void *ctx, int code, const char *reason)
{
    (void)code, (void)reason;
    on_follower_gone(ctx);
}

static bool begin_socket(struct follow *f, struct http_request *r)
{
    static const struct ws_events events = {.message = on_follower_message,
                                            .writable = on_follower_writable,
                                            .closed = on_follower_closed};
    if (http_upgrade(r, http_subprotocol(r), &events, f, &f->ws) < 0)
        return false;
    ws_limit(f->ws, SAID_MAX, HTTP_QUEUE_MAX);
    return true;
}

/* --- both ------------------------------------------------------------------------------------- */

bool follow_begin(struct follow *f, struct loop *loop, struct http_request *r, const char *location,
                  const struct follow_events *events, void *ctx)
{
    *f = (struct follow){.loop = loop, .events = events, .ctx = ctx};
    if (http_is_handshake(r))
        return begin_socket(f, r);
    f->r = r;
    begin_followed_stream(f, location);
    return true;
}

void follow_put(const struct follow *f, struct buf *out, uint64_t number, const char *type)
{
    if (number > 0)
        (void)buf_addf(out, f->r ? "id: %llu\n" : "{\"id\":%llu,", (unsigned long long)number);
    else
        (void)buf_adds(out, f->r ? "" : "{");
    (void)buf_addf(out, f->r ? "event: %s\ndata: " : "\"event\":\"%s\",\"data\":", type);
}

int follow_send(struct follow *f, struct buf *out)
{
    (void)buf_adds(out, f->r ? "\n\n" : "}");
    if (out->failed)
        return 0;
    int r = f->r ? http_stream_write(f->r, out->data, out->len)
                 : ws_send(f->ws, true, out->data, out->len, NULL);
    f->blocked = r == -EAGAIN;
    return r;
}

void follow_last(struct follow *f, const char *type, const char *member, const char *value)
{
    drop_buf struct buf text = BUF_INIT(4096);
    struct jsonw w = JSONW(&text);
    follow_put(f, &text, 0, type);
    jsonw_object(&w);
    jsonw_set_text(&w, member, value);
    jsonw_end(&w);
    (void)buf_adds(&text, f->r ? "\n\n" : "}");
    if (f->r) {
        http_stream_last(f->r, text.data, text.len);
        return;
    }
    ws_limit(f->ws, SAID_MAX, SIZE_MAX);
    (void)!ws_send(f->ws, true, text.data, text.len, NULL);
}

void follow_end(struct follow *f, enum follow_why why, const char *reason)
{
    follow_drop(f);
    if (f->r)
        http_stream_end(f->r);
    else
        ws_close(f->ws, why == FOLLOW_STOPPING ? WS_GOING_AWAY : WS_NORMAL, reason);
}

void follow_drop(struct follow *f)
{
    loop_timer_stop(f->loop, &f->alive);
}
