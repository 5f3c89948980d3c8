/* SPDX-License-Identifier: Apache-2.0
 *
 * wire/dotenv.h - reads the text of a .env file as load_dotenv() of python-dotenv 1.2.4 does.
 * Grammar:  `export` prefix, keys in single quotes, values in single or double quotes (over several
 *           lines, with the escapes of each kind) or plain with an inline comment, ${X} and
 *           ${X:-default}; a line that is not understood is skipped with a warning.
 * Values:   the environment wins, in interpolation and in what is set; among equal names the last.
 *           A name without `=` sets nothing.
 * Differs:  where load_dotenv() raises half-way (a NUL in a value, `=` in a quoted name) the one
 *           variable is skipped with a warning. $PYTHON_DOTENV_DISABLED is the caller's matter.
 * Limits:   all names and expanded values together, and the number of names, are bounded, because
 *           the file may be written by code that runs in a kernel. Time is linear in the text. */
#ifndef WIRE_DOTENV_H
#define WIRE_DOTENV_H

#include <stddef.h>

#include "base/err.h"

#define DOTENV_MAX ((size_t)1 << 20)          /* bytes of the file */
#define DOTENV_EXPANDED_MAX ((size_t)4 << 20) /* bytes of names and values */
#define DOTENV_NAMES_MAX 4096

struct dotenv_events {
    const char *(*environment)(void *ctx, const char *name); /* NULL: not set there */
    void (*set)(void *ctx, const char *name, const char *value);
    void (*warn)(void *ctx, size_t line, const char *what); /* NULL: warnings are not wanted */
};

/* `set` is called for each variable that the environment lacks, in the order of the file, and only
 * when all went well. -EILSEQ: not UTF-8; -EMSGSIZE, -E2BIG: over a limit; -ENOMEM. */
MUST_CHECK int dotenv_parse(const char *text, size_t len, const struct dotenv_events *events,
                            void *ctx, struct err *e);

#endif
