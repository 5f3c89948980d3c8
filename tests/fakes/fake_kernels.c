/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/fake_kernels.h"

#include <stdio.h>
#include <string.h>

struct fake_kernels fake_kernels;

enum { ITEMS = sizeof fake_kernels.items / sizeof *fake_kernels.items };

static int note(const char *what, const char *id, const char *rest, struct err *e)
{
    size_t used = strlen(fake_kernels.calls);
    (void)snprintf(fake_kernels.calls + used, sizeof fake_kernels.calls - used, "%s %s%s; ", what,
                   id, rest);
    int r = fake_kernels.refuse;
    fake_kernels.refuse = 0;
    return r < 0 ? err_set(e, r, "refused") : 0;
}

int kernels_launch(struct kernels *kernels, const char *id, const struct json *env, const char *cwd,
                   struct err *e)
{
    (void)kernels;
    char rest[256];
    const char *a = json_get_text(env, "KERNEL_A");
    (void)snprintf(rest, sizeof rest, " %s %s", cwd ? cwd : "-", a ? a : "-");
    return note("launch", id, rest, e);
}

bool kernels_find(const struct kernels *kernels, const char *id, struct kernels_item *ret)
{
    (void)kernels;
    for (int i = 0; i < ITEMS; i++) {
        if (!fake_kernels.items[i].id || strcmp(fake_kernels.items[i].id, id) != 0)
            continue;
        *ret = fake_kernels.items[i];
        return true;
    }
    return false;
}

bool kernels_next(const struct kernels *kernels, size_t *at, struct kernels_item *ret)
{
    (void)kernels;
    while (*at < ITEMS) {
        *ret = fake_kernels.items[(*at)++];
        if (ret->id)
            return true;
    }
    return false;
}

int kernels_interrupt(struct kernels *kernels, const char *id, struct err *e)
{
    (void)kernels;
    return note("interrupt", id, "", e);
}

int kernels_kill(struct kernels *kernels, const char *id, struct err *e)
{
    (void)kernels;
    return note("kill", id, "", e);
}

int kernels_restart(struct kernels *kernels, const char *id, struct err *e)
{
    (void)kernels;
    return note("restart", id, "", e);
}

void kernels_forget(struct kernels *kernels, const char *id)
{
    (void)kernels;
    (void)note("forget", id, "", NULL);
}
