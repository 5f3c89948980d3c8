/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/model/regex.h - whether a pattern of a schema can be given to a model.
 * Why:     a pattern that the expression engine refuses would make the whole module fail to
 *          import. So only what is known to be understood is passed on.
 * Source:  ECMA-262 as JSON Schema asks for; the syntax that it shares with the engines of
 *          pydantic, which are Rust's regex (linear time) and Python's re. */
#ifndef APIGEN_MODEL_REGEX_H
#define APIGEN_MODEL_REGEX_H

enum regex_kind {
    REGEX_NONE,   /* neither engine is known to take it */
    REGEX_PLAIN,  /* both take it */
    REGEX_RUST,   /* only Rust's, which models use unless they say otherwise */
    REGEX_PYTHON, /* look-around or back references: only Python's */
};

enum regex_kind regex_kind(const char *pattern);

#endif
