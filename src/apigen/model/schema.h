/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/model/schema.h - what a JSON Schema says at one place, its references and allOf taken
 * together.
 * Source:  JSON Schema 2020-12 and draft-07; the draft-04 form of exclusiveMinimum too.
 * Refs:    inside the document only ("#", "#/…", "#anchor"); nothing is ever fetched.
 * Limits:  VIEW_PARTS schemas that hold at one place; with more, `over` says that some miss. */
#ifndef APIGEN_MODEL_SCHEMA_H
#define APIGEN_MODEL_SCHEMA_H

#include <stdbool.h>

#include "apigen/model/arena.h"
#include "base/json/json.h"

enum { VIEW_PARTS = 24 };

/* Schemas that all hold at the same place. Borrowed. */
struct view {
    const struct json *part[VIEW_PARTS];
    int n;
    const struct json *spent[VIEW_PARTS]; /* anyOf/oneOf lists that were taken apart already */
    int n_expired;
    bool over;
};

/* What references lead into. Made with `arena` and `root`; the rest is found out when needed. */
struct document {
    struct arena *arena;
    const struct json *root;
    struct set targets; /* of references that were followed */
    struct map members; /* of large objects: struct set, name to value */
    struct set anchors;
    bool anchors_read;
};

/* The target of a reference, NULL when the document has none; *ret_name gets the last part of the
 * pointer, in the arena ("" for the document itself). */
const struct json *schema_target(struct document *d, const char *ref, const char **ret_name);

/* Has keywords beside `except` that say which values are valid (not only what they mean). */
bool schema_says_more(const struct json *schema, const char *except);

/* Adds a schema, what it refers to and what its allOf lists. */
void view_add(struct document *d, struct view *v, const struct json *schema);

/* The keyword where it stands first; NULL: nowhere. */
const struct json *view_get(const struct view *v, const char *keyword);
const char *view_text(const struct view *v, const char *keyword);

/* The strictest of the bounds that the keyword sets in any part. */
bool view_least(const struct view *v, const char *keyword, double *ret);
bool view_most(const struct view *v, const char *keyword, double *ret);

/* The next anyOf or oneOf that is not spent. */
const struct json *view_choice(const struct view *v);

/* additionalProperties (or unevaluatedProperties) as all parts together have it: false wins. */
const struct json *view_additional(const struct view *v);
bool json_is_false(const struct json *j);

/* Whether `type` allows it; without any `type` the answer is `otherwise`. */
bool view_type(const struct view *v, const char *type, bool otherwise);

#endif
