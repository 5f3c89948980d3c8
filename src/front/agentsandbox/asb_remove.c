/* SPDX-License-Identifier: Apache-2.0
 *
 * DELETE: a file, a link, an empty folder; with ?recursive=true a folder with all that is in it. */
#include <string.h>

#include "base/alloc.h"
#include "files/tree.h"
#include "front/agentsandbox/agentsandbox_internal.h"

struct asb_removal {
    struct agentsandbox *owner;
    struct http_request *r;
    struct tree *tree;
    struct spot place; /* of the folder */
    struct loop_defer next;
    char path[BENEATH_PATH_MAX];
};

static void free_asb_removal(struct asb_removal *d)
{
    loop_defer_stop(d->owner->config.loop, &d->next);
    d->tree = tree_close(d->tree);
    spot_close(&d->place);
    xfree(d);
}

static void tell_asb_removed(const struct agentsandbox *a, const struct http_request *r,
                             const char *path, const char *outcome)
{
    asb_tell(a, r,
             &(struct audit_event){.kind = AUDIT_FILE_DELETED, .path = path, .outcome = outcome});
}

static void answer_asb_removed(const struct agentsandbox *a, struct http_request *r, int code,
                               const char *path)
{
    struct err e = ERR_NONE;
    if (code < 0) {
        (void)asb_path_error(a, &e, code, path);
        asb_fail(r, &e);
        return;
    }
    tell_asb_removed(a, r, path, NULL);
    http_answer(r, 204, NULL, 0, NULL, 0);
}

static void on_asb_removal_gone(void *ctx)
{
    struct asb_removal *d = ctx;
    tell_asb_removed(d->owner, d->r, d->path, "partial");
    free_asb_removal(d);
}

static void go_on_asb_removal(void *ctx)
{
    struct asb_removal *d = ctx;
    const char *below = NULL;
    int done = tree_delete(d->tree, &below);
    if (done == 0) {
        loop_defer(d->owner->config.loop, &d->next, go_on_asb_removal, d);
        return;
    }
    if (done < 0)
        tell_asb_removed(d->owner, d->r, d->path, "partial");
    else
        done = spot_remove(&d->place, true);
    answer_asb_removed(d->owner, d->r, done, d->path);
    free_asb_removal(d);
}

/* place: taken over. */
static void remove_asb_tree(struct agentsandbox *a, struct http_request *r, const char *path,
                            struct spot *place)
{
    static const struct http_events events = {.gone = on_asb_removal_gone};
    struct tree *tree = NULL;
    int fd = spot_open_tree(place);
    int code = fd < 0 ? fd : tree_open(fd, &tree);
    if (code < 0) {
        answer_asb_removed(a, r, code, path);
        return;
    }
    tree_judge(tree, place->rules);
    struct asb_removal *d = NEW(struct asb_removal);
    *d = (struct asb_removal){.owner = a, .r = r, .tree = tree, .place = spot_take(place)};
    memcpy(d->path, path, strlen(path) + 1);
    http_watch(r, &events, d);
    loop_defer(a->config.loop, &d->next, go_on_asb_removal, d);
}

static int removed_path(const struct agentsandbox *a, const struct http_request *r,
                        char path[BENEATH_PATH_MAX], struct spot *ret, struct err *e)
{
    int code = asb_path_of(r, path, e);
    if (code == 0 && path[0] == '\0')
        code = err_set(e, -EACCES, "the workspace itself stays");
    if (code == 0)
        code = audit_check(a->config.audit, e);
    if (code < 0)
        return code;
    code = spot_find(&a->top, path, SPOT_AS_IT_IS, a->rules, SPOT_REMOVE, ret);
    return code < 0 ? asb_path_error(a, e, code, path) : 0;
}

void asb_delete(void *ctx, struct http_request *r)
{
    struct agentsandbox *a = ctx;
    char path[BENEATH_PATH_MAX];
    const char *recursive = http_query(r, "recursive");
    drop_held struct spot place = SPOT_NONE;
    struct stat st;
    struct err e = ERR_NONE;
    if (removed_path(a, r, path, &place, &e) < 0) {
        asb_fail(r, &e);
        return;
    }
    int code = spot_stat(&place, &st);
    bool folder = code == 0 && S_ISDIR(st.st_mode);
    if (folder && recursive && strcmp(recursive, "true") == 0) {
        remove_asb_tree(a, r, path, &place);
        return;
    }
    if (code == 0)
        code = spot_remove(&place, folder);
    answer_asb_removed(a, r, code, path);
}
