/* SPDX-License-Identifier: Apache-2.0 */
#include "front/door.h"

#include "base/alloc.h"
#include "base/buf.h"

enum { NAMES_MAX = 1024 };

enum door_state { DOOR_SHUT, DOOR_OPEN, DOOR_ENDED };

struct doors {
    struct loop *loop;
    const struct door *const *list;
    enum door_state *states; /* one for each of the list */
    const struct doors_events *events;
    void *ctx;
    struct loop_timer deadline;
    bool draining, drained;
};

static size_t count_doors(const struct door *const *list)
{
    size_t n = 0;
    while (list[n])
        n++;
    return n;
}

static void check_doors_drained(struct doors *doors)
{
    if (!doors->draining || doors->drained)
        return;
    for (size_t i = 0; doors->list[i]; i++) {
        if (doors->states[i] == DOOR_OPEN)
            return;
    }
    doors->drained = true;
    doors->events->drained(doors->ctx);
}

static int open_each(struct doors *doors, struct err *e)
{
    for (size_t i = 0; doors->list[i]; i++) {
        int r = doors->list[i]->open ? doors->list[i]->open(doors->ctx, e) : 0;
        if (r < 0)
            return r;
        doors->states[i] = r == DOOR_UNUSED ? DOOR_SHUT : DOOR_OPEN;
    }
    return 0;
}

int doors_open(struct loop *loop, const struct door *const *list, const struct doors_events *events,
               void *ctx, struct doors **ret, struct err *e)
{
    struct doors *doors = NEW(struct doors);
    *doors = (struct doors){.loop = loop, .list = list, .events = events, .ctx = ctx};
    doors->states = xcalloc(count_doors(list) + 1, sizeof *doors->states);
    int r = open_each(doors, e);
    if (r < 0)
        (void)doors_close(doors);
    else
        *ret = doors;
    return r;
}

struct doors *doors_close(struct doors *doors)
{
    if (!doors)
        return NULL;
    loop_timer_stop(doors->loop, &doors->deadline);
    for (size_t i = count_doors(doors->list); i-- > 0;) {
        if (doors->states[i] != DOOR_SHUT && doors->list[i]->close)
            doors->list[i]->close(doors->ctx);
    }
    xfree(doors->states);
    xfree(doors);
    return NULL;
}

static void on_drain_deadline(void *ctx)
{
    struct doors *doors = ctx;
    drop_buf struct buf names = BUF_INIT(NAMES_MAX);
    for (size_t i = 0; doors->draining && doors->list[i]; i++) {
        if (doors->states[i] != DOOR_OPEN)
            continue;
        if (names.len > 0)
            (void)buf_adds(&names, ", ");
        (void)buf_adds(&names, doors->list[i]->name);
    }
    doors->events->late(doors->ctx, buf_text(&names));
}

void doors_stop(struct doors *doors, int64_t deadline_ms)
{
    loop_timer_set(doors->loop, &doors->deadline, deadline_ms, on_drain_deadline, doors);
    for (size_t i = count_doors(doors->list); i-- > 0;) {
        if (doors->states[i] != DOOR_SHUT && doors->list[i]->stop)
            doors->list[i]->stop(doors->ctx);
    }
}

void doors_drain(struct doors *doors)
{
    if (doors->draining)
        return;
    for (size_t i = count_doors(doors->list); i-- > 0;) {
        if (doors->states[i] != DOOR_OPEN)
            continue;
        if (doors->list[i]->drain)
            doors->list[i]->drain(doors->ctx);
        else
            doors->states[i] = DOOR_ENDED;
    }
    doors->draining = true;
    check_doors_drained(doors);
}

void doors_ended(struct doors *doors, const struct door *door)
{
    for (size_t i = 0; doors->list[i]; i++) {
        if (doors->list[i] == door && doors->states[i] == DOOR_OPEN)
            doors->states[i] = DOOR_ENDED;
    }
    check_doors_drained(doors);
}
