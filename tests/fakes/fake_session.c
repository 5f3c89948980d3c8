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
    if (fake.refuse)
        return err_set(e, -EAGAIN, "the queue is full");
    fake.executes++;
    fake.executed_in = session;
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

struct rewind {
    void (*done)(void *ctx, const struct err *why);
    void *ctx;
};

static struct rewind rewinding;

const char *const session_not_undone[] = {"files", NULL};

bool session_checkpoint_at(const struct session *session, size_t at, struct session_checkpoint *ret)
{
    (void)session;
    *ret = (struct session_checkpoint){.cell = fake.newest - at,
                                       .missing = at == 0 ? fake.missing : NULL};
    return at < fake.newest;
}

uint64_t session_next_cell(const struct session *session)
{
    (void)session;
    return fake.newest + 1;
}

const struct session_call *session_call_at(const struct session *session, size_t at)
{
    (void)session;
    return at == 0 && fake.made.cell > 0 ? &fake.made : NULL;
}

int session_rewind(struct session *session, uint64_t cell, bool wait,
                   void (*done)(void *ctx, const struct err *why), void *ctx, struct rewind **ret,
                   struct err *e)
{
    (void)session, (void)wait;
    if (fake.refuse)
        return err_set(e, -EBUSY, "the session is busy");
    fake.rewound = cell;
    rewinding = (struct rewind){done, ctx};
    *ret = &rewinding;
    return 0;
}

void session_forget_rewind(struct rewind *rewind)
{
    fake.forgotten++;
    rewind->done = NULL;
}

void fake_session_rewound(const char *why)
{
    struct err e = ERR_NONE;
    (void)err_set(&e, -ESTALE, "%s", why ? why : "");
    if (rewinding.done)
        rewinding.done(rewinding.ctx, why ? &e : NULL);
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

int sessions_fork(struct sessions *sessions, const struct sessions_fork_spec *spec,
                  struct sessions_fork **ret, struct err *e)
{
    (void)sessions, (void)ret;
    if (fake.refuse)
        return err_set(e, -ENOENT, "there is no session %s", spec->id);
    fake.fork = *spec;
    (void)snprintf(fake.fork_of, sizeof fake.fork_of, "%s", spec->id);
    (void)snprintf(fake.fork_name, sizeof fake.fork_name, "%s", spec->name ? spec->name : "");
    return 0;
}

int sessions_end(struct sessions *sessions, const char *id, struct err *e)
{
    (void)sessions, (void)e;
    (void)snprintf(fake.ended, sizeof fake.ended, "%s", id);
    return 0;
}

void sessions_watch(struct sessions *sessions, struct sessions_watcher *w)
{
    (void)sessions;
    fake.watcher = w;
}

void sessions_unwatch(struct sessions *sessions, struct sessions_watcher *w)
{
    (void)sessions, (void)w;
    fake.watcher = NULL;
}
