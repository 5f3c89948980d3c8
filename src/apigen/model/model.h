/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/model/model.h - the classes and types that a schema becomes: named, but not yet text.
 * Names:   a property's class is called after the property (UpperCamelCase, an array's item in the
 *          singular), a referenced one after the last part of its pointer; who comes first has the
 *          name, the next gets a number.
 * Owns:    nothing; everything lies in the arena and borrows from the schemas.
 * Limits:  APIGEN_WORK_MAX places of a schema are looked at and APIGEN_DEPTH_MAX levels of it, a
 *          union has APIGEN_UNION_MAX members; what lies beyond is Any, and `cut` is set. What a
 *          place costs does not grow with the schema, so the work is bounded as a whole. */
#ifndef APIGEN_MODEL_MODEL_H
#define APIGEN_MODEL_MODEL_H

#include <stdbool.h>

#include "apigen/apigen.h"
#include "apigen/model/arena.h"
#include "apigen/model/schema.h"

enum { APIGEN_WORK_MAX = 20000, APIGEN_UNION_MAX = 256 };
enum {
    APIGEN_PACKAGE_WORK_MAX = 200000
}; /* of all modules together, for Params and for Result; later ones are Any */

enum type_kind {
    T_ANY,
    T_NONE,
    T_BOOL,
    T_INT,
    T_FLOAT,
    T_STR,
    T_FORMAT, /* a class of the library, by its format */
    T_LIST,   /* item */
    T_DICT,   /* key, value */
    T_TUPLE,  /* items */
    T_UNION,  /* members */
    T_LITERAL,
    T_CLASS,
};

enum bound { B_GE, B_GT, B_LE, B_LT, B_MULTIPLE, B_MIN_LENGTH, B_MAX_LENGTH, B__COUNT };

struct format;
struct model;

struct model_type {
    enum type_kind kind;
    bool nullable;
    unsigned bounds; /* bit per enum bound that is set */
    double bound[B__COUNT];
    const char *pattern;
    const struct format *format;
    struct arena_list values; /* struct json, of T_LITERAL */
    struct model *model;      /* of T_CLASS */
    struct arena_list args;   /* struct model_type */
};

struct format { /* how a format of strings is called in Python and where it comes from */
    const char *format, *name, *import;
};

struct model_field {
    const char *name, *wire; /* in Python; in JSON */
    struct model_type *type;
    bool required;
    const struct json *fallback; /* its default, NULL: none */
    const char *description;
};

struct model_member { /* of an enum */
    const char *name;
    const struct json *value;
};

/* A set of scalars, each with a pointer of the caller's. */
struct values {
    struct set texts, others;
};

enum model_kind { M_OBJECT, M_ENUM, M_ROOT };

struct model {
    enum model_kind kind;
    const char *name;
    const struct json *key;    /* where it stands; NULL: at no place of its own */
    struct arena_list fields;  /* struct model_field, of M_OBJECT */
    struct arena_list members; /* struct model_member, of M_ENUM */
    struct values values;      /* struct model_member by its value */
    bool integers;             /* M_ENUM: of integers only */
    struct model_type *root;   /* of M_ROOT */
    const struct json *extra;  /* additionalProperties as it stands */
    struct model_type *extra_type;
    bool open; /* fields may be missing, for the limits were reached: others are taken, too */
    const char *description;
    bool rebuild; /* it uses a class that stands behind it */
    enum { MODEL_NOT_BEGUN, MODEL_BEGUN, MODEL_WRITTEN } state; /* how far its text is */
};

struct model_making { /* one module */
    struct arena arena;
    struct naming names;      /* of classes */
    struct set library;       /* names that the module imports: such a class is called …Model */
    struct map places;        /* struct model by `key` */
    struct arena_list models; /* struct model, in the order in which they were named */
    struct document document; /* that is being read */
    size_t work, work_max;
    int depth;
    struct arena_list late; /* struct model, whose text comes after those that use it */
    bool cut;
};

/* Counts a piece of work; false, and `cut`, when it is one too many. */
bool making_goes_on(struct model_making *m);

/* The class for a whole schema, called `name` (which must be free). */
struct model *model_make(struct model_making *m, const struct json *schema, const char *name);

#endif
