/* SPDX-License-Identifier: Apache-2.0
 *
 * What is in a folder, in the order of the names, in the form of each contract. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "files/newfile.h"
#include "files/tree.h"
#include "front/agentsandbox/agentsandbox_internal.h"

enum { LIST_STEP = 200, LIST_BODY_MAX = 16 << 20, MODE_MAX = 8, NS = 1000000000 };

struct asb_name {
    char *name; /* owned */
    struct stat st;
};

struct asb_listing {
    struct agentsandbox *owner;
    struct http_request *r;
    struct tree *tree;
    struct loop_defer next;
    struct asb_name *names;
    size_t n, shown;
    struct buf body;
    struct jsonw w;
    bool sandboxd;
    char path[BENEATH_PATH_MAX];
};

static void free_asb_listing(struct asb_listing *l)
{
    loop_defer_stop(l->owner->config.loop, &l->next);
    l->tree = tree_close(l->tree);
    for (size_t i = 0; i < l->n; i++)
        xfree(l->names[i].name);
    xfree(l->names);
    buf_done(&l->body);
    xfree(l);
}

static void on_asb_listing_gone(void *ctx)
{
    free_asb_listing(ctx);
}

static int compare_asb_names(const void *a, const void *b)
{
    return strcmp(((const struct asb_name *)a)->name, ((const struct asb_name *)b)->name);
}

static void put_when(struct asb_listing *l, const struct timespec *t)
{
    if (l->sandboxd) {
        jsonw_set_time(&l->w, "modified_at", clock_real_ms_of(t));
        return;
    }
    jsonw_name(&l->w, "mod_time");
    jsonw_double(&l->w, (double)t->tv_sec + (double)t->tv_nsec / NS);
}

/* Of a link what it leads to, where that may be seen; clients know no other types than these. */
static void put_asb_entry(struct asb_listing *l, struct asb_name *entry)
{
    char mode[MODE_MAX], path[BENEATH_PATH_MAX];
    struct stat target;
    struct err e = ERR_NONE;
    drop_fd int fd = -1;
    int n = snprintf(path, sizeof path, "%s%s%s", l->path, *l->path ? "/" : "", entry->name);
    if (S_ISLNK(entry->st.st_mode) && n < (int)sizeof path &&
        asb_open_path(l->owner, path, O_PATH, &fd, &target, &e) == 0)
        entry->st = target;
    jsonw_object(&l->w);
    jsonw_set_text(&l->w, "name", entry->name);
    jsonw_set_int(&l->w, "size", entry->st.st_size);
    jsonw_set_text(&l->w, "type", S_ISDIR(entry->st.st_mode) ? "directory" : "file");
    put_when(l, &entry->st.st_mtim);
    (void)snprintf(mode, sizeof mode, "%04o", entry->st.st_mode & 0777);
    if (l->sandboxd)
        jsonw_set_text(&l->w, "mode", mode);
    jsonw_end(&l->w);
}

static void show_asb_names(void *ctx)
{
    struct asb_listing *l = ctx;
    for (int i = 0; i < LIST_STEP && l->shown < l->n; i++)
        put_asb_entry(l, &l->names[l->shown++]);
    if (l->shown < l->n) {
        loop_defer(l->owner->config.loop, &l->next, show_asb_names, l);
        return;
    }
    jsonw_end(&l->w);
    if (l->sandboxd)
        jsonw_end(&l->w);
    http_answer_json(l->r, 200, &l->body);
    free_asb_listing(l);
}

/* 1: there is more; 0: all are there; or a negative errno. */
static int collect_asb_names(struct asb_listing *l)
{
    struct tree_entry entry;
    int found = 1;
    for (int i = 0; i < LIST_STEP && found > 0; i++) {
        found = tree_next(l->tree, &entry);
        if (found <= 0 || newfile_is_temporary(entry.name))
            continue;
        if (l->n == AGENTSANDBOX_ENTRIES_MAX)
            return -E2BIG;
        l->names = xrealloc(l->names, (l->n + 1) * sizeof *l->names);
        l->names[l->n++] = (struct asb_name){.name = xstrdup(entry.name), .st = entry.st};
    }
    return found;
}

static void go_on_asb_listing(void *ctx)
{
    struct asb_listing *l = ctx;
    struct err e = ERR_NONE;
    int code = collect_asb_names(l);
    if (code > 0) {
        loop_defer(l->owner->config.loop, &l->next, go_on_asb_listing, l);
        return;
    }
    if (code < 0) {
        if (code == -E2BIG)
            (void)err_set(&e, -EEXIST, "'%.*s' holds more than %d names", ASB_SHOWN_MAX, l->path,
                          AGENTSANDBOX_ENTRIES_MAX);
        else
            (void)asb_path_error(l->owner, &e, code, l->path);
        asb_fail(l->r, &e);
        free_asb_listing(l);
        return;
    }
    if (l->n > 0)
        qsort(l->names, l->n, sizeof *l->names, compare_asb_names);
    show_asb_names(l);
}

void asb_list_folder(struct agentsandbox *a, struct http_request *r, int folder, const char *path)
{
    static const struct http_events events = {.gone = on_asb_listing_gone};
    struct tree *tree = NULL;
    struct err e = ERR_NONE;
    int code = tree_open(folder, &tree);
    if (code < 0) {
        (void)asb_path_error(a, &e, code, path);
        asb_fail(r, &e);
        return;
    }
    struct asb_listing *l = NEW(struct asb_listing);
    *l = (struct asb_listing){.owner = a,
                              .r = r,
                              .tree = tree,
                              .body = BUF_INIT(LIST_BODY_MAX),
                              .sandboxd = asb_is_sandboxd(a, r)};
    memcpy(l->path, path, strlen(path) + 1);
    l->w = JSONW(&l->body);
    if (l->sandboxd) {
        jsonw_object(&l->w);
        jsonw_set_text(&l->w, "path", path);
        jsonw_set_array(&l->w, "entries");
    } else {
        jsonw_array(&l->w);
    }
    http_watch(r, &events, l);
    loop_defer(a->config.loop, &l->next, go_on_asb_listing, l);
}
