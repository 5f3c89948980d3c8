/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/model/names.h - a stranger's text as Python text: identifiers and literals, nothing else.
 * Trust:   these functions are the only way by which text of a schema gets into a module. What
 *          they write is an identifier, one literal or one docstring, whatever they are given.
 * Letters: an identifier keeps the letters of Python identifiers that NFKC leaves as they are, of
 *          the common scripts (names.c lists the ranges); every other character becomes '_'.
 * Text:    control characters, line separators, marks of direction and characters without width
 *          are written as escapes, so a reader sees what is there. */
#ifndef APIGEN_MODEL_NAMES_H
#define APIGEN_MODEL_NAMES_H

#include <stdbool.h>

#include "apigen/model/arena.h"
#include "base/buf.h"
#include "base/json/json.h"

bool name_is_keyword(const char *name);
bool name_is_model_attribute(const char *name);

/* A module's name as it was always made: lower case, '_' for all but letters, digits, '_'. */
char *name_module(struct arena *a, const char *tool);

/* The same with '_' between the words of "createAppsV1Deployment": create_apps_v1_deployment. */
char *name_words(struct arena *a, const char *tool);

/* The characters of an identifier; "field" is put before a digit or '_' at its begin. */
char *name_field(struct arena *a, const char *wire);
char *name_class(struct arena *a, const char *wire); /* UpperCamelCase of it */
char *name_singular(struct arena *a, const char *class_name, const char *suffix);

void put_text(struct buf *out, const char *text);     /* "…" */
void put_comment(struct buf *out, const char *text);  /* on one line, cut when long */
void put_number(struct buf *out, double value);       /* an int when it is one */
void put_json(struct buf *out, const struct json *j); /* a literal: list, dict, None … */
/* """…""" at `indent` spaces, without a line end behind */
void put_docstring(struct buf *out, const char *text, int indent);

#endif
