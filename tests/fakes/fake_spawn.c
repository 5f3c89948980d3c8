/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/fake_spawn.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct fake_spawn fake_spawn;

static void order(const char *word)
{
    size_t n = strlen(fake_spawn.orders);
    (void)snprintf(fake_spawn.orders + n, sizeof fake_spawn.orders - n, "%s%s", n ? " " : "", word);
}

int child_start(struct spawner *spawner, const struct child_spec *spec,
                const struct child_events *events, void *ctx, struct child **ret, struct err *e)
{
    (void)spawner, (void)spec;
    if (fake_spawn.refuses)
        return err_set(e, -ENOENT, "no python");
    fake_spawn.starts++;
    fake_spawn.events = events;
    fake_spawn.ctx = ctx;
    *ret = (struct child *)(void *)&fake_spawn;
    return 0;
}

int child_adopt(struct spawner *spawner, const struct child_events *events, void *ctx,
                struct child_ends *ret_ends, struct child **ret, struct err *e)
{
    (void)spawner, (void)e;
    fake_spawn.adopts++;
    fake_spawn.events = events;
    fake_spawn.ctx = ctx;
    *ret_ends = (struct child_ends){.control = open("/dev/null", O_RDWR | O_CLOEXEC),
                                    .output = open("/dev/null", O_RDWR | O_CLOEXEC)};
    *ret = (struct child *)(void *)&fake_spawn;
    return 0;
}

int child_branch(const struct child *parent, const int *fds, int orders,
                 const struct child_events *events, void *ctx, struct child **ret, struct err *e)
{
    (void)fds;
    if (fake_spawn.refuses)
        return err_set(e, -EPIPE, "the kernel's shim: %s", strerror(EPIPE));
    fake_spawn.branches++;
    (void)!pread(orders, fake_spawn.said, sizeof fake_spawn.said, 0);
    fake_spawn.events = events;
    fake_spawn.ctx = ctx;
    *ret = (struct child *)(uintptr_t)parent;
    return 0;
}

int helper_start(struct spawner *spawner, const struct child_spec *spec, int fd, pid_t *ret_pid,
                 struct err *e)
{
    (void)spawner, (void)spec;
    fake_spawn.helper_starts++;
    if (fake_spawn.refuses)
        return err_set(e, -ENOENT, "no python");
    fake_spawn.helper = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    *ret_pid = fake_spawn.helper_pid;
    return 0;
}

void helper_kill(struct spawner *spawner)
{
    (void)spawner;
    order("kill helper");
}

void child_interrupt(struct child *child)
{
    (void)child;
    order("interrupt");
}

void child_freeze(struct child *child)
{
    (void)child;
    order("freeze");
}

void child_resume(struct child *child)
{
    (void)child;
    order("resume");
}

void child_look(struct child *child)
{
    (void)child;
    order("look");
}

void child_sleep(struct child *child)
{
    (void)child;
    order("sleep");
}

void child_wake(struct child *child)
{
    (void)child;
    order("wake");
}

void child_measure(struct child *child)
{
    (void)child;
    order("measure");
}

void child_kill(struct child *child)
{
    (void)child;
    order("kill");
}

struct child *child_end(struct child *child)
{
    if (child) {
        order("end");
        fake_spawn.events = NULL;
    }
    return NULL;
}

int child_confine(struct child *child, const struct sandbox_spec *spec, struct err *e)
{
    (void)child, (void)spec, (void)e;
    order("confine");
    return 0;
}

void fake_spawn_end(int code, int signal)
{
    const struct child_events *events = fake_spawn.events;
    fake_spawn.events = NULL;
    if (events)
        events->ended(fake_spawn.ctx, &(struct child_exit){.code = code, .signal = signal}, NULL);
}

void fake_spawn_fail(const char *text)
{
    const struct child_events *events = fake_spawn.events;
    struct err why = ERR_NONE;
    (void)err_set(&why, -EBUSY, "%s", text);
    fake_spawn.events = NULL;
    events->ended(fake_spawn.ctx, NULL, &why);
}

void fake_spawn_started(void)
{
    fake_spawn.events->started(fake_spawn.ctx, 2);
}
