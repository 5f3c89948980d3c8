/* SPDX-License-Identifier: Apache-2.0 */
#include "session/queue/foreign.h"

#include <stdio.h>
#include <string.h>

#include "base/json/json.h"
#include "session/queue/session.h"

static void tell_foreign_cell(const struct foreign_place *place, struct audit_event *event)
{
    event->session = place->session;
    event->kernel = place->kernel;
    event->door = "gateway";
    event->request_id = "";
    (void)audit_add(place->audit, event);
}

static void tell_begin(struct foreign *cell, const struct foreign_place *place, const char *code)
{
    struct audit_event event = {
        .kind = AUDIT_CELL, .code = code, .code_len = code ? strlen(code) : 0};
    cell->told = true;
    tell_foreign_cell(place, &event);
}

static void notify_foreign_end(struct foreign *cell, const struct foreign_place *place,
                               enum cell_status status)
{
    struct audit_event event = {.kind = AUDIT_CELL_END,
                                .outcome = cell_status_names[status],
                                .timed = true,
                                .ms = loop_now(place->loop) - cell->begun_ms};
    if (!cell->told)
        tell_begin(cell, place, NULL);
    tell_foreign_cell(place, &event);
    metrics_foreign_cell(place->metrics, (int)status, event.ms);
    *cell = (struct foreign){0};
}

static bool is_of(const struct foreign *cell, const struct jupyter_msg *m)
{
    return *cell->request && strncmp(cell->request, m->parent_id, FOREIGN_ID_MAX - 1) == 0;
}

static void begin_foreign(struct foreign *cell, const struct foreign_place *place,
                          const struct jupyter_msg *m)
{
    *cell = (struct foreign){.begun_ms = loop_now(place->loop)};
    (void)snprintf(cell->request, sizeof cell->request, "%s", m->parent_id);
}

static void on_foreign_status(struct foreign *cell, const struct foreign_place *place,
                              const struct jupyter_msg *m)
{
    const char *state = json_get_text(m->content, "execution_state");
    const char *request = json_get_text(m->parent, "msg_type");
    if (!state || !request || strcmp(request, "execute_request") != 0)
        return;
    if (strcmp(state, "busy") == 0)
        begin_foreign(cell, place, m);
    else if (strcmp(state, "idle") == 0 && is_of(cell, m))
        notify_foreign_end(cell, place, cell->failed ? CELL_ERROR : CELL_OK);
}

void foreign_message(struct foreign *cell, const struct foreign_place *place,
                     const struct jupyter_msg *m)
{
    if (m->type == JUPYTER_STATUS) {
        on_foreign_status(cell, place, m);
    } else if (m->type == JUPYTER_EXECUTE_INPUT) {
        if (!is_of(cell, m)) /* its begin was not heard */
            begin_foreign(cell, place, m);
        if (!cell->told)
            tell_begin(cell, place, json_get_text(m->content, "code"));
    } else if (m->type == JUPYTER_ERROR && is_of(cell, m)) {
        cell->failed = true;
    }
}

void foreign_lost(struct foreign *cell, const struct foreign_place *place)
{
    if (*cell->request)
        notify_foreign_end(cell, place, CELL_LOST);
}
