/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/model/arena.h - memory that is given back all at once: what one module's making needs.
 * Owns:    everything arena_get() and its kind returned, until arena_done().
 * Limits:  none of its own; the callers count their work (APIGEN_WORK_MAX in model.h). */
#ifndef APIGEN_MODEL_ARENA_H
#define APIGEN_MODEL_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena_block;

struct arena {
    struct arena_block *blocks;
};

void *arena_get(struct arena *a, size_t n); /* zeroed */
char *arena_text(struct arena *a, const char *s, size_t n);
char *arena_textf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void arena_done(struct arena *a);

/* A growing array of pointers inside the arena. */
struct arena_list {
    void **at;
    size_t n, size;
};

void list_add(struct arena *a, struct arena_list *list, void *item);

/* A set of texts, each with a pointer of the caller's. The texts are borrowed. */
struct set {
    struct set_slot {
        const char *key;
        void *value;
    } *slots;
    size_t n, size;
};

void *set_get(const struct set *set, const char *key); /* NULL: not in it */
bool set_has(const struct set *set, const char *key);
void set_put(struct arena *a, struct set *set, const char *key, void *value);

/* Names of which each is handed out once. */
struct naming {
    struct set taken;
    struct set counted; /* how far the numbers behind a name are used up */
};

bool naming_has(const struct naming *n, const char *name);
void naming_take(struct arena *a, struct naming *n, const char *name);

/* The name when it is free, else with `between` and the first number from `from` behind it that
 * makes it so. It is taken then. */
const char *naming_new(struct arena *a, struct naming *n, const char *name, const char *between,
                       int from);

/* What was found out about a place in memory. */
struct map {
    struct map_slot {
        const void *key;
        void *value;
    } *slots;
    size_t n, size;
};

void *map_get(const struct map *map, const void *key); /* NULL: nothing */
void map_put(struct arena *a, struct map *map, const void *key, void *value);

#endif
