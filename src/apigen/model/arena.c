/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/model/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { BLOCK = 16 << 10, ALIGN = 16 };

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    _Alignas(ALIGN) char bytes[];
};

void *arena_get(struct arena *a, size_t n)
{
    n = (n + ALIGN - 1) / ALIGN * ALIGN;
    struct arena_block *b = a->blocks;
    if (!b || b->size - b->used < n) {
        size_t size = n > BLOCK ? n : BLOCK;
        b = xcalloc(1, sizeof(*b) + size);
        b->size = size;
        b->next = a->blocks;
        a->blocks = b;
    }
    void *p = b->bytes + b->used;
    b->used += n;
    return p;
}

char *arena_text(struct arena *a, const char *s, size_t n)
{
    char *copy = arena_get(a, n + 1);
    memcpy(copy, s, n);
    return copy;
}

char *arena_textf(struct arena *a, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = arena_get(a, (size_t)n + 1);
    (void)vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return text;
}

void arena_done(struct arena *a)
{
    while (a->blocks) {
        struct arena_block *next = a->blocks->next;
        xfree(a->blocks);
        a->blocks = next;
    }
}

void list_add(struct arena *a, struct arena_list *list, void *item)
{
    if (list->n == list->size) {
        size_t size = list->size ? list->size * 2 : 8;
        void **at = arena_get(a, size * sizeof(*at));
        if (list->n > 0)
            memcpy(at, list->at, list->n * sizeof(*at));
        list->at = at;
        list->size = size;
    }
    list->at[list->n++] = item;
}

/* --- texts ----------------------------------------------------------------------------------- */

static struct set_slot *slot_of(const struct set *set, const char *key)
{
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (const char *s = key; *s; s++)
        hash = (hash ^ (unsigned char)*s) * 16777619U;
    size_t i = hash & (set->size - 1);
    while (set->slots[i].key && strcmp(set->slots[i].key, key) != 0)
        i = (i + 1) & (set->size - 1);
    return &set->slots[i];
}

void *set_get(const struct set *set, const char *key)
{
    return set->size ? slot_of(set, key)->value : NULL;
}

bool set_has(const struct set *set, const char *key)
{
    return set->size && slot_of(set, key)->key;
}

static void grow_arena(struct arena *a, struct set *set)
{
    struct set old = *set;
    set->size = old.size ? old.size * 2 : 32;
    set->slots = arena_get(a, set->size * sizeof(*set->slots));
    for (size_t i = 0; i < old.size; i++) {
        if (old.slots[i].key)
            *slot_of(set, old.slots[i].key) = old.slots[i];
    }
}

void set_put(struct arena *a, struct set *set, const char *key, void *value)
{
    if (set->n * 2 >= set->size)
        grow_arena(a, set);
    struct set_slot *slot = slot_of(set, key);
    set->n += !slot->key;
    *slot = (struct set_slot){key, value};
}

/* --- names ----------------------------------------------------------------------------------- */

bool naming_has(const struct naming *n, const char *name)
{
    return set_has(&n->taken, name);
}

void naming_take(struct arena *a, struct naming *n, const char *name)
{
    set_put(a, &n->taken, name, NULL);
}

const char *naming_new(struct arena *a, struct naming *n, const char *name, const char *between,
                       int from)
{
    const char *free_name = name;
    uintptr_t k = (uintptr_t)set_get(&n->counted, name);
    for (k = k ? k : (uintptr_t)from; naming_has(n, free_name); k++)
        free_name = arena_textf(a, "%s%s%u", name, between, (unsigned)k);
    if (free_name != name)
        set_put(a, &n->counted, name, (void *)k);
    naming_take(a, n, free_name);
    return free_name;
}

/* --- places ---------------------------------------------------------------------------------- */

static struct map_slot *arena_place_of(const struct map *map, const void *key)
{
    size_t i = ((uintptr_t)key / ALIGN * 2654435761U) & (map->size - 1);
    while (map->slots[i].key && map->slots[i].key != key)
        i = (i + 1) & (map->size - 1);
    return &map->slots[i];
}

void *map_get(const struct map *map, const void *key)
{
    return map->size ? arena_place_of(map, key)->value : NULL;
}

void map_put(struct arena *a, struct map *map, const void *key, void *value)
{
    if (map->n * 2 >= map->size) {
        struct map old = *map;
        map->size = old.size ? old.size * 2 : 32;
        map->slots = arena_get(a, map->size * sizeof(*map->slots));
        for (size_t i = 0; i < old.size; i++) {
            if (old.slots[i].key)
                *arena_place_of(map, old.slots[i].key) = old.slots[i];
        }
    }
    struct map_slot *slot = arena_place_of(map, key);
    map->n += !slot->key;
    *slot = (struct map_slot){key, value};
}
