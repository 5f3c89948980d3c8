/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/apigen.h - from the tools of an MCP server to the source of a Python package that calls
 * them: a module with Params, Result (when the tool has an output schema), run() and arun() for
 * each, and __init__.py.
 * Pure:    text in, text out; no file, no clock. Equal input gives equal output.
 * Trust:   names, descriptions and schemas are a stranger's: nothing of them can become code
 *          outside of a docstring, a string literal or a sanitised identifier.
 * Schemas: JSON Schema 2020-12 and draft-07; the models accept, reject and dump what those of
 *          datamodel-code-generator do (docs/apigen.md lists the differences). What cannot be
 *          typed becomes Any with a comment, never an error: one odd tool costs no other.
 * Names:   a module's is the tool's in lower case with '_' for every character that is no
 *          letter, digit or '_'; keywords and collisions get a suffix, and a comment says so.
 * Limits:  APIGEN_DEPTH_MAX levels of a schema, then Any; a package over APIGEN_BYTES_MAX is
 *          -EMSGSIZE. */
#ifndef APIGEN_APIGEN_H
#define APIGEN_APIGEN_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"

#define APIGEN_DEPTH_MAX 64
#define APIGEN_BYTES_MAX ((size_t)64 << 20)

struct apigen_tool { /* borrowed for the call */
    const char *name;
    const char *description;
    const struct json *input;  /* its schema; NULL or null: an object of anything */
    const struct json *output; /* NULL or null: the result is not structured */
};

struct apigen_file {
    char *name; /* "__init__.py", "<module>.py" */
    char *text;
};

struct apigen_package { /* files[0] is __init__.py, files[i + 1] the module of tool i */
    struct apigen_file *files;
    size_t n_files;
    char **modules; /* of tool i: the name to import */
    size_t n_modules;
};

/* One file after the other, for callers with other work in between. The tools and what they
 * point to are borrowed until the end. */
struct apigen_work;
struct apigen_work *apigen_begin(const char *server_name, const struct apigen_tool *tools,
                                 size_t n);
/* 1: *ret is the next file, whose texts are the caller's, __init__.py the last one; 0: that was
 * all; or an error. */
MUST_CHECK int apigen_next(struct apigen_work *work, struct apigen_file *ret, struct err *e);
char *const *apigen_modules(const struct apigen_work *work); /* of tool i; borrowed */
/* Tool i in one line, as the docstring of the package has it (emit/summary.h). */
void apigen_put_summary(const struct apigen_work *work, size_t i, struct buf *out);
const char *apigen_root_text(void); /* of __init__.py in the folder of all packages; static */
struct apigen_work *apigen_end(struct apigen_work *work); /* NULL in, NULL out */
void apigen_file_done(struct apigen_file *file);

/* All at once. */
MUST_CHECK int apigen_package(const char *server_name, const struct apigen_tool *tools, size_t n,
                              struct apigen_package *ret, struct err *e);
void apigen_package_done(struct apigen_package *package);

#endif
