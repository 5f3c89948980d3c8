/* SPDX-License-Identifier: Apache-2.0
 *
 * ListDir: what is in a folder, and so far below it as was asked for, in the order of the names. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "files/newfile.h"
#include "files/tree.h"
#include "front/envd/envd_internal.h"

enum { STEP = 200, LIST_MAX = 16 << 20, DEPTH_MAX = 1000 };

struct envd_listing {
    struct envd *envd;
    struct http_request *r;
    struct tree *tree;
    struct loop_defer next;
    int depth, level;
    char **names; /* from the folder, owned */
    size_t n, shown;
    struct buf body;
    struct jsonw w;
    struct envd_path path;
};

static void free_listing(struct envd_listing *l)
{
    loop_defer_stop(l->envd->e2b->config.loop, &l->next);
    l->tree = tree_close(l->tree);
    for (size_t i = 0; i < l->n; i++)
        xfree(l->names[i]);
    xfree(l->names);
    buf_done(&l->body);
    xfree(l);
}

static void on_listing_gone(void *ctx)
{
    free_listing(ctx);
}

/* A folder before what is in it, and that before its neighbours. */
static int compare_paths(const void *a, const void *b)
{
    const unsigned char *p = *(unsigned char *const *)a, *q = *(unsigned char *const *)b;
    while (*p && *p == *q)
        p++, q++;
    int x = *p == '/' ? 1 : *p ? *p + 1 : 0, y = *q == '/' ? 1 : *q ? *q + 1 : 0;
    return x - y;
}

/* 1: there is more; 0: all are there; or a negative errno. */
static int collect_some(struct envd_listing *l)
{
    struct tree_entry entry;
    int found = 1;
    for (int i = 0; i < STEP && found > 0; i++) {
        found = tree_next(l->tree, &entry);
        if (found > 0 && entry.leaving)
            l->level--;
        if (found <= 0 || entry.leaving || newfile_is_temporary(entry.name))
            continue;
        if (l->n >= ENVD_ENTRIES_MAX)
            return -E2BIG;
        l->names = xrealloc(l->names, (l->n + 1) * sizeof *l->names);
        l->names[l->n++] = xstrdup(entry.path);
        if (S_ISDIR(entry.st.st_mode) && l->level < l->depth && tree_enter(l->tree) == 0)
            l->level++;
    }
    return found;
}

static void put_listed(struct envd_listing *l, const char *name)
{
    struct envd_path path;
    const char *below = l->path.below;
    int n = snprintf(path.below, sizeof path.below, "%s%s%s", below, *below ? "/" : "", name);
    int m = snprintf(path.shown, sizeof path.shown, "%s/%s", l->path.shown, name);
    if (n < (int)sizeof path.below && m < (int)sizeof path.shown)
        (void)!envd_put_entry(l->envd, &l->w, &path); /* or it has gone meanwhile */
}

static void answer_listing(struct envd_listing *l)
{
    jsonw_end(&l->w);
    jsonw_end(&l->w);
    envd_answer(l->r, &l->body);
    free_listing(l);
}

static void show_some(void *ctx)
{
    struct envd_listing *l = ctx;
    for (int i = 0; i < STEP && l->shown < l->n; i++)
        put_listed(l, l->names[l->shown++]);
    if (l->shown < l->n)
        loop_defer(l->envd->e2b->config.loop, &l->next, show_some, l);
    else
        answer_listing(l);
}

static void go_on_listing(void *ctx)
{
    struct envd_listing *l = ctx;
    struct err e = ERR_NONE;
    int code = collect_some(l);
    if (code > 0) {
        loop_defer(l->envd->e2b->config.loop, &l->next, go_on_listing, l);
        return;
    }
    if (code < 0) {
        if (code == -E2BIG)
            (void)err_set(&e, -EAGAIN, "path '%.200s' holds more than %d entries", l->path.shown,
                          ENVD_ENTRIES_MAX);
        else
            (void)envd_path_error(l->envd, &e, code, &l->path);
        envd_refuse(l->r, &e);
        free_listing(l);
        return;
    }
    if (l->n > 0)
        qsort(l->names, l->n, sizeof *l->names, compare_paths);
    show_some(l);
}

/* tree is taken over. */
static void begin_listing(const struct envd_call *call, const struct envd_path *path,
                          struct tree *tree)
{
    static const struct http_events events = {.gone = on_listing_gone};
    double depth = json_number(json_get(call->body, "depth"));
    struct envd_listing *l = NEW(struct envd_listing);
    *l = (struct envd_listing){.envd = call->envd,
                               .r = call->r,
                               .tree = tree,
                               .depth = depth < 1           ? 1
                                        : depth > DEPTH_MAX ? DEPTH_MAX
                                                            : (int)depth,
                               .level = 1,
                               .body = BUF_INIT(LIST_MAX),
                               .path = *path};
    l->w = JSONW(&l->body);
    jsonw_object(&l->w);
    jsonw_set_array(&l->w, "entries");
    http_watch(call->r, &events, l);
    loop_defer(call->envd->e2b->config.loop, &l->next, go_on_listing, l);
}

void envd_list_dir(void *ctx, struct http_request *r)
{
    drop_call struct envd_call call = {0};
    struct envd_path path;
    struct err e = ERR_NONE;
    struct tree *tree = NULL;
    if (!envd_unary(ctx, r, &call))
        return;
    int code = envd_path(call.envd, json_get_text(call.body, "path"), &path, &e);
    if (code == 0) {
        const struct envd *d = call.envd;
        int fd =
            spot_open(&d->top, path.below, O_RDONLY | O_DIRECTORY, BENEATH_FOLLOW, d->rules, NULL);
        code = fd < 0 ? fd : tree_open(fd, &tree);
        if (code < 0)
            (void)envd_path_error(d, &e, code, &path);
        else
            tree_judge(tree, d->rules);
    }
    if (code < 0)
        envd_refuse(r, &e);
    else
        begin_listing(&call, &path, tree);
}
