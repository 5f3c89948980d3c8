/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/client/remembered.h - registrations that outlive the server: one file each, NAME.json, with
 * the parameters as they were registered, ${VAR} unreplaced.
 * Trust:   code in cells may have made what is there. A file is believed that is a plain one with
 *          one name, of our own, closed to others, and says which server it is of. With a uid of
 *          the server's own (base/service.h) the files are that uid's, which code lacks: it can
 *          remove files, or bring back old ones, but neither make nor change any. Elsewhere code
 *          may have written them, unless the directory is hidden from it: then an approver is asked
 *          first (`ret_ask`), and secret values are not written.
 * Links:   none is followed below `base`.
 * Calls:   each blocks for a moment. A failure costs the memory alone. */
#ifndef TOOLS_CLIENT_REMEMBERED_H
#define TOOLS_CLIENT_REMEMBERED_H

#include <stdbool.h>

#include "base/err.h"
#include "base/json/json.h"

#define REMEMBERED_MAX ((size_t)64 << 10) /* bytes of a file */

struct remembered {       /* borrowed texts */
    const char *base;     /* a directory that is there; absolute */
    const char *parts[2]; /* below it, made when they are not there; NULL: none */
    bool own;             /* the files are the service uid's */
    bool closed;          /* code in cells neither reads nor writes there */
    bool sandbox;         /* kernels are in one, servers are not */
};

MUST_CHECK int remembered_write(const struct remembered *all, const char *name,
                                const struct json *params, struct err *e);

/* -ENOENT: nothing that is believed. *ret_ask: a human's yes is needed before it is started. */
MUST_CHECK int remembered_read(const struct remembered *all, const char *name, struct json **ret,
                               bool *ret_ask, struct err *e);

/* False: there was none. */
bool remembered_remove(const struct remembered *all, const char *name);

#endif
