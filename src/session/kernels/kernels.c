/* SPDX-License-Identifier: Apache-2.0 */
#include "session/kernels/kernels.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/random.h"
#include "session/kernels/setup.h"
#include "session/queue/external.h"

enum { UUID_SIZE = 37 };

struct kernel_entry {
    struct kernels *owner;
    struct kernel_entry *next;
    char id[KERNELS_ID_MAX + 1];
    char *code; /* a cell that gives a kernel its variables and directory */
    struct kernel *kernel;
    struct external_cells external;
    struct loop_defer spare_ready;
    enum kernels_state state;
    int status;
    char why[400];
};

struct kernels {
    struct kernels_config config;
    struct loop *loop;
    char session_id[UUID_SIZE];
    struct cell *reset; /* of the session, asked for here */
    struct kernel_entry *first;
    size_t count;
};

static void random_uuid(char out[UUID_SIZE])
{
    char hex[33];
    random_hex(hex, 16);
    hex[12] = '4';
    hex[16] = "89ab"[hex[16] & 3];
    (void)snprintf(out, UUID_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
                   hex + 20);
}

static bool is_kernel_id(const char *id)
{
    size_t n = strlen(id);
    return n > 0 && n <= KERNELS_ID_MAX && strspn(id, "0123456789abcdefABCDEF-") == n;
}

static struct kernel_entry *find_kernel(const struct kernels *k, const char *id)
{
    for (struct kernel_entry *entry = k->first; entry; entry = entry->next)
        if (strcmp(entry->id, id) == 0)
            return entry;
    return NULL;
}

static bool is_session(const struct kernels *k, const char *id)
{
    return strcmp(id, k->session_id) == 0;
}

static void notify_kernel_state(struct kernels *k, const char *id)
{
    k->config.changed(k->config.ctx, id);
}

/* --- one kernel ----------------------------------------------------------------------------- */

static struct external_place kernel_place_of(const struct kernel_entry *entry)
{
    const struct session_config *config = entry->owner->config.session_config;
    return (struct external_place){.loop = entry->owner->loop,
                                   .audit = config->audit,
                                   .metrics = config->metrics,
                                   .kernel = entry->id};
}

static void end_entry(struct kernel_entry *entry, int status, const char *why)
{
    const struct external_place place = kernel_place_of(entry);
    external_lost(&entry->external, &place);
    loop_defer_stop(entry->owner->loop, &entry->spare_ready);
    entry->kernel = kernel_kill(entry->kernel);
    entry->state = KERNELS_ENDED;
    entry->status = status;
    (void)snprintf(entry->why, sizeof entry->why, "%s", why);
    notify_kernel_state(entry->owner, entry->id);
}

/* Spares were started before anybody knew of variables and directory: they get them now. */
static void on_gateway_kernel_ready(void *ctx)
{
    struct kernel_entry *entry = ctx;
    struct err e = ERR_NONE;
    struct slice code = {entry->code, strlen(entry->code)};
    if (kernel_execute(entry->kernel, code, KERNEL_ASIDE, &e) < 0)
        end_entry(entry, -9, e.msg);
}

static void on_gateway_kernel_message(void *ctx, const struct jupyter_msg *m, bool current)
{
    (void)ctx, (void)m, (void)current;
}

static void on_kernels_external(void *ctx, const struct jupyter_msg *m)
{
    struct kernel_entry *entry = ctx;
    const struct external_place place = kernel_place_of(entry);
    external_message(&entry->external, &place, m);
}

static void on_gateway_kernel_done(void *ctx, const struct json *reply)
{
    struct kernel_entry *entry = ctx;
    const char *status = json_get_text(reply, "status");
    if (!status || strcmp(status, "ok") != 0) {
        const char *evalue = json_get_text(reply, "evalue");
        end_entry(entry, -9, evalue ? evalue : "the kernel did not take its environment");
        return;
    }
    entry->state = KERNELS_READY;
    notify_kernel_state(entry->owner, entry->id);
}

static void on_gateway_kernel_heartbeat(void *ctx, bool alive)
{
    struct kernel_entry *entry = ctx;
    if (!alive)
        kernel_resume(entry->kernel);
}

static void on_gateway_kernel_ended(void *ctx, const struct err *why, const char *last_words)
{
    struct kernel_entry *entry = ctx;
    (void)last_words;
    entry->kernel = NULL;
    end_entry(entry, 0, why->msg);
}

static int start_gateway_kernel(struct kernel_entry *entry, struct err *e)
{
    static const struct kernel_events events = {.ready = on_gateway_kernel_ready,
                                                .message = on_gateway_kernel_message,
                                                .external = on_kernels_external,
                                                .done = on_gateway_kernel_done,
                                                .heartbeat = on_gateway_kernel_heartbeat,
                                                .ended = on_gateway_kernel_ended};
    const struct session_config *config = entry->owner->config.session_config;
    bool ready = false;
    entry->state = KERNELS_STARTING;
    if (config->pool)
        entry->kernel = pool_take(config->pool, &events, entry, &ready);
    if (ready)
        loop_defer(entry->owner->loop, &entry->spare_ready, on_gateway_kernel_ready, entry);
    if (entry->kernel)
        return 0;
    return kernel_start(&config->kernel, &events, entry, &entry->kernel, e);
}

static void free_kernel_entry(struct kernel_entry *entry)
{
    struct kernels *k = entry->owner;
    chain_remove(&k->first, entry);
    k->count--;
    const struct external_place place = kernel_place_of(entry);
    external_lost(&entry->external, &place);
    loop_defer_stop(k->loop, &entry->spare_ready);
    (void)kernel_kill(entry->kernel);
    xfree(entry->code);
    xfree(entry);
}

/* --- launching ------------------------------------------------------------------------------ */

int kernels_launch(struct kernels *k, const char *id, const struct json *env, const char *cwd,
                   struct err *e)
{
    struct kernel_entry *entry = find_kernel(k, id);
    if (!is_kernel_id(id))
        return err_set(e, -EINVAL, "not a kernel's id: %.80s", id);
    if (is_session(k, id) || (entry && entry->state != KERNELS_ENDED))
        return err_set(e, -EEXIST, "kernel %s is running", id);
    if (entry)
        free_kernel_entry(entry);
    if (k->count >= KERNELS_MAX)
        return err_set(e, -EAGAIN, "there are %d kernels already", KERNELS_MAX);
    char *code = NULL;
    int r = setup_code(env, "KERNEL_", cwd, &code, e);
    if (r < 0)
        return r;
    entry = NEW(struct kernel_entry);
    *entry = (struct kernel_entry){.owner = k, .next = k->first, .code = code};
    (void)snprintf(entry->id, sizeof entry->id, "%s", id);
    k->first = entry;
    k->count++;
    r = start_gateway_kernel(entry, e);
    if (r < 0)
        free_kernel_entry(entry);
    return r;
}

/* --- looking -------------------------------------------------------------------------------- */

static bool describe_session(const struct kernels *k, struct kernels_item *ret)
{
    bool ready = false;
    const struct kernel *kernel = session_kernel(k->config.session, &ready);
    if (!kernel)
        return false;
    *ret = (struct kernels_item){
        .id = k->session_id,
        .of_session = true,
        .state = ready && !k->reset ? KERNELS_READY : KERNELS_STARTING,
        .connection = kernel_connection(kernel),
    };
    return true;
}

static bool describe_kernel(const struct kernel_entry *entry, struct kernels_item *ret)
{
    *ret = (struct kernels_item){
        .id = entry->id,
        .state = entry->state,
        .connection = entry->kernel ? kernel_connection(entry->kernel) : NULL,
        .status = entry->status,
        .why = entry->why,
    };
    return true;
}

bool kernels_find(const struct kernels *k, const char *id, struct kernels_item *ret)
{
    if (is_session(k, id))
        return describe_session(k, ret);
    const struct kernel_entry *entry = find_kernel(k, id);
    return entry && describe_kernel(entry, ret);
}

bool kernels_next(const struct kernels *k, size_t *at, struct kernels_item *ret)
{
    if ((*at)++ == 0 && describe_session(k, ret))
        return true;
    size_t n = *at - 1;
    *at += n == 0; /* there is none of the session: the first entry is the first */
    n = n == 0 ? 1 : n;
    const struct kernel_entry *entry = k->first;
    while (entry && --n > 0)
        entry = entry->next;
    return entry && describe_kernel(entry, ret);
}

size_t kernels_running(const struct kernels *k)
{
    size_t n = 0;
    for (const struct kernel_entry *entry = k->first; entry; entry = entry->next)
        n += entry->state != KERNELS_ENDED;
    return n;
}

/* --- acting --------------------------------------------------------------------------------- */

static int no_such(const char *id, struct err *e)
{
    return err_set(e, -ENOENT, "there is no kernel %.80s", id);
}

int kernels_interrupt(struct kernels *k, const char *id, struct err *e)
{
    if (is_session(k, id)) {
        session_interrupt(k->config.session, false);
        return 0;
    }
    struct kernel_entry *entry = find_kernel(k, id);
    if (!entry || !entry->kernel)
        return no_such(id, e);
    kernel_interrupt(entry->kernel);
    return 0;
}

static void on_gateway_kernel_reset(void *ctx, const struct err *why)
{
    struct kernels *k = ctx;
    (void)why;
    k->reset = NULL;
    notify_kernel_state(k, k->session_id);
}

static int reset_session(struct kernels *k, struct err *e)
{
    if (k->reset)
        return 0;
    int r = session_reset(k->config.session, on_gateway_kernel_reset, k, &k->reset, e);
    if (r == 0)
        session_interrupt(k->config.session, true);
    return r;
}

int kernels_kill(struct kernels *k, const char *id, struct err *e)
{
    if (is_session(k, id))
        return reset_session(k, e);
    struct kernel_entry *entry = find_kernel(k, id);
    if (!entry)
        return no_such(id, e);
    if (entry->state != KERNELS_ENDED)
        end_entry(entry, -9, "it was killed on request");
    return 0;
}

int kernels_restart(struct kernels *k, const char *id, struct err *e)
{
    if (is_session(k, id))
        return reset_session(k, e);
    struct kernel_entry *entry = find_kernel(k, id);
    if (!entry)
        return no_such(id, e);
    loop_defer_stop(k->loop, &entry->spare_ready);
    entry->kernel = kernel_kill(entry->kernel);
    int r = start_gateway_kernel(entry, e);
    if (r < 0)
        free_kernel_entry(entry);
    return r;
}

void kernels_forget(struct kernels *k, const char *id)
{
    struct kernel_entry *entry = find_kernel(k, id);
    if (entry)
        free_kernel_entry(entry);
}

void kernels_sweep(struct kernels *k)
{
    for (struct kernel_entry *entry = k->first, *next; entry; entry = next) {
        next = entry->next;
        if (entry->state == KERNELS_ENDED)
            free_kernel_entry(entry);
    }
}

/* --- opening and closing -------------------------------------------------------------------- */

static void on_session_kernel(void *ctx)
{
    struct kernels *k = ctx;
    if (!k->reset)
        notify_kernel_state(k, k->session_id);
}

struct kernels *kernels_open(const struct kernels_config *config)
{
    struct kernels *k = NEW(struct kernels);
    k->config = *config;
    k->loop = config->session_config->kernel.loop;
    random_uuid(k->session_id);
    session_watch(config->session, on_session_kernel, k);
    return k;
}

struct kernels *kernels_close(struct kernels *k)
{
    if (!k)
        return NULL;
    session_watch(k->config.session, NULL, NULL);
    if (k->reset)
        cell_forget(k->reset);
    while (k->first)
        free_kernel_entry(k->first);
    xfree(k);
    return NULL;
}
