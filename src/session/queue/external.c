/* SPDX-License-Identifier: Apache-2.0 */
#include "session/queue/external.h"

#include <stdio.h>
#include <string.h>

#include "base/json/json.h"
#include "session/queue/session.h"

static void notify_external_cell(const struct external_place *place, struct audit_event *event)
{
    event->session = place->session;
    event->kernel = place->kernel;
    event->door = "gateway";
    event->request_id = "";
    (void)audit_add(place->audit, event);
}

static void notify_begin(struct external_cells *cell, const struct external_place *place,
                         const char *code)
{
    struct audit_event event = {
        .kind = AUDIT_CELL, .code = code, .code_len = code ? strlen(code) : 0};
    cell->told = true;
    if (code)
        history_begin(place->history, HISTORY_GATEWAY,
                      (struct slice){(char *)code, event.code_len});
    notify_external_cell(place, &event);
}

static void notify_external_end(struct external_cells *cell, const struct external_place *place,
                                enum cell_status status)
{
    struct audit_event event = {.kind = AUDIT_CELL_END,
                                .outcome = cell_status_names[status],
                                .timed = true,
                                .ms = loop_now(place->loop) - cell->begun_ms};
    if (!cell->told)
        notify_begin(cell, place, NULL);
    notify_external_cell(place, &event);
    history_end(place->history, HISTORY_GATEWAY, event.outcome,
                status == CELL_LOST ? "KernelDied" : NULL, "the kernel died");
    metrics_external_cell(place->metrics, (int)status, event.ms);
    *cell = (struct external_cells){0};
}

static bool is_of(const struct external_cells *cell, const struct jupyter_msg *m)
{
    return *cell->request && strncmp(cell->request, m->parent_id, EXTERNAL_ID_MAX - 1) == 0;
}

static void begin_external(struct external_cells *cell, const struct external_place *place,
                           const struct jupyter_msg *m)
{
    *cell = (struct external_cells){.begun_ms = loop_now(place->loop)};
    (void)snprintf(cell->request, sizeof cell->request, "%s", m->parent_id);
}

static void on_external_status(struct external_cells *cell, const struct external_place *place,
                               const struct jupyter_msg *m)
{
    const char *state = json_get_text(m->content, "execution_state");
    const char *request = json_get_text(m->parent, "msg_type");
    if (!state || !request || strcmp(request, "execute_request") != 0)
        return;
    if (strcmp(state, "busy") == 0)
        begin_external(cell, place, m);
    else if (strcmp(state, "idle") == 0 && is_of(cell, m))
        notify_external_end(cell, place, cell->failed ? CELL_ERROR : CELL_OK);
}

void external_message(struct external_cells *cell, const struct external_place *place,
                      const struct jupyter_msg *m)
{
    if (m->type == JUPYTER_STATUS) {
        on_external_status(cell, place, m);
    } else if (m->type == JUPYTER_EXECUTE_INPUT) {
        if (!is_of(cell, m)) /* its begin was not heard */
            begin_external(cell, place, m);
        if (!cell->told)
            notify_begin(cell, place, json_get_text(m->content, "code"));
    } else if (is_of(cell, m)) {
        cell->failed = cell->failed || m->type == JUPYTER_ERROR;
        history_message(place->history, HISTORY_GATEWAY, m);
    }
}

void external_lost(struct external_cells *cell, const struct external_place *place)
{
    if (*cell->request)
        notify_external_end(cell, place, CELL_LOST);
}
