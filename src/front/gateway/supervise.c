/* SPDX-License-Identifier: Apache-2.0 */
#include "front/gateway/supervise.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json/jsonw.h"
#include "base/list.h"
#include "loop/lines.h"

enum { OUT_MAX = 8 << 20 };

struct supervise_client;

struct op {
    const char *name;
    bool needs_id;
    int (*run)(struct supervise_client *client, const struct json *request, const char *id,
               struct err *e);
};

struct supervise_client {
    struct supervise *owner;
    struct supervise_client *next;
    struct lines lines; /* paused while an answer is pending */
    bool watches;
    bool (*pending)(struct supervise_client *client); /* true: it has been answered */
    char id[KERNELS_ID_MAX + 1];                      /* that it waits for */
};

struct supervise {
    struct loop *loop;
    struct kernels *kernels;
    struct supervise_client *first;
    size_t count;
};

/* --- answers -------------------------------------------------------------------------------- */

static void end_supervise_line(struct supervise_client *client, struct jsonw *w)
{
    jsonw_end(w);
    (void)buf_addc(&client->lines.out, '\n');
    lines_flush(&client->lines);
}

static void answer_supervise_error(struct supervise_client *client, const char *why)
{
    struct jsonw w = JSONW(&client->lines.out);
    jsonw_object(&w);
    jsonw_set_text(&w, "error", why);
    end_supervise_line(client, &w);
}

static int answer_nothing(struct supervise_client *client)
{
    struct jsonw w = JSONW(&client->lines.out);
    jsonw_object(&w);
    end_supervise_line(client, &w);
    return 0;
}

static void answer_status(struct supervise_client *client, const struct kernels_item *item)
{
    struct jsonw w = JSONW(&client->lines.out);
    jsonw_object(&w);
    jsonw_name(&w, "rc");
    if (item && item->state != KERNELS_ENDED)
        jsonw_null(&w);
    else
        jsonw_int(&w, item ? item->status : 0);
    end_supervise_line(client, &w);
}

/* --- answers that wait for a kernel --------------------------------------------------------- */

static bool answer_when_ready(struct supervise_client *client)
{
    struct kernels_item item;
    if (!kernels_find(client->owner->kernels, client->id, &item)) {
        answer_supervise_error(client, "the kernel is gone");
        return true;
    }
    if (item.state == KERNELS_STARTING)
        return false;
    if (item.state == KERNELS_ENDED) {
        answer_supervise_error(client, item.why);
        return true;
    }
    struct jsonw w = JSONW(&client->lines.out);
    jsonw_object(&w);
    jsonw_set_raw(&w, "conn", item.connection);
    end_supervise_line(client, &w);
    return true;
}

static bool answer_when_ended(struct supervise_client *client)
{
    struct kernels_item item;
    bool known = kernels_find(client->owner->kernels, client->id, &item);
    if (known && item.state != KERNELS_ENDED)
        return false;
    answer_status(client, known ? &item : NULL);
    return true;
}

static int wait_for_kernel_state(struct supervise_client *client, const char *id,
                                 bool (*answer)(struct supervise_client *client))
{
    (void)snprintf(client->id, sizeof client->id, "%s", id);
    if (!answer(client))
        client->pending = answer;
    client->lines.paused = client->pending != NULL;
    return 0;
}

/* --- requests ------------------------------------------------------------------------------- */

static int run_launch(struct supervise_client *client, const struct json *request, const char *id,
                      struct err *e)
{
    int r = kernels_launch(client->owner->kernels, id, json_get(request, "env"),
                           json_get_text(request, "cwd"), e);
    return r < 0 ? r : wait_for_kernel_state(client, id, answer_when_ready);
}

static int run_restart(struct supervise_client *client, const struct json *request, const char *id,
                       struct err *e)
{
    (void)request;
    int r = kernels_restart(client->owner->kernels, id, e);
    return r < 0 ? r : wait_for_kernel_state(client, id, answer_when_ready);
}

static int run_poll(struct supervise_client *client, const struct json *request, const char *id,
                    struct err *e)
{
    (void)request, (void)e;
    struct kernels_item item;
    bool known = kernels_find(client->owner->kernels, id, &item);
    answer_status(client, known ? &item : NULL);
    return 0;
}

static int run_wait(struct supervise_client *client, const struct json *request, const char *id,
                    struct err *e)
{
    (void)request, (void)e;
    return wait_for_kernel_state(client, id, answer_when_ended);
}

static int run_signal(struct supervise_client *client, const struct json *request, const char *id,
                      struct err *e)
{
    struct kernels *kernels = client->owner->kernels;
    const struct json *sig = json_get(request, "sig");
    int number = json_is_number(sig) && json_number(sig) >= 0 && json_number(sig) < 64
                     ? (int)json_number(sig)
                     : -1;
    int r = 0;
    if (number == SIGINT)
        r = kernels_interrupt(kernels, id, e);
    else if (number == SIGKILL || number == SIGTERM)
        r = kernels_kill(kernels, id, e);
    else if (number != 0)
        r = err_set(e, -EINVAL, "sig: one of 0, 2, 9, 15 is needed");
    return r < 0 && r != -ENOENT ? r : answer_nothing(client); /* it may have just ended */
}

static int run_kill(struct supervise_client *client, const struct json *request, const char *id,
                    struct err *e)
{
    (void)request;
    int r = kernels_kill(client->owner->kernels, id, e);
    return r < 0 ? r : answer_nothing(client);
}

static int run_forget(struct supervise_client *client, const struct json *request, const char *id,
                      struct err *e)
{
    (void)request, (void)e;
    kernels_forget(client->owner->kernels, id);
    return answer_nothing(client);
}

static int run_list(struct supervise_client *client, const struct json *request, const char *id,
                    struct err *e)
{
    (void)request, (void)id, (void)e;
    static const char *const states[] = {
        [KERNELS_STARTING] = "starting", [KERNELS_READY] = "ready", [KERNELS_ENDED] = "ended"};
    struct jsonw w = JSONW(&client->lines.out);
    struct kernels_item item;
    jsonw_object(&w);
    jsonw_set_array(&w, "kernels");
    for (size_t at = 0; kernels_next(client->owner->kernels, &at, &item);) {
        if (item.state == KERNELS_ENDED)
            continue;
        jsonw_object(&w);
        jsonw_set_text(&w, "id", item.id);
        jsonw_set_text(&w, "owner", item.of_session ? "session" : "gateway");
        jsonw_set_text(&w, "state", states[item.state]);
        jsonw_set_raw(&w, "conn", item.connection);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    end_supervise_line(client, &w);
    return 0;
}

static int run_watch(struct supervise_client *client, const struct json *request, const char *id,
                     struct err *e)
{
    (void)request, (void)id, (void)e;
    client->watches = true;
    return answer_nothing(client);
}

static const struct op ops[] = {
    {"launch", true, run_launch}, {"restart", true, run_restart}, {"poll", true, run_poll},
    {"wait", true, run_wait},     {"signal", true, run_signal},   {"kill", true, run_kill},
    {"forget", true, run_forget}, {"list", false, run_list},      {"watch", false, run_watch},
};

static int run_supervise_request(struct supervise_client *client, const struct json *request,
                                 struct err *e)
{
    const char *name = NULL, *id = "";
    int r = json_need_text(request, "op", &name, e);
    for (size_t i = 0; r == 0 && i < sizeof ops / sizeof *ops; i++) {
        if (strcmp(ops[i].name, name) != 0)
            continue;
        if (ops[i].needs_id)
            r = json_need_text(request, "id", &id, e);
        if (r == 0 && !client->owner->kernels)
            r = err_set(e, -ESHUTDOWN, "the server is stopping");
        return r < 0 ? r : ops[i].run(client, request, id, e);
    }
    return r < 0 ? r : err_set(e, -EINVAL, "there is no op %.80s", name);
}

static void on_supervise_line(void *ctx, char *line, size_t n)
{
    struct supervise_client *client = ctx;
    struct err e = ERR_NONE;
    drop_json struct json *request = json_parse(line, n, JSON_STRICT, &e);
    if (!request || run_supervise_request(client, request, &e) < 0)
        answer_supervise_error(client, e.msg);
}

/* --- connections ---------------------------------------------------------------------------- */

static void end_client(void *ctx)
{
    struct supervise_client *client = ctx;
    chain_remove(&client->owner->first, client);
    client->owner->count--;
    lines_close(&client->lines);
    (void)fd_close(client->lines.in_fd);
    xfree(client);
}

static void on_supervise_line_too_long(void *ctx, const char *piece, size_t n, bool last)
{
    (void)piece, (void)n, (void)last;
    struct supervise_client *client = ctx;
    lines_break(&client->lines);
}

void supervise_add(struct supervise *s, int fd)
{
    static const struct lines_events events = {
        .line = on_supervise_line, .too_long = on_supervise_line_too_long, .ended = end_client};
    if (s->count >= SUPERVISE_CLIENTS_MAX || fcntl(fd, F_SETFL, O_NONBLOCK) < 0) {
        (void)fd_close(fd);
        return;
    }
    struct supervise_client *client = NEW(struct supervise_client);
    *client = (struct supervise_client){.owner = s, .next = s->first};
    client->lines = (struct lines){.loop = s->loop,
                                   .events = &events,
                                   .ctx = client,
                                   .in_fd = fd,
                                   .out_fd = fd,
                                   .line_max = SUPERVISE_LINE_MAX,
                                   .backlog_max = OUT_MAX,
                                   .out = BUF_INIT(OUT_MAX)};
    s->first = client;
    s->count++;
    struct err e = ERR_NONE;
    if (lines_open(&client->lines, &e) < 0)
        end_client(client);
}

void supervise_changed(struct supervise *s, const char *id)
{
    char copy[KERNELS_ID_MAX + 1];
    (void)snprintf(copy, sizeof copy, "%s", id);
    for (struct supervise_client *client = s->first; client; client = client->next) {
        if (client->pending && strcmp(client->id, copy) == 0 && client->pending(client)) {
            client->pending = NULL;
            lines_resume(&client->lines);
        }
        if (!client->watches || client->pending)
            continue;
        struct jsonw w = JSONW(&client->lines.out);
        jsonw_object(&w);
        jsonw_set_text(&w, "changed", copy);
        end_supervise_line(client, &w);
    }
}

/* --- opening and closing -------------------------------------------------------------------- */

struct supervise *supervise_open(struct loop *loop)
{
    struct supervise *s = NEW(struct supervise);
    s->loop = loop;
    return s;
}

struct supervise *supervise_close(struct supervise *s)
{
    if (!s)
        return NULL;
    while (s->first)
        end_client(s->first);
    xfree(s);
    return NULL;
}

void supervise_set_kernels(struct supervise *s, struct kernels *kernels)
{
    s->kernels = kernels;
}
