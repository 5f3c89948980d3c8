/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/package.h - puts a generated package in its place, whole or not at all.
 * How:     written to a directory beside it, then exchanged with what was there (renameat2), so an
 *          import never finds half a package; what was there is removed. Nothing is followed out of
 *          root_dir by a symbolic link: code in a kernel may have made one.
 * Thread:  blocks for the writing of a few small files. */
#ifndef TOOLS_PACKAGE_H
#define TOOLS_PACKAGE_H

#include "apigen/apigen.h"

/* Makes root_dir when it is not there; the package is root_dir/server_name. */
MUST_CHECK int package_write(const char *root_dir, const char *server_name,
                             const struct apigen_package *package, struct err *e);

#endif
