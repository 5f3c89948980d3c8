/* SPDX-License-Identifier: Apache-2.0 */
#include "jupyter/pool.h"

#include "base/alloc.h"

enum { LAST_DELAY_MS = 60000 };

enum pool_state { EMPTY, STARTING, WARMING, READY };

struct spare {
    struct pool *pool;
    enum pool_state state;
    struct kernel *kernel;
};

struct pool {
    const struct kernel_config *config;
    struct loop_timer refill;
    int64_t delay;
    int size;
    struct spare spares[POOL_MAX];
};

static void refill(void *ctx);

static void refill_later(struct pool *pool)
{
    if (!pool->refill.armed)
        loop_timer_set(pool->config->loop, &pool->refill, pool->delay, refill, pool);
}

static void refill_later_each_time(struct pool *pool)
{
    pool->delay = pool->delay * 2 < LAST_DELAY_MS ? pool->delay * 2 : LAST_DELAY_MS;
    refill_later(pool);
}

static void on_spare_ready(void *ctx)
{
    struct spare *spare = ctx;
    spare->state = WARMING;
    if (kernel_execute(spare->kernel, (struct slice){(char[]){"pass"}, 4}, KERNEL_ASIDE, NULL) < 0)
        spare->state = READY;
}

static void on_spare_message(void *ctx, const struct jupyter_msg *m, bool current)
{
    (void)ctx, (void)m, (void)current;
}

static void on_spare_done(void *ctx, const struct json *reply)
{
    struct spare *spare = ctx;
    (void)reply;
    spare->state = READY;
    spare->pool->delay = POOL_REFILL_MS; /* not before: a kernel may die in its first cell */
}

static void on_spare_heartbeat(void *ctx, bool alive)
{
    struct spare *spare = ctx;
    if (!alive)
        kernel_resume(spare->kernel);
}

static void on_spare_ended(void *ctx, const struct err *why, const char *last_words)
{
    struct spare *spare = ctx;
    (void)why, (void)last_words;
    spare->kernel = NULL;
    spare->state = EMPTY;
    refill_later_each_time(spare->pool);
}

static void refill(void *ctx)
{
    static const struct kernel_events events = {.ready = on_spare_ready,
                                                .message = on_spare_message,
                                                .done = on_spare_done,
                                                .heartbeat = on_spare_heartbeat,
                                                .ended = on_spare_ended};
    struct pool *pool = ctx;
    bool failed = false;
    for (int i = 0; i < pool->size; i++) {
        struct spare *spare = &pool->spares[i];
        if (spare->state != EMPTY)
            continue;
        if (kernel_start(pool->config, &events, spare, &spare->kernel, NULL) == 0)
            spare->state = STARTING;
        else
            failed = true;
    }
    if (failed)
        refill_later_each_time(pool);
}

struct pool *pool_open(const struct kernel_config *config, int size)
{
    struct pool *pool = NEW(struct pool);
    pool->config = config;
    pool->size = size;
    pool->delay = POOL_REFILL_MS;
    for (int i = 0; i < size; i++)
        pool->spares[i].pool = pool;
    if (size > 0)
        refill_later(pool);
    return pool;
}

static void drop_spares(struct pool *pool)
{
    for (int i = 0; i < pool->size; i++) {
        pool->spares[i].kernel = kernel_kill(pool->spares[i].kernel);
        pool->spares[i].state = EMPTY;
    }
}

struct pool *pool_close(struct pool *pool)
{
    if (!pool)
        return NULL;
    loop_timer_stop(pool->config->loop, &pool->refill);
    drop_spares(pool);
    xfree(pool);
    return NULL;
}

/* Spares have the packages in memory that were there when they were forked. */
static void renew_spares(struct pool *pool)
{
    drop_spares(pool);
    if (pool->size > 0)
        refill_later(pool);
}

struct kernel *pool_take(struct pool *pool, const struct kernel_events *events, void *ctx,
                         bool *ret_ready)
{
    struct spare *best = NULL;
    if (pool->config->template && template_packages_changed(pool->config->template))
        renew_spares(pool);
    for (int i = 0; i < pool->size; i++) {
        struct spare *spare = &pool->spares[i];
        if (spare->state != EMPTY && (!best || spare->state > best->state))
            best = spare;
    }
    if (!best)
        return NULL;
    struct kernel *kernel = best->kernel;
    *ret_ready = best->state == READY;
    kernel_rebind(kernel, events, ctx, best->state == WARMING);
    best->kernel = NULL;
    best->state = EMPTY;
    refill_later(pool);
    return kernel;
}
