/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/limits/diskbudget.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sandbox/limits/activity.h"
#include "sandbox/limits/diskuse.h"
#include "sandbox/limits/unnamed_memory.h"
#include "sandbox/proc/maps.h"
#include "sandbox/proc/proctree.h"

enum {
    SOON = 10,   /* walks take at most a tenth of the time where the disks fill, */
    SELDOM = 50, /* else a fiftieth */
    LINE_MAX_LEN = 4096,
    CHATTER = 256 << 10,    /* bytes that a kernel writes to pipes and the like when it starts */
    NOISE_SHARE = 8,        /* this part of the limit is, when counts of the disk differ, */
    NOISE_LEAST = 16 << 20, /* and so many bytes */
};

enum disk_state { RESTS, WALKS, HAS_WALKED };

struct diskbudget {
    uint64_t most, charge; /* the latter of files with names */
    uint64_t reaped;
    const char **places;
    size_t unseen; /* at the beginning */
    struct {       /* when nothing ran during a walk, which then has seen everything */
        uint64_t filled, charge, written;
    } quiet;
    /* of the last walk */
    struct diskuse last;
    struct activity before; /* when it began */
    uint64_t filled;        /* then, of diskuse_filled() */
    uint64_t foreign;       /* likewise, of b->seen.foreign */
    int64_t soon_ms, next_ms;
    /* of the one that goes on */
    struct activity begun;
    uint64_t begun_filled, begun_foreign;
    struct { /* at the last look */
        struct activity_own own;
        uint64_t filled, foreign; /* the latter: by how much the disks have filled, from one look to
                                   * the next, while ours did not run */
        bool has_run;             /* ours, since the look before it */
    } seen;
    bool has_walker;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t go;
    enum disk_state state;
    struct diskuse use;
    int64_t took_ms; /* of processor time */
};

/* --- the walker ------------------------------------------------------------------------------- */

static void *walk_disk(void *ctx)
{
    struct diskbudget *b = ctx;
    for (;;) {
        struct diskuse use;
        const int64_t from = clock_of_thread_ns();
        (void)pthread_mutex_lock(&b->lock);
        while (b->state != WALKS)
            (void)pthread_cond_wait(&b->go, &b->lock);
        (void)pthread_mutex_unlock(&b->lock);
        diskuse_take(b->places, &use);
        (void)pthread_mutex_lock(&b->lock);
        b->use = use;
        b->took_ms = (clock_of_thread_ns() - from) / 1000000;
        b->state = HAS_WALKED;
        (void)pthread_mutex_unlock(&b->lock);
    }
    return NULL;
}

static bool start_walker(struct diskbudget *b)
{
    pthread_t thread;
    if (!b->has_walker && pthread_create(&thread, NULL, walk_disk, b) == 0) {
        (void)pthread_detach(thread);
        b->has_walker = true;
    }
    return b->has_walker;
}

static enum disk_state look_at_walker(struct diskbudget *b)
{
    (void)pthread_mutex_lock(&b->lock);
    enum disk_state state = b->state;
    if (state == HAS_WALKED)
        b->state = RESTS;
    (void)pthread_mutex_unlock(&b->lock);
    return state;
}

static void look_at_disk(const struct diskbudget *b, struct activity *ret)
{
    activity_take(ret);
    ret->written += b->reaped;
}

static void begin_walk(struct diskbudget *b, uint64_t filled)
{
    if (!start_walker(b))
        return;
    look_at_disk(b, &b->begun);
    b->begun_filled = filled;
    b->begun_foreign = b->seen.foreign;
    (void)pthread_mutex_lock(&b->lock);
    b->state = WALKS;
    (void)pthread_cond_signal(&b->go);
    (void)pthread_mutex_unlock(&b->lock);
}

/* --- files that only a mapping holds ---------------------------------------------------------- */

struct disk_search {
    const struct unnamed_memory *unnamed;
    bool found;
};

static bool is_removed(const struct disk_search *search, const char *line)
{
    struct maps_line map;
    return strstr(line, " (deleted)\n") && maps_parse(line, &map) && map.ino != 0 &&
           strncmp(map.name, "/memfd:", 7) != 0 && strncmp(map.name, "/dev/", 5) != 0 &&
           !unnamed_memory_has(search->unnamed, map.dev, map.ino);
}

/* How much there is of it cannot be found out. */
static void find_removed(void *ctx, pid_t pid)
{
    struct disk_search *search = ctx;
    char path[32], line[LINE_MAX_LEN];
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        search->found |= is_removed(search, line);
    if (file)
        (void)fclose(file);
}

/* --- judging ---------------------------------------------------------------------------------- */

static uint64_t disk_above(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t growth(const struct diskbudget *b, const struct diskuse *use, bool unseen)
{
    uint64_t bytes = disk_above(use->disk, b->last.disk);
    if (unseen && disk_above(use->filled, b->last.filled) > bytes)
        bytes = disk_above(use->filled, b->last.filled);
    return bytes + disk_above(use->memory, b->last.memory);
}

static bool others_write(const struct activity *before, const struct activity *now)
{
    return disk_above(now->others_written, before->others_written) > CHATTER ||
           activity_has_lost(before, now);
}

/* All growth is theirs, unless there was somebody else, or they did next to nothing: then it is
 * what they say. That is the least in any case; what came while they did not run is above it. What
 * has gone out of sight has not gone: then nothing is given back. */
static void charge(struct diskbudget *b, const struct diskuse *use, const struct activity *now,
                   bool unseen)
{
    uint64_t more = growth(b, use, unseen), less = 0;
    if (!unseen)
        less = disk_above(b->last.disk, use->disk) + disk_above(b->last.memory, use->memory);
    const uint64_t told = disk_above(now->written, b->before.written);
    const bool doubtful =
        others_write(&b->before, now) || !activity_has_run(&b->before.own, &now->own);
    const uint64_t rest = doubtful ? 0 : disk_above(more, disk_above(b->seen.foreign, b->foreign));
    if (!now->untold && told < more)
        more = told > rest ? told : rest;
    b->charge = disk_above(b->charge + more, less);
}

/* Files that are moved while the directories are walked may be missed. The disks have filled by
 * them all the same: since the last walk that has missed nothing, by more than what was charged,
 * and ours have written it. */
static uint64_t missed(struct diskbudget *b, const struct activity *now, uint64_t unnamed)
{
    const uint64_t filled = diskuse_filled(b->places), charge = b->charge + unnamed;
    if (!activity_has_run(&b->begun.own, &now->own)) {
        b->quiet.filled = filled;
        b->quiet.charge = charge;
        b->quiet.written = now->written;
        return 0;
    }
    const uint64_t share = b->most / NOISE_SHARE, noise = share > NOISE_LEAST ? share : NOISE_LEAST;
    const uint64_t charged = disk_above(charge, b->quiet.charge);
    const uint64_t more = disk_above(disk_above(filled, b->quiet.filled), charged);
    const uint64_t told = disk_above(disk_above(now->written, b->quiet.written), charged);
    if (more <= noise)
        return 0;
    return now->untold || more < told ? more : told;
}

static bool judge_disk(struct diskbudget *b, int64_t now_ms)
{
    struct activity now;
    drop_unnamed_memory struct unnamed_memory unnamed = UNNAMED_MEMORY_NONE;
    look_at_disk(b, &now);
    unnamed_memory_take(&unnamed);
    struct disk_search search = {.unnamed = &unnamed};
    (void)proctree_each(find_removed, &search);
    charge(b, &b->use, &now, b->use.unseen > b->unseen || unnamed.unseen || search.found);
    const int64_t took = b->took_ms;
    b->last = b->use;
    const uint64_t taken = b->charge + unnamed.unnamed + missed(b, &now, unnamed.unnamed);
    b->before = b->begun;
    b->filled = b->begun_filled;
    b->foreign = b->begun_foreign;
    b->soon_ms = now_ms + took * SOON;
    const int64_t pause = took * SELDOM;
    b->next_ms = now_ms + (pause > DISKBUDGET_PAUSE_MS ? pause : DISKBUDGET_PAUSE_MS);
    return taken > b->most;
}

/* Most of what others write is told apart so before a walk may be due. Who does next to nothing and
 * writes all the same is charged with what it says. */
static void see(struct diskbudget *b)
{
    const uint64_t filled = diskuse_filled(b->places);
    const struct activity_own own = activity_own();
    b->seen.has_run = activity_has_run(&b->seen.own, &own);
    if (!b->seen.has_run)
        b->seen.foreign += disk_above(filled, b->seen.filled);
    b->seen.own = own;
    b->seen.filled = filled;
}

/* Also when the tree has just fallen asleep: what comes after that is not its doing. */
static bool is_walk_due(const struct diskbudget *b, int64_t now_ms)
{
    const uint64_t grown = disk_above(b->seen.filled, b->filled);
    const bool has_run = activity_has_run(&b->before.own, &b->seen.own);
    const bool sleeps = !b->seen.has_run;
    const bool fills = grown > 0 && grown >= disk_above(b->most, b->charge) / 2;
    if (has_run && (sleeps || fills))
        return now_ms >= b->soon_ms;
    return (has_run || fills) && now_ms >= b->next_ms;
}

bool diskbudget_exceeded(struct diskbudget *b, int64_t now_ms)
{
    see(b);
    switch (look_at_walker(b)) {
    case WALKS:
        return false;
    case HAS_WALKED:
        return judge_disk(b, now_ms);
    case RESTS:
        break;
    }
    if (is_walk_due(b, now_ms))
        begin_walk(b, b->seen.filled);
    return false;
}

bool diskbudget_is_walking(struct diskbudget *b)
{
    (void)pthread_mutex_lock(&b->lock);
    const bool walking = b->state == WALKS;
    (void)pthread_mutex_unlock(&b->lock);
    return walking;
}

void diskbudget_reaped(struct diskbudget *b, uint64_t written)
{
    b->reaped += written;
}

struct diskbudget *diskbudget_open(uint64_t most, const char *const *places)
{
    struct diskbudget *b = NEW(struct diskbudget);
    size_t n = 0;
    while (places[n])
        n++;
    b->places = xcalloc(n + 1, sizeof *b->places);
    for (size_t i = 0; i < n; i++)
        b->places[i] = xstrdup(places[i]);
    (void)pthread_mutex_init(&b->lock, NULL);
    (void)pthread_cond_init(&b->go, NULL);
    b->most = most;
    diskuse_take(b->places, &b->last);
    b->unseen = b->last.unseen;
    b->filled = diskuse_filled(b->places);
    look_at_disk(b, &b->before);
    b->seen.filled = b->filled;
    b->seen.own = b->before.own;
    b->quiet.filled = b->filled;
    b->quiet.written = b->before.written;
    return b;
}
