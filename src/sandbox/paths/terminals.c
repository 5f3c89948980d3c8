/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/paths/terminals.h"

#include <string.h>
#include <sys/sysmacros.h>

#include "sandbox/paths/mounts.h"

enum {
    SERIAL_MAJOR = 4, /* and virtual consoles */
    OLD_SLAVE_MAJOR = 3,
    CONSOLE_MAJOR = 5,
    CONSOLE_MINOR = 1,
    PTS_MAJORS = 8
};

bool terminal_is(const struct stat *st)
{
    if (!S_ISCHR(st->st_mode))
        return false;
    const unsigned high = major(st->st_rdev);
    return (high >= TERMINAL_PTS_MAJOR && high < TERMINAL_PTS_MAJOR + PTS_MAJORS) ||
           high == SERIAL_MAJOR || high == OLD_SLAVE_MAJOR ||
           (high == CONSOLE_MAJOR && minor(st->st_rdev) == CONSOLE_MINOR);
}

static void on_mount(void *ctx, const struct mount *mount)
{
    struct terminals *t = ctx;
    if (strcmp(mount->kind, "devpts") == 0 && pathset_add(&t->mounts, mount->point))
        pathset_add_above(&t->above, mount->point);
}

int terminals_find(struct terminals *t, struct err *e)
{
    const int r = mounts_each(on_mount, t);
    pathset_add_above(&t->above, "/dev/console"); /* whose neighbours may be of the kind */
    return r < 0 ? err_set(e, r, "/proc/self/mountinfo: %s", strerror(-r)) : 0;
}

void terminals_done(struct terminals *t)
{
    pathset_done(&t->mounts);
    pathset_done(&t->above);
}

bool terminals_at(const struct terminals *t, const char *path)
{
    return pathset_has(&t->mounts, path);
}

bool terminals_below(const struct terminals *t, const char *path)
{
    return pathset_has(&t->above, path);
}
