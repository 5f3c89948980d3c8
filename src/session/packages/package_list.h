/* SPDX-License-Identifier: Apache-2.0
 *
 * session/packages/package_list.h - the Python packages that kernels find, listed by a process like
 * theirs.
 * Trust:   what is told is data: code in cells can install anything, and the list is made by a
 *          Python that reads it. At most PACKAGE_LIST_BYTES_MAX of it are read.
 * Runs:    beside the cells, in a process tree of its own that ends with it. */
#ifndef SESSION_PACKAGES_PACKAGE_LIST_H
#define SESSION_PACKAGES_PACKAGE_LIST_H

#include "base/json/json.h"
#include "session/packages/packages.h"

#define PACKAGE_LIST_BYTES_MAX ((size_t)4 << 20)

struct package_list_events {
    /* The last event. list: an array of objects with name and version, for the call; NULL: why. */
    void (*finished)(void *ctx, const struct json *list, const struct err *why);
};

struct package_list;
MUST_CHECK int package_list_start(const struct packages_config *config,
                                  const struct package_list_events *events, void *ctx,
                                  struct package_list **ret, struct err *e);
/* No event follows; NULL in, NULL out. */
struct package_list *package_list_cancel(struct package_list *list);

#endif
