/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/arena.h - memory that is given back all at once: what one module's making needs.
 * Owns:    everything arena_get() and its kind returned, until arena_done().
 * Limits:  none of its own; the callers count their work (APIGEN_WORK_MAX in model.h). */
#ifndef APIGEN_ARENA_H
#define APIGEN_ARENA_H

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
struct list {
    void **at;
    size_t n, size;
};

void list_add(struct arena *a, struct list *list, void *item);

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

#endif
