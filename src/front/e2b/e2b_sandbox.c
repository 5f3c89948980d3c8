/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandboxes: a session each, with what E2B says of it beside. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/random.h"
#include "base/secret.h"
#include "front/e2b/e2b_internal.h"

enum { ID_BYTES = 10 };

#define HOME "/home/user" /* of E2B's images; here it is the workspace */

/* --- finding ---------------------------------------------------------------------------------- */

struct e2b_sandbox *e2b_sandbox_find(const struct e2b *e, const char *id)
{
    struct e2b_sandbox *s = e->sandboxes;
    while (s && strcmp(s->id, id) != 0)
        s = s->next;
    return s;
}

struct e2b_sandbox *e2b_sandbox_by_key(const struct e2b *e, const char *key)
{
    struct e2b_sandbox *s = e->sandboxes;
    while (s && !(s->key && strcmp(s->key, key) == 0))
        s = s->next;
    return s;
}

struct e2b_sandbox *e2b_sandbox_by_token(const struct e2b *e, const char *token)
{
    struct e2b_sandbox *s = e->sandboxes;
    while (s && !secret_equal(s->access_token, token) && !secret_equal(s->traffic_token, token))
        s = s->next;
    return s;
}

/* --- ending ----------------------------------------------------------------------------------- */

static void free_sandbox(struct e2b_sandbox *s)
{
    e2b_part_ended(s->owner, s);
    list_remove(&s->owner->sandboxes, s);
    loop_timer_stop(s->owner->config.loop, &s->end);
    xfree(s->template_name);
    xfree(s->key);
    (void)json_free(s->metadata);
    (void)json_free(s->env);
    xfree(s);
}

void e2b_sandbox_kill(struct e2b_sandbox *s)
{
    struct err e = ERR_NONE; /* -ENOENT: it has ended by itself */
    (void)!sessions_end(s->owner->config.sessions, s->id, &e);
    free_sandbox(s);
}

void e2b_sandboxes_close(struct e2b *e)
{
    while (e->sandboxes)
        free_sandbox(e->sandboxes);
}

static void on_sandbox_timeout(void *ctx)
{
    struct e2b_sandbox *s = ctx;
    if (s->pauses && !s->paused)
        e2b_sandbox_pause(s);
    else
        e2b_sandbox_kill(s);
}

int64_t e2b_sandbox_left(const struct e2b_sandbox *s)
{
    int64_t left = s->end_ms - clock_real_ms();
    return s->end_ms == 0 ? INT64_MAX : left > 0 ? left : 0;
}

void e2b_sandbox_set_end(struct e2b_sandbox *s, int64_t in_ms)
{
    s->end_ms = clock_real_ms() + in_ms;
    loop_timer_set(s->owner->config.loop, &s->end, in_ms, on_sandbox_timeout, s);
}

/* --- making ----------------------------------------------------------------------------------- */

int e2b_sandbox_session(const struct e2b_sandbox *s, const char *id, const char *cwd,
                        struct sessions_view *ret, struct err *err)
{
    const char *workspace = s->owner->config.workspace;
    if (cwd && strcmp(cwd, HOME) == 0)
        cwd = workspace;
    const struct sessions_spec spec = {.id = id,
                                       .env = s->env,
                                       .cwd = cwd,
                                       .timeout_ms = SESSIONS_MS_MAX,
                                       .sandboxed = s->offline};
    return sessions_create(s->owner->config.sessions, &spec, ret, err);
}

static struct json *copy_json(const struct json *j)
{
    struct err e = ERR_NONE;
    char *text = j && !json_is_null(j) ? json_print(j) : NULL;
    struct json *copy = text ? json_parse(text, strlen(text), JSON_REQUEST, &e) : NULL;
    xfree(text);
    return copy;
}

static struct e2b_sandbox *record_sandbox(struct e2b *e, const struct e2b_sandbox_spec *spec)
{
    struct e2b_sandbox *s = NEW(struct e2b_sandbox);
    *s = (struct e2b_sandbox){.owner = e,
                              .number = ++e->numbers,
                              .template_name = xstrdup(spec->template_name),
                              .key = spec->key ? xstrdup(spec->key) : NULL,
                              .metadata = copy_json(spec->metadata),
                              .env = copy_json(spec->env),
                              .offline = spec->offline,
                              .pauses = spec->pauses,
                              .wakes = spec->wakes,
                              .timeout_ms = spec->timeout_ms,
                              .started_ms = clock_real_ms()};
    if (spec->id)
        (void)snprintf(s->id, sizeof s->id, "%s", spec->id);
    else
        random_hex(s->id, ID_BYTES);
    random_hex(s->access_token, E2B_TOKEN_BYTES);
    random_hex(s->traffic_token, E2B_TOKEN_BYTES);
    list_push(&e->sandboxes, s);
    return s;
}

struct e2b_sandbox *e2b_sandbox_branch(const struct e2b_sandbox *parent, const char *id,
                                       int64_t timeout_ms)
{
    const struct e2b_sandbox_spec spec = {.id = id,
                                          .template_name = parent->template_name,
                                          .metadata = parent->metadata,
                                          .env = parent->env,
                                          .offline = parent->offline,
                                          .pauses = parent->pauses,
                                          .wakes = parent->wakes,
                                          .timeout_ms = timeout_ms};
    struct e2b_sandbox *s = record_sandbox(parent->owner, &spec);
    e2b_sandbox_set_end(s, timeout_ms);
    return s;
}

int e2b_sandbox_new(struct e2b *e, const struct e2b_sandbox_spec *spec, struct e2b_sandbox **ret,
                    struct err *err)
{
    struct sessions_view view;
    struct e2b_sandbox *s = record_sandbox(e, spec);
    int r = e2b_sandbox_session(s, s->id, NULL, &view, err);
    if (r < 0) {
        free_sandbox(s);
        return r;
    }
    if (spec->timeout_ms > 0)
        e2b_sandbox_set_end(s, spec->timeout_ms);
    *ret = s;
    return 0;
}
