/* SPDX-License-Identifier: Apache-2.0
 *
 * session/kernels/setup.h - the code that gives a kernel its variables and its directory (private
 * to session/). Spares are started before anybody knows of either: they get them by a first cell.
 * Limits:  SETUP_CODE_MAX bytes of code. */
#ifndef SESSION_KERNELS_SETUP_H
#define SESSION_KERNELS_SETUP_H

#include "base/err.h"
#include "base/json/json.h"

#define SETUP_CODE_MAX ((size_t)4 << 20)

/* Of `env`, an object or NULL, the texts whose name begins with `prefix`; a TZ and a PYTHONPATH
 * among them take effect. cwd: NULL or "": it stays where it is; else that stays on sys.path,
 * because generated packages are there. No name is left behind in the kernel. The caller frees *ret
 * with xfree(). -EMSGSIZE: it is too long. */
MUST_CHECK int setup_code(const struct json *env, const char *prefix, const char *cwd, char **ret,
                          struct err *e);

#endif
