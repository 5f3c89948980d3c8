/* SPDX-License-Identifier: Apache-2.0
 *
 * What waits for a human, as events: first all that waits, then what comes and what is settled. A
 * client that comes back is told all that waits again, so nothing is numbered or kept for it. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "front/api.h"
#include "front/api/api_approvals.h"
#include "front/api/api_json.h"

struct told { /* what the client knows to wait */
    struct told *next;
    char id[APPROVALS_ID_MAX];
    char outcome[16]; /* "": it waits */
    bool mine;
};

struct approval_stream {
    struct approval_stream *prev, *next;
    struct api_approvals *all;
    struct follow follow;
    struct told *told;
    bool listed;
    struct loop_defer again;
};

static void pump_approvals(void *ctx);

static void free_approval_stream(struct approval_stream *l)
{
    struct api_approvals *all = l->all;
    list_remove(&all->approval_streams, l);
    follow_drop(&l->follow);
    loop_defer_stop(all->api->loop, &l->again);
    while (l->told) {
        struct told *t = l->told;
        l->told = t->next;
        xfree(t);
    }
    xfree(l);
    if (--all->approval_stream_count == 0)
        approvals_unlisten(all->api->config->approvals, &all->listener);
}

static void on_approval_stream_gone(void *ctx)
{
    struct approval_stream *l = ctx;
    struct api_approvals *all = l->all;
    free_approval_stream(l);
    approvals_look(all); /* it did until now */
}

/* --- events ----------------------------------------------------------------------------------- */

static struct told **find_told(struct approval_stream *l, const char *id)
{
    struct told **at = &l->told;
    while (*at && strcmp((*at)->id, id) != 0)
        at = &(*at)->next;
    return at;
}

enum { TOLD_ASKED, TOLD_LISTED, TOLD_SETTLED, TOLD_CLOSED, TOLD__COUNT };
const char *const api_approval_event_names[] = {[TOLD_ASKED] = "asked",
                                                [TOLD_LISTED] = "listed",
                                                [TOLD_SETTLED] = "settled",
                                                [TOLD_CLOSED] = "closed",
                                                [TOLD__COUNT] = NULL};

static int send_settled(struct approval_stream *l, const struct told *t)
{
    drop_buf struct buf text = BUF_INIT(4096);
    struct jsonw w = JSONW(&text);
    follow_put(&l->follow, &text, 0, api_approval_event_names[TOLD_SETTLED]);
    jsonw_object(&w);
    jsonw_set_text(&w, "id", t->id);
    jsonw_set_text(&w, "outcome", t->outcome);
    jsonw_end(&w);
    return follow_send(&l->follow, &text);
}

static int send_ends(struct approval_stream *l)
{
    for (struct told **at = &l->told; *at;) {
        struct told *t = *at;
        if (!*t->outcome) {
            at = &t->next;
            continue;
        }
        int r = send_settled(l, t);
        if (r < 0)
            return r;
        *at = t->next;
        xfree(t);
    }
    return 0;
}

static int send_asked(struct approval_stream *l, const struct approval_view *view)
{
    drop_buf struct buf text = BUF_INIT(2 * APPROVALS_BYTES_MAX);
    struct jsonw w = JSONW(&text);
    follow_put(&l->follow, &text, 0, api_approval_event_names[TOLD_ASKED]);
    approvals_put(&w, l->all, view);
    return follow_send(&l->follow, &text);
}

static int send_waiting(struct approval_stream *l)
{
    struct approval_view view;
    size_t at = 0;
    while (approvals_next(l->all->api->config->approvals, &at, &view)) {
        struct told *t = *find_told(l, view.id);
        bool mine = approvals_are_mine(l->all, view.id);
        if (t && (*t->outcome || t->mine == mine))
            continue;
        int r = send_asked(l, &view);
        if (r < 0)
            return r;
        if (!t) {
            t = NEW(struct told);
            t->next = l->told;
            (void)snprintf(t->id, sizeof t->id, "%s", view.id);
            l->told = t;
        }
        t->mine = mine;
    }
    return 0;
}

static void send_listed(struct approval_stream *l)
{
    drop_buf struct buf text = BUF_INIT(4096);
    follow_put(&l->follow, &text, 0, api_approval_event_names[TOLD_LISTED]);
    (void)buf_adds(&text, "{}");
    l->listed = follow_send(&l->follow, &text) == 0;
}

static void pump_approvals(void *ctx)
{
    struct approval_stream *l = ctx;
    if (send_ends(l) == 0 && send_waiting(l) == 0 && !l->listed)
        send_listed(l);
}

static void on_approval_stream_more(void *ctx)
{
    struct approval_stream *l = ctx;
    if (!l->follow.blocked)
        loop_defer(l->all->api->loop, &l->again, pump_approvals, l);
}

static void on_asked(void *ctx)
{
    struct api_approvals *all = ctx;
    for (struct approval_stream *l = all->approval_streams; l; l = l->next)
        on_approval_stream_more(l);
}

static void on_streamed_settled(void *ctx, const char *id, const char *outcome)
{
    struct api_approvals *all = ctx;
    for (struct approval_stream *l = all->approval_streams; l; l = l->next) {
        struct told *t = *find_told(l, id);
        if (t)
            (void)snprintf(t->outcome, sizeof t->outcome, "%s", outcome);
        if (t)
            on_approval_stream_more(l);
    }
}

/* --- opening and ending ----------------------------------------------------------------------- */

void approval_streams_open(struct api_approvals *all, struct http_request *r)
{
    static const struct follow_events events = {.writable = on_approval_stream_more,
                                                .gone = on_approval_stream_gone};
    if (all->api->drains) {
        http_problem(r, 503, NULL, 0, API_STOPPING);
        return;
    }
    if (all->approval_stream_count >= API_LOOKERS_MAX) {
        http_problem(r, 429, NULL, 0, "%d clients follow the approvals, as many as there may be",
                     API_LOOKERS_MAX);
        return;
    }
    struct approval_stream *l = NEW(struct approval_stream);
    l->all = all;
    if (!follow_begin(&l->follow, all->api->loop, r, NULL, &events, l)) {
        xfree(l);
        return;
    }
    list_push(&all->approval_streams, l);
    if (all->approval_stream_count++ == 0) {
        all->listener = (struct approvals_listener){
            .asked = on_asked, .settled = on_streamed_settled, .ctx = all};
        approvals_listen(all->api->config->approvals, &all->listener);
    }
    approvals_look(all);
    on_approval_stream_more(l);
}

void approval_streams_end(struct api_approvals *all, enum follow_why why, const char *reason)
{
    while (all->approval_streams) {
        struct approval_stream *l = all->approval_streams;
        pump_approvals(l);
        follow_last(&l->follow, api_approval_event_names[TOLD_CLOSED], "reason", reason);
        follow_end(&l->follow, why, reason);
        free_approval_stream(l);
    }
}
