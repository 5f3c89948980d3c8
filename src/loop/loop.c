/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/loop.h"

#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

enum { EVENTS_PER_TURN = 64, TIMERS_AT_FIRST = 64 };

struct loop_io {
    struct loop *loop;
    int fd;
    bool dead; /* deleted inside a turn: freed at its end */
    loop_io_fn fn;
    void *ctx;
    struct loop_io *next_dead;
};

struct loop {
    int epoll_fd;
    int signal_fd;
    bool quit;
    int64_t now;
    int64_t (*clock)(void);
    struct loop_timer **timers; /* a heap: none is due before the one at half its place */
    size_t n_timers, timers_room;
    uint64_t timers_set; /* ever */
    struct loop_defer *deferred, **deferred_end;
    struct loop_turns turns;
    int64_t cpu_ns;       /* of this thread at the end of the turn before; 0: there was none */
    int64_t part_ns;      /* when the part of the turn began that runs … */
    int64_t longest_ns;   /* … the longest of the turn … */
    const char *longest;  /* … what it was … */
    uintptr_t longest_at; /* … and which function's address */
    int64_t told_ms;      /* of a long turn; 0: never */
    uint64_t untold;
    struct loop_io *dead;
    struct loop_io *signal_io;
    void (*signal_fn)(void *ctx, int signal);
    void *signal_ctx;
};

int loop_new(struct loop **ret, struct err *e)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0)
        return err_set(e, -errno, "epoll_create1: %s", strerror(errno));
    struct loop *loop = NEW(struct loop);
    loop->epoll_fd = fd;
    loop->signal_fd = -1;
    loop->clock = clock_ms;
    loop->now = clock_ms();
    loop->deferred_end = &loop->deferred;
    *ret = loop;
    return 0;
}

static void free_dead(struct loop *loop)
{
    while (loop->dead) {
        struct loop_io *io = loop->dead;
        loop->dead = io->next_dead;
        xfree(io);
    }
}

struct loop *loop_free(struct loop *loop)
{
    if (!loop)
        return NULL;
    (void)loop_io_del(loop->signal_io);
    (void)fd_close(loop->signal_fd);
    (void)fd_close(loop->epoll_fd);
    free_dead(loop);
    xfree(loop->timers);
    xfree(loop);
    return NULL;
}

void loop_set_clock(struct loop *loop, int64_t (*now_ms)(void))
{
    loop->clock = now_ms;
    loop->now = now_ms();
}

int64_t loop_now(const struct loop *loop)
{
    return loop->now;
}

void loop_quit(struct loop *loop)
{
    loop->quit = true;
}

/* --- how long turns take -------------------------------------------------------------------- */

extern const char __executable_start[]; /* of the linker: positions differ from start to start */

const struct loop_turns *loop_turns(const struct loop *loop)
{
    return &loop->turns;
}

/* A callback has returned; the next one begins. */
static void end_part(struct loop *loop, const char *what, uintptr_t at)
{
    int64_t now = clock_ns();
    if (now - loop->part_ns > loop->longest_ns) {
        loop->longest_ns = now - loop->part_ns;
        loop->longest = what;
        loop->longest_at = at;
    }
    loop->part_ns = now;
}

static void notify_long(struct loop *loop, int64_t cpu_ns, int64_t wall_ns)
{
    int64_t now = clock_ms();
    if (loop->told_ms != 0 && now - loop->told_ms < LOOP_TELL_MS) {
        loop->untold++;
        return;
    }
    log_warning("loop",
                "a turn took %.1f ms of the processor, %.1f ms in all, the longest part %.1f ms in "
                "a %s at +0x%llx; %llu more since the last such line",
                (double)cpu_ns / 1e6, (double)wall_ns / 1e6, (double)loop->longest_ns / 1e6,
                loop->longest ? loop->longest : "?",
                (unsigned long long)(loop->longest_at - (uintptr_t)__executable_start),
                (unsigned long long)loop->untold);
    loop->told_ms = now;
    loop->untold = 0;
}

static void begin_turn(struct loop *loop)
{
    loop->part_ns = clock_ns();
    loop->longest_ns = 0;
    loop->longest = NULL;
}

/* The processor's clock is a system call: once a turn. What epoll_wait() needs is in it, too. */
static void end_turn(struct loop *loop, int64_t begun_ns)
{
    struct loop_turns *t = &loop->turns;
    int64_t cpu = clock_of_thread_ns(), wall_ns = clock_ns() - begun_ns;
    int64_t cpu_ns = loop->cpu_ns ? cpu - loop->cpu_ns : 0;
    cpu_ns = cpu_ns < wall_ns ? cpu_ns : wall_ns; /* what came before the first turn is not its */
    bool is_long = cpu_ns > LOOP_LONG_MS * INT64_C(1000000);
    loop->cpu_ns = cpu;
    t->turns++;
    t->long_cpu += is_long;
    t->long_wall += wall_ns > LOOP_LONG_MS * INT64_C(1000000);
    t->max_cpu_ns = cpu_ns > t->max_cpu_ns ? cpu_ns : t->max_cpu_ns;
    t->max_wall_ns = wall_ns > t->max_wall_ns ? wall_ns : t->max_wall_ns;
    if (is_long)
        notify_long(loop, cpu_ns, wall_ns);
}

/* --- descriptors ---------------------------------------------------------------------------- */

static uint32_t to_epoll(unsigned events)
{
    return (events & LOOP_IN ? EPOLLIN : 0U) | (events & LOOP_OUT ? EPOLLOUT : 0U);
}

static unsigned from_epoll(uint32_t events)
{
    return (events & EPOLLIN ? LOOP_IN : 0U) | (events & EPOLLOUT ? LOOP_OUT : 0U) |
           (events & (EPOLLHUP | EPOLLERR) ? LOOP_HUP : 0U);
}

int loop_io_add(struct loop *loop, int fd, unsigned events, loop_io_fn fn, void *ctx,
                struct loop_io **ret, struct err *e)
{
    struct loop_io *io = NEW(struct loop_io);
    *io = (struct loop_io){.loop = loop, .fd = fd, .fn = fn, .ctx = ctx};
    struct epoll_event event = {.events = to_epoll(events), .data = {.ptr = io}};
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
        int code = -errno;
        xfree(io);
        return err_set(e, code, "watch descriptor %d: %s", fd, strerror(-code));
    }
    *ret = io;
    return 0;
}

void loop_io_set(struct loop_io *io, unsigned events)
{
    struct epoll_event event = {.events = to_epoll(events), .data = {.ptr = io}};
    (void)epoll_ctl(io->loop->epoll_fd, EPOLL_CTL_MOD, io->fd, &event);
}

struct loop_io *loop_io_del(struct loop_io *io)
{
    if (!io)
        return NULL;
    (void)epoll_ctl(io->loop->epoll_fd, EPOLL_CTL_DEL, io->fd, NULL);
    io->dead = true;
    io->next_dead = io->loop->dead;
    io->loop->dead = io;
    return NULL;
}

/* --- timers --------------------------------------------------------------------------------- */

static bool is_before(const struct loop_timer *a, const struct loop_timer *b)
{
    return a->due != b->due ? a->due < b->due : a->turn < b->turn;
}

static void put_timer(struct loop *loop, size_t place, struct loop_timer *t)
{
    loop->timers[place] = t;
    t->place = place;
}

/* There is a gap at `place`, which t fills or one that t has moved down. */
static void raise_timer(struct loop *loop, size_t place, struct loop_timer *t)
{
    for (; place > 0; place = (place - 1) / 2) {
        struct loop_timer *above = loop->timers[(place - 1) / 2];
        if (!is_before(t, above))
            break;
        put_timer(loop, place, above);
    }
    put_timer(loop, place, t);
}

static void lower_timer(struct loop *loop, size_t place, struct loop_timer *t)
{
    for (size_t below = 2 * place + 1; below < loop->n_timers; below = 2 * place + 1) {
        if (below + 1 < loop->n_timers && is_before(loop->timers[below + 1], loop->timers[below]))
            below++;
        if (!is_before(loop->timers[below], t))
            break;
        put_timer(loop, place, loop->timers[below]);
        place = below;
    }
    put_timer(loop, place, t);
}

void loop_timer_stop(struct loop *loop, struct loop_timer *t)
{
    if (!t->armed)
        return;
    t->armed = false;
    struct loop_timer *last = loop->timers[--loop->n_timers];
    if (last == t)
        return;
    if (is_before(last, t))
        raise_timer(loop, t->place, last);
    else
        lower_timer(loop, t->place, last);
}

void loop_timer_set(struct loop *loop, struct loop_timer *t, int64_t delay_ms, loop_fn fn,
                    void *ctx)
{
    loop_timer_stop(loop, t);
    *t = (struct loop_timer){.turn = loop->timers_set++,
                             .due = loop->clock() + (delay_ms > 0 ? delay_ms : 0),
                             .fn = fn,
                             .ctx = ctx,
                             .armed = true};
    if (loop->n_timers == loop->timers_room) {
        loop->timers_room = loop->timers_room ? 2 * loop->timers_room : TIMERS_AT_FIRST;
        loop->timers = xrealloc(loop->timers, loop->timers_room * sizeof(struct loop_timer *));
    }
    raise_timer(loop, loop->n_timers++, t);
}

static void run_timers(struct loop *loop)
{
    while (loop->n_timers > 0 && loop->timers[0]->due <= loop->now) {
        struct loop_timer *t = loop->timers[0];
        loop_timer_stop(loop, t);
        loop_fn fn = t->fn; /* t may be gone afterwards */
        fn(t->ctx);
        end_part(loop, "timer", (uintptr_t)fn);
    }
}

/* --- deferred calls ------------------------------------------------------------------------- */

void loop_defer(struct loop *loop, struct loop_defer *d, loop_fn fn, void *ctx)
{
    if (d->armed)
        return;
    *d = (struct loop_defer){.fn = fn, .ctx = ctx, .armed = true};
    *loop->deferred_end = d;
    loop->deferred_end = &d->next;
}

void loop_defer_stop(struct loop *loop, struct loop_defer *d)
{
    if (!d->armed)
        return;
    struct loop_defer **at = &loop->deferred;
    while (*at && *at != d)
        at = &(*at)->next;
    if (*at == d) {
        *at = d->next;
        if (loop->deferred_end == &d->next)
            loop->deferred_end = at;
    }
    *d = (struct loop_defer){0};
}

static void run_deferred(struct loop *loop)
{
    /* a marker ends this turn's part: what is deferred meanwhile waits for the next turn */
    struct loop_defer marker = {.armed = true};
    *loop->deferred_end = &marker;
    loop->deferred_end = &marker.next;
    for (;;) {
        struct loop_defer *d = loop->deferred;
        loop->deferred = d->next;
        if (!loop->deferred)
            loop->deferred_end = &loop->deferred;
        if (d == &marker)
            return;
        loop_fn fn = d->fn;
        void *ctx = d->ctx;
        *d = (struct loop_defer){0};
        fn(ctx);
        end_part(loop, "deferred call", (uintptr_t)fn);
    }
}

/* --- signals -------------------------------------------------------------------------------- */

static void on_loop_signal(void *ctx, unsigned events)
{
    struct loop *loop = ctx;
    struct signalfd_siginfo info;
    (void)events;
    while (read(loop->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        loop->signal_fn(loop->signal_ctx, (int)info.ssi_signo);
}

int loop_signals(struct loop *loop, const int *signals, size_t n, void (*fn)(void *ctx, int signal),
                 void *ctx, struct err *e)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < n; i++)
        sigaddset(&set, signals[i]);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return err_set(e, -errno, "sigprocmask: %s", strerror(errno));
    loop->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (loop->signal_fd < 0)
        return err_set(e, -errno, "signalfd: %s", strerror(errno));
    loop->signal_fn = fn;
    loop->signal_ctx = ctx;
    return loop_io_add(loop, loop->signal_fd, LOOP_IN, on_loop_signal, loop, &loop->signal_io, e);
}

/* --- the loop ------------------------------------------------------------------------------- */

static int wait_ms(const struct loop *loop, int64_t max_wait_ms)
{
    int64_t wait = max_wait_ms;
    if (loop->deferred)
        wait = 0;
    else if (loop->n_timers > 0) {
        int64_t left = loop->timers[0]->due - loop->clock();
        left = left < 0 ? 0 : left;
        wait = wait < 0 || left < wait ? left : wait;
    }
    if (!log_flush())
        wait = wait < 0 || LOG_RETRY_MS < wait ? LOG_RETRY_MS : wait;
    return wait > INT32_MAX ? INT32_MAX : (int)wait;
}

void loop_turn(struct loop *loop, int64_t max_wait_ms)
{
    struct epoll_event events[EVENTS_PER_TURN];
    int n = epoll_wait(loop->epoll_fd, events, EVENTS_PER_TURN, wait_ms(loop, max_wait_ms));
    loop->now = loop->clock();
    begin_turn(loop);
    int64_t begun_ns = loop->part_ns;
    run_timers(loop);
    for (int i = 0; i < n; i++) {
        struct loop_io *io = events[i].data.ptr;
        if (io->dead)
            continue;
        io->fn(io->ctx, from_epoll(events[i].events)); /* it is freed at the end of the turn */
        end_part(loop, "descriptor", (uintptr_t)io->fn);
    }
    run_deferred(loop);
    free_dead(loop);
    end_turn(loop, begun_ns);
}

void loop_run(struct loop *loop)
{
    loop->quit = false;
    while (!loop->quit)
        loop_turn(loop, -1);
}
