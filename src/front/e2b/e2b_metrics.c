/* SPDX-License-Identifier: Apache-2.0
 *
 * What the container uses at present: a sandbox has no figures of its own, all share them. */
#include <stdio.h>

#include "base/clock.h"
#include "front/e2b/e2b_control.h"
#include "session/kernels/usage.h"

#define MIB (UINT64_C(1) << 20)

enum { PERCENT = 100 };

void e2b_metrics_open(struct e2b *e)
{
    struct usage use;
    usage_look(e->config.workspace, &use);
    e->cpu_us = use.cpu_us;
    e->cpu_ms = clock_ms();
}

/* Of all processors, since it was asked before, or since the server started. */
static double cpu_share(struct e2b *e, const struct usage *use)
{
    const int64_t now = clock_ms(), ms = now - e->cpu_ms;
    const double us = use->cpu_us > e->cpu_us ? (double)(use->cpu_us - e->cpu_us) : 0;
    if (ms <= 0)
        return 0;
    e->cpu_us = use->cpu_us;
    e->cpu_ms = now;
    double percent = us * PERCENT / 1000 / (double)ms / use->processors;
    return percent < PERCENT ? percent : PERCENT;
}

static void put_percent(struct jsonw *w, const char *name, double percent)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%.2f", percent);
    jsonw_set_raw(w, name, text);
}

void e2b_metrics_of_envd(void *ctx, struct http_request *r)
{
    struct e2b *e = ctx;
    struct usage use;
    drop_buf struct buf body = BUF_INIT(E2B_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    usage_look(e->config.workspace, &use);
    jsonw_object(&w);
    jsonw_set_int(&w, "ts", clock_real_ms() / 1000);
    jsonw_set_int(&w, "cpu_count", use.processors);
    put_percent(&w, "cpu_used_pct", cpu_share(e, &use));
    jsonw_set_int(&w, "mem_total", (int64_t)use.memory_total);
    jsonw_set_int(&w, "mem_used", (int64_t)use.memory);
    jsonw_set_int(&w, "mem_cache", (int64_t)use.cache);
    jsonw_set_int(&w, "mem_total_mib", (int64_t)(use.memory_total / MIB));
    jsonw_set_int(&w, "mem_used_mib", (int64_t)(use.memory / MIB));
    jsonw_set_int(&w, "disk_used", (int64_t)use.disk);
    jsonw_set_int(&w, "disk_total", (int64_t)use.disk_total);
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}

static void put_sample(struct jsonw *w, struct e2b *e, int64_t now)
{
    struct usage use;
    usage_look(e->config.workspace, &use);
    jsonw_object(w);
    jsonw_set_time(w, "timestamp", now * 1000);
    jsonw_set_int(w, "timestampUnix", now);
    jsonw_set_int(w, "cpuCount", use.processors);
    put_percent(w, "cpuUsedPct", cpu_share(e, &use));
    jsonw_set_int(w, "memUsed", (int64_t)use.memory);
    jsonw_set_int(w, "memTotal", (int64_t)use.memory_total);
    jsonw_set_int(w, "memCache", (int64_t)use.cache);
    jsonw_set_int(w, "diskUsed", (int64_t)use.disk);
    jsonw_set_int(w, "diskTotal", (int64_t)use.disk_total);
    jsonw_end(w);
}

/* One of now, where that is asked for. */
void e2b_sandbox_metrics(void *ctx, struct http_request *r)
{
    const uint64_t now = (uint64_t)(clock_real_ms() / 1000);
    uint64_t start = 0, end = now;
    drop_buf struct buf body = BUF_INIT(E2B_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    if (!e2b_sandbox_param(ctx, r) || !e2b_read_number(r, "start", 0, INT64_MAX, &start) ||
        !e2b_read_number(r, "end", 0, INT64_MAX, &end))
        return;
    jsonw_array(&w);
    if (start <= now && now <= end)
        put_sample(&w, ctx, (int64_t)now);
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}
