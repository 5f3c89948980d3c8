/* SPDX-License-Identifier: Apache-2.0 */
#include "session/packages/package_list.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

/* The first of a name on the path is the one that is imported. Of the users' place only metadata is
 * read: an isolated Python runs no .pth file of it. */
static const char program[] =
    "import importlib.metadata, json, site, sys\n"
    "places = list(sys.path)\n"
    "if sys.prefix == sys.base_prefix:\n"
    "    places.insert(0, site.getusersitepackages())\n"
    "found = {}\n"
    "for each in importlib.metadata.distributions(path=places):\n"
    "    name = each.metadata['Name']\n"
    "    if name:\n"
    "        found.setdefault(name.lower().replace('_', '-'), (name, each.version))\n"
    "print(json.dumps([{'name': name, 'version': str(version)}\n"
    "                  for _, (name, version) in sorted(found.items())]))\n";

enum { LAST_WORDS = 200 };

struct package_list {
    struct child *child;
    struct buf output;
    struct buf errors; /* the end of what it says there */
    const struct package_list_events *events;
    void *ctx;
};

static void free_list(struct package_list *list)
{
    (void)child_end(list->child);
    buf_done(&list->output);
    buf_done(&list->errors);
    xfree(list);
}

static void on_list_output(void *ctx, const char *bytes, size_t n)
{
    struct package_list *list = ctx;
    (void)buf_add(&list->output, bytes, n);
}

static void on_list_errors(void *ctx, const char *bytes, size_t n)
{
    struct package_list *list = ctx;
    size_t take = n < LAST_WORDS ? n : LAST_WORDS;
    if (list->errors.len + take > LAST_WORDS)
        buf_cut_front(&list->errors, list->errors.len + take - LAST_WORDS);
    (void)buf_add(&list->errors, bytes + n - take, take);
}

/* Nothing is written to it: this is only its end. */
static void on_list_writable(void *ctx)
{
    (void)ctx;
}

static int read_package_list(const struct package_list *list, struct json **ret, struct err *e)
{
    if (list->output.failed)
        return err_set(e, -EMSGSIZE, "the list is longer than %zu MiB",
                       PACKAGE_LIST_BYTES_MAX >> 20);
    drop_json struct json *tree =
        json_parse_copy(buf_text(&list->output), list->output.len, JSON_REPAIR, NULL);
    if (!json_is_array(tree))
        return err_set_words(e, -ECHILD,
                             "Python told no list of packages: ", buf_text(&list->errors));
    *ret = tree;
    tree = NULL;
    return 0;
}

static void on_list_ended(void *ctx, const struct child_exit *how, const struct err *why)
{
    struct package_list *list = ctx;
    drop_json struct json *found = NULL;
    struct err e = ERR_NONE;
    list->child = NULL;
    if (!how)
        (void)err_set(&e, why->code, "Python: %s", why->msg);
    else
        (void)!read_package_list(list, &found, &e);
    list->events->finished(list->ctx, found, found ? NULL : &e);
    free_list(list);
}

int package_list_start(const struct packages_config *config,
                       const struct package_list_events *events, void *ctx,
                       struct package_list **ret, struct err *e)
{
    static const struct child_events child_events = {.output = on_list_output,
                                                     .errors = on_list_errors,
                                                     .writable = on_list_writable,
                                                     .ended = on_list_ended};
    const char *argv[] = {config->python, "-I", "-c", program, NULL};
    struct child_spec spec = {.argv = argv, .envp = config->envp, .cwd = "/", .piped = true};
    struct package_list *list = NEW(struct package_list);
    *list = (struct package_list){.output = BUF_INIT(PACKAGE_LIST_BYTES_MAX),
                                  .errors = BUF_INIT(LAST_WORDS),
                                  .events = events,
                                  .ctx = ctx};
    int r = child_start(config->spawner, &spec, &child_events, list, &list->child, e);
    if (r < 0) {
        free_list(list);
        return r;
    }
    *ret = list;
    return 0;
}

struct package_list *package_list_cancel(struct package_list *list)
{
    if (list)
        free_list(list);
    return NULL;
}
