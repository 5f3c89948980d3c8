/* SPDX-License-Identifier: Apache-2.0 */
#include "jupyter/gateway.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"

enum { LINE_MAX_BYTES = 4096 };

struct gateway {
    const struct gateway_config *config;
    struct child *child;
    struct buf line;
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

static void on_ended(void *ctx, const struct child_exit *how, const struct err *why)
{
    struct gateway *gateway = ctx;
    const struct gateway_config *config = gateway->config;
    gateway->child = NULL;
    log_line(gateway);
    char text[600];
    if (how)
        (void)snprintf(text, sizeof text, "the gateway's process ended (status %d, signal %d)",
                       how->code, how->signal);
    else
        (void)snprintf(text, sizeof text, "the gateway did not start: %s", why->msg);
    config->log(LOG_WARNING, text);
    (void)gateway_stop(gateway);
    config->ended(config->ctx);
}

int gateway_start(const struct gateway_config *config, struct gateway **ret, struct err *e)
{
    static const struct child_events events = {.output = on_output, .ended = on_ended};
    const char *argv[] = {config->python,     "-m", "ipybox_gateway", config->socket,
                          config->supervisor, NULL};
    struct child_spec spec = {.argv = argv, .envp = config->envp, .cwd = config->cwd};
    struct gateway *gateway = NEW(struct gateway);
    gateway->config = config;
    gateway->line = BUF_INIT(LINE_MAX_BYTES);
    (void)unlink(config->socket); /* a dead one's */
    int r = child_start(config->spawner, &spec, &events, gateway, &gateway->child, e);
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
    (void)unlink(gateway->config->socket);
    (void)child_end(gateway->child);
    buf_done(&gateway->line);
    xfree(gateway);
    return NULL;
}
