/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/cli/adopt.h - `ipybox apigen adopt [NAME…]`: registrations from packages that the
 * Python ipybox (0.7 to 0.9.2) has generated, which hold their server's parameters.
 * Reads:   DIR/NAME/__init__.py as data: nothing of it is run. Cells can have written it, so what
 *          is registered is printed, and the human who has called this answers for it.
 * Writes:  where the server looks when code calls a server that it does not know
 *          (tools/client/remembered.h). The packages stay as they are. */
#ifndef ENTRYPOINT_CLI_ADOPT_H
#define ENTRYPOINT_CLI_ADOPT_H

#include "base/buf.h"
#include "base/json/json.h"
#include "entrypoint/options.h"

/* Whether argv, behind `apigen`, asks for it: by its first word. */
bool adopt_is_meant(int argc, char **argv);

/* What stands in the text of such an __init__.py. *ret_name is the caller's (xfree), and so is
 * *ret_params. -ENOENT: it is none of theirs. -EINVAL: it is, and was changed too much. */
MUST_CHECK int adopt_read(const char *text, size_t n, char **ret_name, struct json **ret_params,
                          struct err *e);

MUST_CHECK int adopt_all(const struct options *options, struct err *e);

#endif
