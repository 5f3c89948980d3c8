/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/fake_session.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

struct cell {
    struct cell *next;
    const struct cell_events *events;
    void *ctx;
    void (*reset_done)(void *ctx, const struct err *why);
};

struct install {
    const struct install_events *events;
    void *ctx;
};

struct fake_session fake;
static struct cell *last; /* newest first */
static struct install *installing;

static struct cell *new_cell(const struct cell_events *events, void *ctx)
{
    struct cell *cell = NEW(struct cell);
    *cell = (struct cell){.next = last, .events = events, .ctx = ctx};
    last = cell;
    return cell;
}

static void free_cell(struct cell *cell)
{
    struct cell **at = &last;
    while (*at != cell)
        at = &(*at)->next;
    *at = cell->next;
    xfree(cell);
}

int session_execute(struct session *session, const struct cell_request *request,
                    const struct cell_events *events, void *ctx, struct cell **ret, struct err *e)
{
    (void)session;
    if (fake.refuse)
        return err_set(e, -EAGAIN, "the queue is full");
    fake.executes++;
    fake.request = *request;
    fake.origin = request->origin ? *request->origin : (struct request_context){0};
    fake.request.origin = NULL;
    (void)snprintf(fake.code, sizeof fake.code, "%.*s", (int)request->code.len, request->code.data);
    *ret = new_cell(events, ctx);
    return 0;
}

int session_reset(struct session *session, void (*done)(void *ctx, const struct err *why),
                  void *ctx, struct cell **ret, struct err *e)
{
    (void)session, (void)e;
    fake.resets++;
    *ret = new_cell(NULL, ctx);
    (*ret)->reset_done = done;
    return 0;
}

void cell_cancel(struct cell *cell)
{
    (void)cell;
    fake.cancels++;
}

static void ignore(void *ctx, const struct cell_result *result)
{
    (void)ctx, (void)result;
}

static void ignore_reset(void *ctx, const struct err *why)
{
    (void)ctx, (void)why;
}

void cell_forget(struct cell *cell)
{
    static const struct cell_events silent = {.finished = ignore};
    fake.forgotten++;
    cell->events = &silent;
    cell->reset_done = ignore_reset;
}

void cell_abandon(struct cell *cell)
{
    fake.abandoned++;
    cell_forget(cell);
}

void fake_session_text(const char *text)
{
    if (last->events->text)
        last->events->text(last->ctx, text, strlen(text));
}

void fake_session_finish(const struct cell_result *result)
{
    struct cell *cell = last;
    struct cell_result r = *result;
    const char **texts[] = {&r.ename,      &r.evalue, &r.traceback, &r.reason,
                            &r.last_words, &r.notice, &r.late};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = *texts[i] ? *texts[i] : "";
    cell->events->finished(cell->ctx, &r);
    free_cell(cell);
}

void fake_session_reset_done(const char *why)
{
    struct cell *cell = last;
    struct err e = ERR_NONE;
    (void)err_set(&e, -ENOENT, "%s", why ? why : "");
    cell->reset_done(cell->ctx, why ? &e : NULL);
    free_cell(cell);
}

void fake_session_text_all(const char *text)
{
    for (struct cell *cell = last; cell; cell = cell->next) {
        if (cell->events && cell->events->text)
            cell->events->text(cell->ctx, text, strlen(text));
    }
}

void fake_session_end_all(void)
{
    while (last) {
        if (last->reset_done) {
            fake_session_reset_done(NULL);
            continue;
        }
        struct output o;
        output_init(&o, "/tmp", 5000, 0);
        output_finish(&o, SIZE_MAX);
        fake_session_finish(&(struct cell_result){.status = CELL_ERROR, .output = &o});
        output_done(&o);
    }
}

void fake_session_drop(void)
{
    while (last)
        free_cell(last);
}

int install_start(const struct packages_config *config, const char *package,
                  const struct install_events *events, void *ctx, struct install **ret,
                  struct err *e)
{
    (void)config;
    if (*package == '-')
        return err_set(e, -EINVAL, "package_name: an option");
    fake.installs++;
    (void)snprintf(fake.package, sizeof fake.package, "%s", package);
    installing = NEW(struct install);
    *installing = (struct install){events, ctx};
    *ret = installing;
    return 0;
}

struct install *install_cancel(struct install *install)
{
    xfree(install);
    return NULL;
}

void fake_session_installed(const char *output, const char *why)
{
    struct err e = ERR_NONE;
    (void)err_set(&e, -ECHILD, "%s", why ? why : "");
    installing->events->finished(installing->ctx, output, why ? &e : NULL);
    xfree(installing);
}

bool session_is_untouched(const struct session *session)
{
    (void)session;
    return false;
}

struct history *session_history(const struct session *session)
{
    (void)session;
    return fake.history;
}

bool sessions_find(const struct sessions *sessions, const char *id, struct sessions_view *ret)
{
    (void)sessions;
    *ret = (struct sessions_view){.id = id, .session = (struct session *)&fake};
    return strcmp(id, fake.other) == 0;
}
