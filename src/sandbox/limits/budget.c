/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/limits/budget.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sandbox/limits/activity.h"
#include "sandbox/limits/container.h"
#include "sandbox/limits/shared.h"
#include "sandbox/limits/sockbufs.h"
#include "sandbox/limits/unnamed_memory.h"
#include "sandbox/proc/maps.h"
#include "sandbox/proc/procfile.h"
#include "sandbox/proc/proctree.h"

enum {
    FILE_TEXT_MAX = 4096,
    KIB = 1024,
    SECOND_US = 1000000,
    KNOWN_MAX = 64,
    OTHERS_MS = 2000, /* between two looks at what other kernels do */
    EXACT_SHARE = 20, /* exact looks take at most this part of the time, unless it is urgent */
    PIPE_PLAIN = 64 << 10,
    PIPE_SCARCE = 8 << 10, /* what one more gets when its user has PIPES_PLAIN of them */
    PIPES_PLAIN = 1024,
    THREAD = 24 << 10, /* its stack in the system, and what describes it */
    CONTAINER_LEAST_SHARE = 4,
    CONTAINER_PART_SHARE = 8, /* of the container's limit: a kernel that has less is not to blame */
};

/* So much, or a quarter of what was left at the start, is to be left in the container. */
#define CONTAINER_LEAST ((uint64_t)32 << 20)

#define NOISE ((uint64_t)1 << 20)

/* So much a process writes in a millisecond at the very most: some four times what is seen. */
#define WRITES_MS (4 * BUDGET_GROWTH_MS)

struct known { /* processes of the last look, */
    pid_t pids[KNOWN_MAX];
    uint64_t first[KNOWN_MAX]; /* the least each had of its own since it began or was seen, */
    uint64_t peak[KNOWN_MAX];  /* and the most, with files, whatever it has executed since, */
    size_t count;              /* more than fit: too many */
    int64_t used_ns;           /* and their processor time */
};

struct moment { /* when shared memory was counted, or earlier: */
    struct known known;
    int64_t used_ns; /* of these */
    uint64_t last_pid;
};

struct budget {
    uint64_t most, beyond; /* by how much the former may be passed until the next look */
    struct container_memory container;
    uint64_t container_left; /* below its limit, at the last look; UINT64_MAX: it has none */
    uint64_t container_least;
    bool container_full; /* that was too little */
    bool ran;            /* since look_at_ends() looked */
    struct shared shared;
    uint64_t last, charge;  /* of shared memory: what there was, what is theirs */
    struct moment then;     /* of `last` */
    struct activity before; /* when it was last divided */
    int64_t before_ms;      /* 0: never */
    struct known known;
    uint64_t held, ends; /* by descriptors; in sockets and pipes */
    uint64_t total;
    int64_t whole_ms, exact_ms; /* when the next looks of these kinds are due */
    int64_t took_ms;            /* the last one, of this thread, but for the exact count */
    uint64_t processors;
};

/* --- small files ------------------------------------------------------------------------------ */

static bool read_memory_file(pid_t pid, const char *name, char text[static FILE_TEXT_MAX])
{
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return procfile_read(AT_FDCWD, path, text, FILE_TEXT_MAX);
}

/* Of a process that does not let itself be looked at. */
static uint64_t resident(pid_t pid)
{
    char text[FILE_TEXT_MAX];
    if (!read_memory_file(pid, "statm", text))
        return 0;
    return procfile_behind(text, " ") * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* --- processor time --------------------------------------------------------------------------- */

/* Fields 14 to 17 of /proc/PID/stat, see proc(5). The name ends at the last ')'. */
static int64_t times_of(const char *stat)
{
    const char *at = strrchr(stat, ')');
    int64_t ticks = 0;
    for (int field = 2; at && field < 14; field++)
        at = strchr(at + 1, ' ');
    for (int i = 0; at && i < 4; i++) {
        char *end;
        ticks += strtoll(at, &end, 10);
        at = end;
    }
    return ticks;
}

static void add_ticks(void *ctx, pid_t pid)
{
    int64_t *ticks = ctx;
    char path[32], text[FILE_TEXT_MAX];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    drop_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return;
    text[n] = '\0';
    *ticks += times_of(text);
}

int64_t budget_cpu_us(void)
{
    int64_t ticks = 0;
    (void)proctree_each(add_ticks, &ticks);
    return ticks * (SECOND_US / sysconf(_SC_CLK_TCK));
}

/* --- looks ------------------------------------------------------------------------------------ */

struct use { /* of all of them */
    uint64_t own, shared, kernel;
    uint64_t grown; /* since each was seen first: nobody else has these pages */
    const struct known *before;
    struct known known;
};

/* -1: it is none of them. */
static int index_of(const struct known *known, pid_t pid)
{
    for (size_t i = 0; i < known->count && i < KNOWN_MAX; i++)
        if (known->pids[i] == pid)
            return (int)i;
    return -1;
}

/* A new process has its parent's pages, at most as many as that one ever had. What is more has come
 * since. UINT64_MAX: nobody knows its parent. */
static uint64_t most_of_parent(const struct known *before, const char *status)
{
    char text[FILE_TEXT_MAX];
    const int i = index_of(before, (pid_t)procfile_behind(status, "\nPPid:"));
    if (i < 0 || !read_memory_file(before->pids[i], "status", text))
        return UINT64_MAX;
    const uint64_t peak = procfile_behind(text, "\nVmHWM:") * KIB;
    return peak > before->peak[i] ? peak : before->peak[i];
}

static void add_known(struct use *use, pid_t pid, const char *status, uint64_t has)
{
    struct known *known = &use->known;
    const int i = index_of(use->before, pid);
    const uint64_t first = i < 0 ? most_of_parent(use->before, status) : use->before->first[i];
    const uint64_t peak = procfile_behind(status, "\nVmHWM:") * KIB;
    if (known->count < KNOWN_MAX) {
        const size_t at = known->count;
        known->pids[at] = pid;
        known->first[at] = first < has ? first : has;
        known->peak[at] = i >= 0 && use->before->peak[i] > peak ? use->before->peak[i] : peak;
        use->grown += has - known->first[at];
    }
    known->count++;
}

static void add_status(void *ctx, pid_t pid)
{
    struct use *use = ctx;
    char text[FILE_TEXT_MAX];
    const int64_t used_ns = clock_of_process_ns(pid);
    use->known.used_ns += used_ns;
    (void)read_memory_file(pid, "status", text);
    const char *rss = strstr(text, "\nRssAnon:");
    const uint64_t has = rss ? procfile_behind(rss, "\nRssAnon:") * KIB : 0;
    add_known(use, pid, text, has);
    if (!rss) {
        use->own += resident(pid);
        return;
    }
    use->own += has + procfile_behind(rss, "\nRssFile:") * KIB;
    use->shared += procfile_behind(rss, "\nRssShmem:") * KIB;
    use->kernel +=
        procfile_behind(rss, "\nVmPTE:") * KIB + procfile_behind(rss, "\nThreads:") * THREAD;
}

static uint64_t in_ends(const struct unnamed_memory *unnamed)
{
    const uint64_t pipes = unnamed->pipes;
    const uint64_t plain = pipes < PIPES_PLAIN ? pipes : PIPES_PLAIN;
    return plain * PIPE_PLAIN + (pipes - plain + unnamed->in_flight) * PIPE_SCARCE +
           sockbufs_bytes(unnamed);
}

struct exact {
    uint64_t bytes, shared;               /* the latter is in the former */
    const struct unnamed_memory *unnamed; /* counted already */
    const struct budget *budget;          /* NULL: nobody waits for another look */
    uint64_t beside;                      /* what no process has mapped and no file is */
    bool left;                            /* it was left for that */
};

/* What those of the last look have for themselves more than at first, by their smallest file. */
static uint64_t grown_by_now(const struct known *known)
{
    uint64_t grown = 0;
    for (size_t i = 0; i < known->count && i < KNOWN_MAX; i++) {
        char text[FILE_TEXT_MAX];
        const char *at = text;
        if (!read_memory_file(known->pids[i], "statm", text))
            continue;
        (void)procfile_number(at, &at); /* all that is mapped */
        const uint64_t there = procfile_number(at, &at), shared = procfile_number(at, NULL);
        const uint64_t has =
            there > shared ? (there - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
        grown += has > known->first[i] ? has - known->first[i] : 0;
    }
    return grown;
}

/* While an exact look takes its time, memory goes on growing. A cheap one sees that, too, as soon
 * as what is new is alone too much. */
static bool leave_budget(struct exact *exact)
{
    const struct budget *b = exact->budget;
    exact->left =
        exact->left || (b && grown_by_now(&b->known) + b->charge + exact->beside > b->most);
    return exact->left;
}

static void add_rollup(void *ctx, pid_t pid)
{
    struct exact *exact = ctx;
    char text[FILE_TEXT_MAX];
    if (leave_budget(exact))
        return;
    if (!read_memory_file(pid, "smaps_rollup", text)) {
        exact->bytes += resident(pid);
        return;
    }
    exact->bytes += procfile_behind(text, "\nPss:") * KIB;
    exact->shared += procfile_behind(text, "\nPss_Shmem:") * KIB;
}

/* Of a file that counts as a whole, what a process has changed for itself is beside it. */
static void add_line(struct exact *exact, const char *line, bool *counted)
{
    struct maps_line map;
    if (maps_parse(line, &map)) {
        *counted = map.ino != 0 && unnamed_memory_has(exact->unnamed, map.dev, map.ino);
        return;
    }
    const char *label = *counted ? "Anonymous:" : "Pss:";
    if (strncmp(line, label, strlen(label)) == 0)
        exact->bytes += procfile_number(line + strlen(label), NULL) * KIB;
}

static void add_mappings(void *ctx, pid_t pid)
{
    struct exact *exact = ctx;
    char path[32], line[FILE_TEXT_MAX];
    bool counted = false, whole = true; /* of a longer line the beginning is enough */
    (void)snprintf(path, sizeof path, "/proc/%d/smaps", (int)pid);
    if (leave_budget(exact))
        return;
    FILE *file = fopen(path, "re");
    const uint64_t before = exact->bytes;
    while (file && fgets(line, sizeof line, file)) {
        if (whole)
            add_line(exact, line, &counted);
        whole = strchr(line, '\n') != NULL;
    }
    if (file)
        (void)fclose(file);
    if (exact->bytes == before)
        exact->bytes += resident(pid);
}

/* Also true where it was left. `budget`: NULL where there is none. */
static bool exceeds_exactly(const struct budget *budget, uint64_t most, uint64_t beside)
{
    drop_unnamed_memory struct unnamed_memory unnamed = UNNAMED_MEMORY_NONE;
    unnamed_memory_take(&unnamed);
    const uint64_t charge = budget ? budget->charge : 0;
    struct exact seen = {.unnamed = &unnamed, .budget = budget, .beside = beside};
    struct exact rolled = {.budget = budget, .beside = beside};
    if (unnamed.memory > 0)
        (void)proctree_each(add_mappings, &seen);
    if (unnamed.memory == 0 || charge > 0)
        (void)proctree_each(add_rollup, &rolled);
    if (unnamed.memory == 0)
        seen.bytes = rolled.bytes;
    if (seen.left || rolled.left)
        return true;
    const uint64_t alone = rolled.bytes > rolled.shared ? rolled.bytes - rolled.shared : 0;
    return seen.bytes + unnamed.memory + beside > most || alone + charge + beside > most;
}

/* --- shared memory ---------------------------------------------------------------------------- */

static uint64_t memory_above(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* What nobody says is his is everybody's. */
static uint64_t part_of(const struct activity *before, const struct activity *now, uint64_t grown)
{
    if (now->other_count == 0 && before->other_count == 0)
        return grown;
    const uint64_t told =
        memory_above(now->written, before->written) + memory_above(now->touched, before->touched);
    const uint64_t others = memory_above(now->others_written, before->others_written) +
                            memory_above(now->others_touched, before->others_touched);
    const uint64_t rest = memory_above(grown, others);
    const uint64_t ours = told < grown ? told : grown;
    return ours > rest ? ours : rest;
}

/* The number of the process or thread of this container that was started last, whoever did it; 0:
 * it is not told. */
static uint64_t last_pid(void)
{
    char text[FILE_TEXT_MAX];
    (void)procfile_read(AT_FDCWD, "/proc/loadavg", text, sizeof text);
    const char *at = strrchr(text, ' ');
    return at ? procfile_number(at, NULL) : 0;
}

static bool are_same(const struct known *a, const struct known *b)
{
    return a->count == b->count && a->count <= KNOWN_MAX &&
           memcmp(a->pids, b->pids, a->count * sizeof a->pids[0]) == 0;
}

struct memory_look {
    struct moment moment; /* its beginning, */
    uint64_t shared;      /* then this, and then the processes of the budget */
};

/* What they can have written since then, who has counted it before these processes were looked at.
 * Nobody can tell where one may have begun and ended in between. */
static uint64_t most_written(const struct moment *then, const struct known *now)
{
    if (then->last_pid == 0 || then->last_pid != last_pid() || !are_same(&then->known, now))
        return UINT64_MAX;
    const int64_t used_ns = now->used_ns - then->used_ns;
    return used_ns > 0 ? (uint64_t)used_ns * (WRITES_MS / 1000000) : 0;
}

static uint64_t part_by_activity(struct budget *b, uint64_t grown)
{
    struct activity activity;
    activity_take(&activity);
    const uint64_t part = b->before_ms > 0 ? part_of(&b->before, &activity, grown) : grown;
    b->before = activity;
    b->before_ms = clock_ms();
    return part;
}

/* What comes or goes while they do not run is not theirs. */
static void divide(struct budget *b, const struct memory_look *look)
{
    const uint64_t grown = memory_above(look->shared, b->last);
    const bool others = b->before.other_count > 0;
    const bool fresh = b->before_ms > 0 && clock_ms() < b->before_ms + OTHERS_MS;
    const bool ran = !are_same(&b->then.known, &b->known) || b->known.used_ns != b->then.used_ns;
    if (!ran || look->shared < b->last) {
        b->charge = memory_above(b->charge, ran ? b->last - look->shared : 0);
    } else if (!fresh || grown >= NOISE) {
        const uint64_t part = part_by_activity(b, grown), most = most_written(&b->then, &b->known);
        b->charge += part < most ? part : most;
    } else if (!others) {
        b->charge += grown;
    } else {
        return; /* it is too little to divide, until more has come */
    }
    b->last = look->shared;
    b->then = look->moment;
}

/* --- the budget ------------------------------------------------------------------------------- */

static uint64_t count_processors(void)
{
    cpu_set_t set;
    const int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < BUDGET_PROCESSORS_MAX ? (uint64_t)n : BUDGET_PROCESSORS_MAX;
}

/* As much again; where the container has a limit, no more than is left below that. */
static uint64_t room_beyond(const struct budget *b)
{
    const uint64_t room = memory_above(b->container_left, b->most);
    return room < b->most ? room : b->most;
}

struct budget *budget_open(uint64_t most)
{
    struct budget *b = NEW(struct budget);
    b->most = most;
    container_memory_open("", &b->container);
    b->container_left = container_memory_left(&b->container);
    b->container_least = b->container_left / CONTAINER_LEAST_SHARE < CONTAINER_LEAST
                             ? b->container_left / CONTAINER_LEAST_SHARE
                             : CONTAINER_LEAST;
    b->beyond = room_beyond(b);
    shared_open(&b->shared);
    b->last = shared_bytes(&b->shared);
    b->processors = count_processors();
    return b;
}

struct budget *budget_free(struct budget *b)
{
    if (b)
        shared_done(&b->shared);
    xfree(b);
    return NULL;
}

static int64_t used_by(const struct known *known)
{
    int64_t used_ns = 0;
    for (size_t i = 0; i < known->count && i < KNOWN_MAX; i++)
        used_ns += clock_of_process_ns(known->pids[i]);
    return used_ns;
}

/* A process that nobody has seen yet was forked by one that has run. */
static bool has_run(const struct known *known, int64_t used_ns)
{
    return known->count == 0 || known->count > KNOWN_MAX || used_ns != known->used_ns;
}

/* In which memory does not grow further beyond the limit than it may; half of it is for our own
 * delay. */
static int64_t safe_ms(const struct budget *b, uint64_t total)
{
    const uint64_t own = memory_above(b->most + b->beyond, total);
    const uint64_t left = own < b->container_left ? own : b->container_left;
    return (int64_t)(left / (2 * BUDGET_GROWTH_MS * b->processors));
}

static bool look_exactly(struct budget *b, uint64_t beside)
{
    const int64_t from = clock_ms();
    if (from < b->exact_ms)
        return false;
    const bool over = exceeds_exactly(b, b->most, beside);
    const int64_t end = clock_ms(), took = end - from;
    const int64_t safe = safe_ms(b, b->most), fair = took * EXACT_SHARE;
    const int64_t pause = safe < fair ? safe : fair;
    b->exact_ms = end + (pause > took ? pause : took); /* cheap ones come in between */
    return over;
}

/* What has run before the last cheap look, and sleeps now, has not been looked at here yet. */
static void look_at_ends(struct budget *b)
{
    const bool first = b->whole_ms == 0;
    b->whole_ms = clock_ms() + BUDGET_WHOLE_MS;
    if (!b->ran && !first)
        return;
    b->ran = false;
    drop_unnamed_memory struct unnamed_memory unnamed = UNNAMED_MEMORY_NONE;
    unnamed_memory_take(&unnamed);
    b->held = unnamed.memory;
    b->ends = in_ends(&unnamed);
}

static struct memory_look look_begin(const struct budget *b, int64_t used_ns)
{
    const struct moment moment = {b->known, used_ns, last_pid()};
    return (struct memory_look){moment, shared_bytes(&b->shared)};
}

/* Several kernels may fill the container, each below its own limit. The one that runs goes, if a
 * part of that is its: Linux would choose next, and may end all of them. */
static bool is_container_full(struct budget *b)
{
    b->container_left = container_memory_left(&b->container);
    b->container_full = b->container_left < b->container_least &&
                        b->total > b->container.most / CONTAINER_PART_SHARE;
    return b->container_full;
}

bool budget_exceeded(struct budget *b)
{
    const int64_t from = clock_of_thread_ns();
    const int64_t used_ns = used_by(&b->known);
    const bool ran = has_run(&b->known, used_ns), whole = clock_ms() >= b->whole_ms;
    b->took_ms = 0;
    b->ran = b->ran || ran;
    if (!ran && !whole)
        return false;
    const struct memory_look look = look_begin(b, used_ns);
    struct use use = {.before = &b->known};
    (void)proctree_each(add_status, &use);
    b->known = use.known;
    if (whole)
        look_at_ends(b);
    divide(b, &look);
    const uint64_t seen = use.shared + b->held, beside = use.kernel + b->ends;
    b->took_ms = (clock_of_thread_ns() - from) / 1000000;
    b->total = use.own + beside + (seen > b->charge ? seen : b->charge);
    if (is_container_full(b) || use.grown + b->charge + beside > b->most) /* whatever is shared */
        return true;
    return b->total > b->most && look_exactly(b, beside);
}

bool budget_container_full(const struct budget *b)
{
    return b->container_full;
}

int64_t budget_pause_ms(const struct budget *b)
{
    const int64_t safe = safe_ms(b, b->total);
    const int64_t least = b->took_ms > BUDGET_PAUSE_LEAST_MS ? b->took_ms : BUDGET_PAUSE_LEAST_MS;
    if (safe < least)
        return least;
    return safe < BUDGET_WHOLE_MS ? safe : BUDGET_WHOLE_MS;
}

bool budget_exceeds(uint64_t bytes)
{
    const struct known none = {0};
    struct use use = {.before = &none};
    drop_unnamed_memory struct unnamed_memory unnamed = UNNAMED_MEMORY_NONE;
    (void)proctree_each(add_status, &use);
    unnamed_memory_take(&unnamed);
    const uint64_t beside = use.kernel + in_ends(&unnamed);
    return use.own + use.shared + unnamed.memory + beside > bytes &&
           exceeds_exactly(NULL, bytes, beside);
}

static void add_process_part(void *ctx, pid_t pid)
{
    uint64_t *bytes = ctx;
    char text[FILE_TEXT_MAX];
    *bytes += read_memory_file(pid, "smaps_rollup", text) ? procfile_behind(text, "\nPss:") * KIB
                                                          : resident(pid);
    if (read_memory_file(pid, "status", text))
        *bytes += procfile_behind(text, "\nVmPTE:") * KIB;
}

uint64_t budget_part(void)
{
    uint64_t bytes = 0;
    (void)proctree_each(add_process_part, &bytes);
    return bytes;
}
