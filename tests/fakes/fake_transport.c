/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/fake_transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tools/transport/http_client.h"
#include "tools/transport/transport.h"

enum { SENT_MAX = 16 << 20, QUEUE = 256 };

struct fake_transports fake_transports;

struct open_transport {
    struct transport transport;
    const struct transport_events *events;
    void *ctx;
    void (*log)(void *log_ctx, const char *line);
    void *log_ctx;
    int which;
};

static struct open_transport *opened[FAKE_TRANSPORTS_MAX];

static struct {
    int which;
    char *id;
    const char *answer;
} queue[QUEUE];
static int queued;

static struct fake_rule *rule_for(const char *method)
{
    for (struct fake_rule *r = fake_transports.rules; r && r->method; r++) {
        if (strcmp(r->method, method) == 0 && (r->times == 0 || r->used < r->times)) {
            r->used++;
            return r;
        }
    }
    return NULL;
}

static void note_headers(struct buf *out, const struct transport_message *m)
{
    (void)buf_addf(out, "%s %s %s %s", m->id, m->version ? m->version : "-",
                   m->modern ? "modern" : "-", m->name ? m->name : "-");
    for (size_t i = 0; i < m->n_params; i++)
        (void)buf_addf(out, " %s=%s", m->params[i].name, m->params[i].value);
    if (m->traceparent && *m->traceparent)
        (void)buf_addf(out, " traceparent=%s tracestate=%s", m->traceparent, m->tracestate);
    (void)buf_addc(out, '\n');
}

static int fake_send(struct transport *t, const struct transport_message *m, struct err *e)
{
    struct open_transport *o = (struct open_transport *)(void *)t;
    struct fake_transport *f = &fake_transports.list[o->which];
    if (fake_transports.broken)
        return err_set(e, fake_transports.broken, "broken");
    (void)buf_add(&f->sent, m->text, m->n);
    (void)buf_addc(&f->sent, '\n');
    if (!m->id)
        return 0;
    note_headers(&f->headers, m);
    struct fake_rule *rule = rule_for(m->method);
    if (rule && rule->answer && queued < QUEUE) {
        queue[queued].which = o->which;
        queue[queued].id = xstrdup(m->id);
        queue[queued++].answer = rule->answer;
    }
    return 0;
}

static void fake_forget(struct transport *t, const char *id)
{
    struct open_transport *o = (struct open_transport *)(void *)t;
    (void)buf_addf(&fake_transports.list[o->which].forgotten, "%s ", id);
}

static void fake_close(struct transport *t)
{
    struct open_transport *o = (struct open_transport *)(void *)t;
    fake_transports.list[o->which].open = false;
    opened[o->which] = NULL;
    xfree(o);
}

static int open_one(enum params_kind kind, const struct transport_events *events, void *ctx,
                    struct transport **ret, struct err *e)
{
    static const struct transport_ops ops = {
        .send = fake_send, .forget = fake_forget, .close = fake_close};
    if (fake_transports.refuse)
        return err_set(e, fake_transports.refuse, "refused");
    if (fake_transports.n == FAKE_TRANSPORTS_MAX)
        abort();
    struct open_transport *o = NEW(struct open_transport);
    o->transport.ops = &ops;
    o->events = events;
    o->ctx = ctx;
    o->which = fake_transports.n++;
    opened[o->which] = o;
    struct fake_transport *f = &fake_transports.list[o->which];
    *f = (struct fake_transport){.kind = kind, .open = true};
    f->sent = BUF_INIT(SENT_MAX);
    f->headers = BUF_INIT(SENT_MAX);
    f->forgotten = BUF_INIT(SENT_MAX);
    *ret = &o->transport;
    return 0;
}

static void note(const char *what, const char *text)
{
    size_t n = strlen(fake_transports.opened);
    (void)snprintf(fake_transports.opened + n, sizeof fake_transports.opened - n, "%s%s;", what,
                   text);
}

int transport_stdio_open(const struct transport_stdio_config *config,
                         const struct transport_events *events, void *ctx, struct transport **ret,
                         struct err *e)
{
    int r = open_one(PARAMS_STDIO, events, ctx, ret, e);
    if (r < 0)
        return r;
    struct open_transport *o = opened[fake_transports.n - 1];
    o->log = config->log;
    o->log_ctx = config->log_ctx;
    fake_transports.opened[0] = '\0';
    for (size_t i = 0; config->argv[i]; i++)
        note("", config->argv[i]);
    for (size_t i = 0; config->envp[i]; i++)
        note("env ", config->envp[i]);
    note("cwd ", config->cwd);
    return 0;
}

static void note_http(const struct transport_http_config *config)
{
    fake_transports.opened[0] = '\0';
    note("", config->url);
    for (size_t i = 0; i < config->n_headers; i++) {
        note("", config->headers[i].name);
        note("=", config->headers[i].value);
    }
}

int transport_http_open(const struct transport_http_config *config,
                        const struct transport_events *events, void *ctx, struct transport **ret,
                        struct err *e)
{
    note_http(config);
    return open_one(PARAMS_HTTP, events, ctx, ret, e);
}

int transport_sse_open(const struct transport_http_config *config,
                       const struct transport_events *events, void *ctx, struct transport **ret,
                       struct err *e)
{
    note_http(config);
    return open_one(PARAMS_SSE, events, ctx, ret, e);
}

void fake_transport_say(int which, const char *text)
{
    if (!opened[which])
        return;
    drop_str char *copy = xstrdup(text);
    opened[which]->events->message(opened[which]->ctx, copy, strlen(copy));
}

void fake_transport_close(int which, const char *why)
{
    struct err e = ERR_NONE;
    (void)err_set(&e, -EPIPE, "%s", why);
    if (opened[which])
        opened[which]->events->closed(opened[which]->ctx, &e);
}

void fake_transport_log(int which, const char *line)
{
    if (opened[which])
        opened[which]->log(opened[which]->log_ctx, line);
}

void fake_transport_refuse(int which, const char *id, int status)
{
    struct err e = ERR_NONE;
    (void)err_set(&e, -EREMOTEIO, "HTTP status %d", status);
    if (opened[which])
        opened[which]->events->refused(opened[which]->ctx, id, status, &e);
}

static void answer(int which, const char *id, const char *text)
{
    if (!opened[which])
        return;
    if (*text == '#') {
        fake_transport_close(which, text + 1);
    } else if (*text == '!') {
        char *rest;
        long status = strtol(text + 1, &rest, 10);
        struct err e = ERR_NONE;
        (void)err_set(&e, -EREMOTEIO, "HTTP status %ld%s", status, rest);
        opened[which]->events->refused(opened[which]->ctx, id, (int)status, &e);
    } else {
        drop_str char *whole = xasprintf("{\"jsonrpc\":\"2.0\",\"id\":%s,%s}", id, text);
        fake_transport_say(which, whole);
    }
}

bool fake_transports_answer(void)
{
    int n = queued;
    queued = 0;
    for (int i = 0; i < n; i++) {
        char *id = queue[i].id;
        answer(queue[i].which, id, queue[i].answer);
        xfree(id);
    }
    return n > 0;
}

void fake_transports_reset(void)
{
    for (int i = 0; i < queued; i++)
        xfree(queue[i].id);
    queued = 0;
    for (int i = 0; i < fake_transports.n; i++) {
        buf_done(&fake_transports.list[i].sent);
        buf_done(&fake_transports.list[i].headers);
        buf_done(&fake_transports.list[i].forgotten);
    }
    fake_transports = (struct fake_transports){.n = 0};
}

int http_client_open(struct loop *loop, const char *ca_file, struct http_client **ret,
                     struct err *e)
{
    (void)loop;
    (void)ca_file;
    (void)e;
    *ret = NULL;
    return 0;
}

struct http_client *http_client_close(struct http_client *client)
{
    (void)client;
    return NULL;
}
