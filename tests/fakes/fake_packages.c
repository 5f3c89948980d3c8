/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/fake_packages.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

struct install {
    const struct install_events *events;
    void *ctx;
};

struct fake_packages fake_packages;
static struct install *last;

int install_start(const struct packages_config *config, const char *package,
                  const struct install_events *events, void *ctx, struct install **ret,
                  struct err *e)
{
    (void)config;
    if (*package == '-')
        return err_set(e, -EINVAL, "package_name: an option");
    fake_packages.starts++;
    (void)snprintf(fake_packages.package, sizeof fake_packages.package, "%s", package);
    last = *ret = NEW(struct install);
    *last = (struct install){events, ctx};
    return 0;
}

struct package_list {
    const struct package_list_events *events;
    void *ctx;
};

static struct package_list *last_list;

int package_list_start(const struct packages_config *config,
                       const struct package_list_events *events, void *ctx,
                       struct package_list **ret, struct err *e)
{
    (void)config, (void)e;
    fake_packages.lists++;
    last_list = *ret = NEW(struct package_list);
    *last_list = (struct package_list){events, ctx};
    return 0;
}

struct package_list *package_list_cancel(struct package_list *list)
{
    fake_packages.cancels += list != NULL;
    xfree(list);
    return NULL;
}

void fake_packages_listed(const char *json)
{
    struct err e = ERR_NONE;
    (void)err_set(&e, -ECHILD, "Python told no list");
    drop_json struct json *list =
        json ? json_parse_copy(json, strlen(json), JSON_STRICT, NULL) : NULL;
    last_list->events->finished(last_list->ctx, list, list ? NULL : &e);
    xfree(last_list);
}

struct install *install_cancel(struct install *install)
{
    fake_packages.cancels += install != NULL;
    xfree(install);
    return NULL;
}

void fake_packages_text(const char *text)
{
    last->events->text(last->ctx, text, strlen(text));
}

void fake_packages_finish(const char *output, const char *why)
{
    struct err e = ERR_NONE;
    (void)err_set(&e, -ECHILD, "%s", why ? why : "");
    last->events->finished(last->ctx, output, why ? &e : NULL);
    xfree(last);
}

void fake_packages_progress(double progress, double total, const char *what)
{
    last->events->progress(last->ctx, progress, total, what);
}
