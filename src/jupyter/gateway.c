/* SPDX-License-Identifier: Apache-2.0 */
#include "jupyter/gateway.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

enum { FIRST_DELAY_MS = 1000, LAST_DELAY_MS = 30000, GOOD_RUN_MS = 60000, LINE_MAX_BYTES = 4096 };

struct gateway {
    const struct gateway_config *config;
    struct child *child;
    struct buf line;
    struct loop_timer restart;
    int64_t started, delay;
};

static void log_line(struct gateway *gateway)
{
    if (gateway->line.len > 0)
        gateway->config->log(LOG_INFO, buf_text(&gateway->line));
    buf_clear(&gateway->line);
}

static void on_output(void *ctx, const char *bytes, size_t n)
{
    struct gateway *gateway = ctx;
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n' || gateway->line.len == LINE_MAX_BYTES)
            log_line(gateway);
        if (bytes[i] != '\n')
            (void)buf_addc(&gateway->line, bytes[i]);
    }
}

static void on_restart(void *ctx);

static void on_ended(void *ctx, const struct child_exit *how, const struct err *why)
{
    struct gateway *gateway = ctx;
    gateway->child = NULL;
    log_line(gateway);
    if (loop_now(gateway->config->loop) - gateway->started > GOOD_RUN_MS)
        gateway->delay = FIRST_DELAY_MS;
    char text[600];
    if (how)
        (void)snprintf(text, sizeof text,
                       "the gateway's process ended (status %d, signal %d); it is started again in "
                       "%lld s",
                       how->code, how->signal, (long long)gateway->delay / 1000);
    else
        (void)snprintf(text, sizeof text, "the gateway did not start: %s", why->msg);
    gateway->config->log(LOG_WARNING, text);
    loop_timer_set(gateway->config->loop, &gateway->restart, gateway->delay, on_restart, gateway);
    gateway->delay = gateway->delay * 2 < LAST_DELAY_MS ? gateway->delay * 2 : LAST_DELAY_MS;
}

static int start(struct gateway *gateway, struct err *e)
{
    static const struct child_events events = {.output = on_output, .ended = on_ended};
    const struct gateway_config *config = gateway->config;
    drop_str char *ip = xasprintf("--KernelGatewayApp.ip=%s", config->host);
    drop_str char *port = xasprintf("--KernelGatewayApp.port=%d", config->port);
    const char *argv[] = {config->python,
                          "-m",
                          "kernel_gateway",
                          ip,
                          port,
                          "--KernelGatewayApp.port_retries=0",
                          "--KernelGatewayApp.answer_yes=True",
                          NULL};
    struct child_spec spec = {.argv = argv, .envp = config->envp, .cwd = config->cwd};
    gateway->started = loop_now(config->loop);
    return child_start(config->spawner, &spec, &events, gateway, &gateway->child, e);
}

static void on_restart(void *ctx)
{
    struct gateway *gateway = ctx;
    struct err e = ERR_NONE;
    if (start(gateway, &e) < 0)
        on_ended(gateway, NULL, &e);
}

int gateway_start(const struct gateway_config *config, struct gateway **ret, struct err *e)
{
    struct gateway *gateway = NEW(struct gateway);
    gateway->config = config;
    gateway->delay = FIRST_DELAY_MS;
    gateway->line = BUF_INIT(LINE_MAX_BYTES);
    int r = start(gateway, e);
    if (r < 0) {
        (void)gateway_stop(gateway);
        return r;
    }
    *ret = gateway;
    return 0;
}

struct gateway *gateway_stop(struct gateway *gateway)
{
    if (!gateway)
        return NULL;
    loop_timer_stop(gateway->config->loop, &gateway->restart);
    (void)child_end(gateway->child);
    buf_done(&gateway->line);
    xfree(gateway);
    return NULL;
}
