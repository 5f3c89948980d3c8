/* SPDX-License-Identifier: Apache-2.0 */
#include "session/queue/generation.h"

#include "apigen/apigen.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/list.h"
#include "tools/catalog/catalog.h"
#include "tools/client/package.h"

struct generation {
    struct generation *next;
    struct generations *all;
    char *server;
    struct tool_list *held;
    struct apigen_tool *tools;
    size_t n;
    struct apigen_work *work;
    struct package *package;
    char *report;
    generation_fn done;
    void *ctx;
};

struct generations {
    struct loop *loop;
    const struct tools *tools;
    char *dir;
    struct generation *queue; /* the first is being written */
    struct loop_defer slice;
    struct package_sweep *sweep; /* only while nothing is written */
    struct loop_timer pace;
};

/* --- leftovers ------------------------------------------------------------------------------- */

static void stop_sweep(struct generations *all)
{
    loop_timer_stop(all->loop, &all->pace);
    all->sweep = package_sweep_close(all->sweep);
}

static void sweep_some(void *ctx)
{
    struct generations *all = ctx;
    if (all->sweep && package_sweep_some(all->sweep))
        loop_timer_set(all->loop, &all->pace, GENERATION_SWEEP_MS, sweep_some, all);
    else
        stop_sweep(all);
}

static void start_sweep(struct generations *all)
{
    stop_sweep(all);
    all->sweep = package_sweep_open(all->dir);
    sweep_some(all);
}

/* --- a package ------------------------------------------------------------------------------- */

static void write_some_modules(void *ctx);

static void go_on_generating(struct generations *all)
{
    if (all->queue)
        loop_defer(all->loop, &all->slice, write_some_modules, all);
    else
        start_sweep(all);
}

static void drop_generation(struct generation *g)
{
    (void)package_close(g->package);
    (void)apigen_end(g->work);
    xfree(g->tools);
    tools_release(g->held);
    xfree(g->report);
    xfree(g->server);
    xfree(g);
}

static void leave_generation(struct generation *g)
{
    chain_remove(&g->all->queue, g);
}

static void finish_generation(struct generation *g, const struct err *why)
{
    leave_generation(g);
    g->report = g->package && !why ? package_report(g->package) : NULL;
    g->package = package_close(g->package);
    go_on_generating(g->all);
    g->done(g->ctx, why ? NULL : apigen_modules(g->work), why ? 0 : g->n, why);
    drop_generation(g);
}

static int begin_generation(struct generation *g, struct err *e)
{
    struct tools_server server;
    g->held = tools_hold(g->all->tools, g->server, &server);
    if (!g->held)
        return err_set(e, -ENOENT, "the MCP server %s was removed meanwhile", g->server);
    g->n = server.n_tools;
    g->tools = catalog_apigen_tools(&server);
    g->work = apigen_begin(g->server, g->tools, g->n);
    return package_open(g->all->dir, g->server, &g->package, e);
}

/* 1: there is more to do. */
static int write_module(struct generation *g, struct err *e)
{
    struct apigen_file file = {0};
    int r = apigen_next(g->work, &file, e);
    if (r == 0)
        return package_place(g->package, e);
    if (r < 0)
        return r;
    r = package_add(g->package, &file, e);
    apigen_file_done(&file);
    return r < 0 ? r : 1;
}

static void write_some_modules(void *ctx)
{
    struct generations *all = ctx;
    struct generation *g = all->queue;
    struct err e = ERR_NONE;
    int64_t end_ns = clock_ns() + GENERATION_SLICE_MS * 1000000LL;
    int r = g->work ? 0 : begin_generation(g, &e);
    for (r = r < 0 ? r : 1; r > 0 && clock_ns() < end_ns;)
        r = write_module(g, &e);
    if (r > 0)
        loop_defer(all->loop, &all->slice, write_some_modules, all);
    else
        finish_generation(g, r < 0 ? &e : NULL);
}

/* --- the queue ------------------------------------------------------------------------------- */

struct generation *generation_start(struct generations *all, const char *server, generation_fn done,
                                    void *ctx)
{
    struct generation *g = NEW(struct generation);
    *g = (struct generation){.all = all, .server = xstrdup(server), .done = done, .ctx = ctx};
    chain_append(&all->queue, g);
    stop_sweep(all);
    loop_defer(all->loop, &all->slice, write_some_modules, all);
    return g;
}

const char *generation_report(const struct generation *g)
{
    return g->report;
}

struct generation *generation_cancel(struct generation *g)
{
    if (!g)
        return NULL;
    struct generations *all = g->all;
    leave_generation(g);
    drop_generation(g);
    loop_defer_stop(all->loop, &all->slice);
    go_on_generating(all);
    return NULL;
}

struct generations *generations_open(struct loop *loop, const struct tools *tools,
                                     const char *packages_dir)
{
    struct generations *all = NEW(struct generations);
    *all = (struct generations){.loop = loop, .tools = tools, .dir = xstrdup(packages_dir)};
    return all;
}

struct generations *generations_close(struct generations *all)
{
    if (!all)
        return NULL;
    while (all->queue) {
        struct generation *g = all->queue;
        leave_generation(g);
        drop_generation(g);
    }
    loop_defer_stop(all->loop, &all->slice);
    stop_sweep(all);
    xfree(all->dir);
    xfree(all);
    return NULL;
}
