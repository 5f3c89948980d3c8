/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "tools/launch/launch.h"
#include "tools/launch/surroundings.h"

enum { LAST_WORDS = 280 };

struct copy {
    struct child *child;
    char *folder, *spec;
    char words[LAST_WORDS + 1]; /* the end of what pip has said */
    size_t n;
    const struct copy_events *events;
    void *ctx;
};

static void free_copy(struct copy *copy)
{
    (void)child_end(copy->child);
    xfree(copy->folder);
    xfree(copy->spec);
    xfree(copy);
}

static void on_copy_output(void *ctx, const char *bytes, size_t n)
{
    struct copy *copy = ctx;
    size_t take = n < LAST_WORDS ? n : LAST_WORDS;
    size_t keep = copy->n + take > LAST_WORDS ? LAST_WORDS - take : copy->n;
    memmove(copy->words, copy->words + copy->n - keep, keep);
    memcpy(copy->words + keep, bytes + n - take, take);
    copy->n = keep + take;
    copy->words[copy->n] = '\0';
    if (copy->events->text)
        copy->events->text(copy->ctx, bytes, n);
}

static void on_copy_ended(void *ctx, const struct child_exit *how, const struct err *why)
{
    struct copy *copy = ctx;
    struct err e = ERR_NONE;
    copy->child = NULL;
    for (size_t i = 0; i < copy->n; i++)
        if ((unsigned char)copy->words[i] < ' ')
            copy->words[i] = ' ';
    if (!how)
        (void)err_set(&e, why->code, "pip: %s", why->msg);
    else if (how->signal || how->code)
        (void)err_set(&e, -ECHILD, "pip could not install %.80s once more: %s", copy->spec,
                      how->limit ? how->limit : copy->words);
    else
        place_note_copy(copy->folder, copy->spec);
    const struct copy_events *events = copy->events;
    void *to = copy->ctx;
    free_copy(copy);
    events->done(to, e.code ? &e : NULL);
}

int copy_start(const struct tools_config *tools, const struct server_launch *launch,
               const struct copy_events *events, void *ctx, struct copy **ret, struct err *e)
{
    static const struct child_events child_events = {.output = on_copy_output,
                                                     .ended = on_copy_ended};
    const char *argv[] = {tools->place->python,
                          "-m",
                          "pip",
                          "install",
                          "--user",
                          "--no-input",
                          "--no-color",
                          "--disable-pip-version-check",
                          "--no-warn-script-location",
                          "--progress-bar=off",
                          launch->missing,
                          NULL};
    struct copy *copy = NEW(struct copy);
    *copy = (struct copy){.folder = xstrdup(launch->folder),
                          .spec = xstrdup(launch->missing),
                          .events = events,
                          .ctx = ctx};
    char **envp = surroundings_new(tools->envp, tools->place, launch->folder, true, NULL);
    struct launch_walls walls;
    struct child_spec spec = {.argv = argv,
                              .envp = (const char *const *)envp,
                              .cwd = launch->folder,
                              .sandbox = launch_confine(tools, launch->folder, &walls)};
    int r = child_start(tools->spawner, &spec, &child_events, copy, &copy->child, e);
    (void)surroundings_free(envp);
    if (r < 0)
        free_copy(copy);
    else
        *ret = copy;
    return r;
}

struct copy *copy_stop(struct copy *copy)
{
    if (copy)
        free_copy(copy);
    return NULL;
}
