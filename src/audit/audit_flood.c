/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/audit_flood.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bucket.h"

enum {
    NAME_MAX_BYTES = 128, /* of a source; longer ones share their beginning */
    OUTCOMES = 24,        /* of all kinds that are bounded */
};

struct group {
    enum audit_kind kind;
    const char *outcome; /* a word of the program */
    char *server, *tool; /* NULL: of several */
    uint64_t count;
};

struct source {
    char name[NAME_MAX_BYTES];
    bool is_kernel;
    struct bucket records, bytes;
    int64_t used_ms, since_ms;
    struct group groups[AUDIT_FLOOD_GROUPS + OUTCOMES];
    size_t n_groups;
};

struct audit_flood {
    struct source sources[AUDIT_FLOOD_SOURCES]; /* the first is for what has no name or no place */
    size_t n_sources;
    struct group told; /* taken last */
};

static void drop_group(struct group *group)
{
    xfree(group->server);
    xfree(group->tool);
    *group = (struct group){0};
}

struct audit_flood *audit_flood_new(void)
{
    struct audit_flood *flood = NEW(struct audit_flood);
    flood->n_sources = 1;
    return flood;
}

struct audit_flood *audit_flood_free(struct audit_flood *flood)
{
    if (!flood)
        return NULL;
    for (size_t i = 0; i < flood->n_sources; i++)
        for (size_t k = 0; k < flood->sources[i].n_groups; k++)
            drop_group(&flood->sources[i].groups[k]);
    drop_group(&flood->told);
    xfree(flood);
    return NULL;
}

static bool is_bounded(const struct audit_event *event)
{
    static const bool kinds[AUDIT__COUNT] = {
        [AUDIT_TOOL_CALL] = true, [AUDIT_APPROVAL] = true, [AUDIT_LOGIN_REFUSED] = true};
    bool of_kernel = event->kind == AUDIT_CELL || event->kind == AUDIT_CELL_END;
    return kinds[event->kind] || (of_kernel && event->door);
}

static bool is_named(const struct source *source, const char *name, bool is_kernel)
{
    return source->is_kernel == is_kernel &&
           strncmp(source->name, name, sizeof source->name - 1) == 0;
}

/* One that has nothing to tell gives its place to a new one. */
static struct source *find_flood(struct audit_flood *flood, const struct audit_event *event)
{
    bool is_kernel = !event->session && event->kernel;
    const char *name = is_kernel ? event->kernel : event->session ? event->session : "";
    struct source *oldest = NULL;
    if (!*name || event->kind == AUDIT_LOGIN_REFUSED)
        return &flood->sources[0];
    for (size_t i = 1; i < flood->n_sources; i++) {
        struct source *source = &flood->sources[i];
        if (is_named(source, name, is_kernel))
            return source;
        if (source->n_groups == 0 && (!oldest || source->used_ms < oldest->used_ms))
            oldest = source;
    }
    if (flood->n_sources < AUDIT_FLOOD_SOURCES)
        oldest = &flood->sources[flood->n_sources++];
    if (!oldest)
        return &flood->sources[0];
    *oldest = (struct source){.is_kernel = is_kernel};
    (void)snprintf(oldest->name, sizeof oldest->name, "%s", name);
    return oldest;
}

static bool is_same_flood(const char *a, const char *b)
{
    return a && b ? strncmp(a, b, AUDIT_TEXT_MAX) == 0 : a == b;
}

static void count_flood(struct source *source, const struct audit_event *event)
{
    bool named = source->n_groups < AUDIT_FLOOD_GROUPS;
    struct group *end = source->groups + source->n_groups, *whole = NULL;
    for (struct group *g = source->groups; g < end; g++) {
        if (g->kind != event->kind || !is_same_flood(g->outcome, event->outcome))
            continue;
        if (is_same_flood(g->server, event->server) && is_same_flood(g->tool, event->tool)) {
            g->count++;
            return;
        }
        whole = !g->server && !g->tool ? g : whole;
    }
    if (!named && whole) {
        whole->count++;
        return;
    }
    if (source->n_groups == AUDIT_FLOOD_GROUPS + OUTCOMES) {
        end[-1].count++; /* there are fewer outcomes than places */
        return;
    }
    source->n_groups++;
    *end = (struct group){.kind = event->kind, .outcome = event->outcome, .count = 1};
    end->server = named && event->server ? xstrndup(event->server, AUDIT_TEXT_MAX) : NULL;
    end->tool = named && event->tool ? xstrndup(event->tool, AUDIT_TEXT_MAX) : NULL;
}

bool audit_flood_pass(struct audit_flood *flood, const struct audit_event *event, size_t n,
                      int64_t now_ms)
{
    static const struct bucket_rate records = {AUDIT_FLOOD_RECORDS_PER_S, AUDIT_FLOOD_RECORDS},
                                    bytes = {AUDIT_FLOOD_BYTES_PER_S, AUDIT_FLOOD_BYTES};
    if (!is_bounded(event))
        return true;
    struct source *source = find_flood(flood, event);
    source->used_ms = now_ms;
    if (bucket_take(&source->records, &records, now_ms, 1) &&
        bucket_take(&source->bytes, &bytes, now_ms, (int64_t)n))
        return true;
    if (source->n_groups == 0)
        source->since_ms = now_ms;
    count_flood(source, event);
    return false;
}

bool audit_flood_take(struct audit_flood *flood, const char *session, int64_t now_ms,
                      struct audit_event *ret)
{
    drop_group(&flood->told);
    for (size_t i = 0; i < flood->n_sources; i++) {
        struct source *source = &flood->sources[i];
        if (source->n_groups == 0 || (session && !is_named(source, session, false)))
            continue;
        flood->told = source->groups[--source->n_groups];
        *ret = (struct audit_event){.kind = AUDIT_LEFT_OUT,
                                    .request_id = "",
                                    .of = flood->told.kind,
                                    .count = flood->told.count,
                                    .session = source->is_kernel || i == 0 ? NULL : source->name,
                                    .kernel = source->is_kernel ? source->name : NULL,
                                    .server = flood->told.server,
                                    .tool = flood->told.tool,
                                    .outcome = flood->told.outcome,
                                    .timed = true,
                                    .ms = now_ms - source->since_ms};
        return true;
    }
    return false;
}
