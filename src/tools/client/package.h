/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/client/package.h - puts a generated package in its place, whole or not at all.
 * Users:   what they added to a module is kept (merge.h), and so are their own files.
 *          A package in which nothing changes is not touched; a module that was changed above the
 *          line is also kept as NAME.py.orig.
 * How:     written to a directory beside it, then exchanged with what was there (renameat2), so an
 *          import never finds half a package; what was there is removed. Nothing is followed out of
 *          root_dir by a symbolic link: code in a kernel may have made one.
 * Thread:  each call blocks for a moment: one file, or PACKAGE_SWEEP_NAMES names. package_write()
 *          blocks for all of them.
 * Order:   who sweeps sweeps while nothing is being written: what is, looks like a leftover. */
#ifndef TOOLS_CLIENT_PACKAGE_H
#define TOOLS_CLIENT_PACKAGE_H

#include <stdbool.h>

#include "apigen/apigen.h"

#define PACKAGE_SWEEP_NAMES 200      /* removed at once … */
#define PACKAGE_SWEEP_LOOKED_AT 2000 /* … of so many … */
#define PACKAGE_SWEEPS_MAX 5000      /* … so often: code may go on making them */

/* Makes root_dir when it is not there; the package is root_dir/server_name. All files at once, and
 * some leftovers go. */
MUST_CHECK int package_write(const char *root_dir, const char *server_name,
                             const struct apigen_package *package, struct err *e);

/* --- file by file ---------------------------------------------------------------------------- */

struct package;
MUST_CHECK int package_open(const char *root_dir, const char *server_name, struct package **ret,
                            struct err *e);
MUST_CHECK int package_add(struct package *package, const struct apigen_file *file, struct err *e);
/* The files of before are leftovers then. Without a change the new ones are. */
MUST_CHECK int package_place(struct package *package, struct err *e);
/* What was done to a package that was there, in a sentence, after package_place(); NULL: nothing.
 * The caller frees it. */
char *package_report(const struct package *package);
/* What is not in its place is a leftover. NULL in, NULL out. */
struct package *package_close(struct package *package);

/* --- what a replaced package, a crash and code in kernels leave ------------------------------- */

struct package_sweep;
struct package_sweep *package_sweep_open(const char *root_dir);         /* NULL: there is nothing */
bool package_sweep_some(struct package_sweep *sweep);                   /* false: that was all */
struct package_sweep *package_sweep_close(struct package_sweep *sweep); /* NULL in, NULL out */

#endif
