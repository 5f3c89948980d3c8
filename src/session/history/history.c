/* SPDX-License-Identifier: Apache-2.0 */
#include "session/history/history.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/json/jsonw.h"

enum { NOTE_MAX = 16 << 10 };

struct history {
    struct eventlog *log;                /* a cell or a note is the data of a record */
    struct nbcell *open[HISTORY__COUNT]; /* that run, or were the last to */
    uint64_t cells, notes;
};

struct history *history_open(const struct history_config *config)
{
    if (config->memory_max == 0)
        return NULL;
    struct history *h = NEW(struct history);
    h->log = eventlog_open(&(struct eventlog_config){.loop = config->loop,
                                                     .memory_max = config->memory_max,
                                                     .data_max = NBCELL_JSON_MAX,
                                                     .spill_dir = config->spill_dir,
                                                     .spill_max = config->spill_max});
    return h;
}

struct history *history_close(struct history *h)
{
    if (!h)
        return NULL;
    for (size_t i = 0; i < HISTORY__COUNT; i++)
        (void)nbcell_free(h->open[i]);
    h->log = eventlog_close(h->log);
    xfree(h);
    return NULL;
}

static void keep_entry(struct history *h, const struct buf *json)
{
    if (!json->failed)
        eventlog_add(h->log,
                     &(struct logged){.kind = LOGGED_END, .data = json->data, .n = json->len});
}

static void settle_cell(struct history *h, size_t i)
{
    drop_buf struct buf json = BUF_INIT(NBCELL_JSON_MAX);
    if (!h->open[i])
        return;
    nbcell_put(&json, h->open[i]);
    keep_entry(h, &json);
    h->open[i] = nbcell_free(h->open[i]);
}

static void settle_ended(struct history *h)
{
    for (size_t i = 0; i < HISTORY__COUNT; i++)
        if (h->open[i] && nbcell_has_ended(h->open[i]))
            settle_cell(h, i);
}

void history_begin(struct history *h, enum history_client client, struct slice code)
{
    static const char *const names[] = {
        [HISTORY_SESSION] = "session", [HISTORY_GATEWAY] = "gateway"};
    if (!h)
        return;
    settle_ended(h);
    settle_cell(h, client);
    h->open[client] = nbcell_new(++h->cells, code, names[client]);
}

void history_message(struct history *h, enum history_client client, const struct jupyter_msg *m)
{
    if (h && h->open[client])
        nbcell_message(h->open[client], m);
}

void history_end(struct history *h, enum history_client client, const char *status,
                 const char *error, const char *reason)
{
    if (h && h->open[client] && !nbcell_has_ended(h->open[client]))
        nbcell_end(h->open[client], status, error, reason);
}

void history_kernel(struct history *h, const char *why)
{
    char id[32];
    drop_buf struct buf json = BUF_INIT(NOTE_MAX), text = BUF_INIT(NOTE_MAX / 4);
    struct jsonw w = JSONW(&json);
    if (!h)
        return;
    settle_ended(h);
    (void)snprintf(id, sizeof id, "kernel-%llu", (unsigned long long)++h->notes);
    (void)buf_addf(&text, "A new kernel: %.1000s. Variables and imports made before were gone.",
                   why);
    jsonw_object(&w);
    jsonw_set_text(&w, "cell_type", "markdown");
    jsonw_set_text(&w, "source", buf_text(&text));
    jsonw_set_text(&w, "id", id);
    jsonw_set_object(&w, "metadata");
    jsonw_end(&w);
    jsonw_end(&w);
    keep_entry(h, &json);
}

void history_put_outputs(struct jsonw *w, const struct history *h, enum history_client client,
                         size_t max)
{
    if (h && h->open[client]) {
        nbcell_put_outputs(w, h->open[client], max);
        return;
    }
    jsonw_array(w);
    jsonw_end(w);
}

bool history_next(struct history *h, uint64_t *at, struct slice *ret, uint64_t *ret_missed)
{
    struct logged entry;
    if (eventlog_next(h->log, *at, &entry, ret_missed) < 0)
        return false;
    *at = entry.number;
    *ret = (struct slice){(char *)entry.data, entry.n};
    return true;
}

const struct nbcell *history_open_cell(const struct history *h, size_t i)
{
    const struct nbcell *a = h->open[HISTORY_SESSION], *b = h->open[HISTORY_GATEWAY];
    if (a && b && nbcell_number(b) < nbcell_number(a))
        return i == 0 ? b : i == 1 ? a : NULL;
    return i == 0 ? (a ? a : b) : i == 1 && a ? b : NULL;
}
