/* SPDX-License-Identifier: Apache-2.0
 *
 * base/list.h - lists whose links are members of what they hold.
 * Owns:    nothing: the first of a list is a pointer to it, NULL when the list is empty, and the
 *          members `next` and `prev` are walked by hand.
 * Cost:    a list_ call is constant; a chain, which has no `prev`, is searched.
 * Caller:  `list` is the address of the pointer to the first, `item` a pointer to a member. Both
 *          are evaluated once. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stddef.h>

/* Before all others. */
#define list_push(list, item)                                                                      \
    do {                                                                                           \
        __auto_type list_ = (list);                                                                \
        __auto_type item_ = (item);                                                                \
        item_->prev = NULL;                                                                        \
        item_->next = *list_;                                                                      \
        if (*list_)                                                                                \
            (*list_)->prev = item_;                                                                \
        *list_ = item_;                                                                            \
    } while (0)

/* The item keeps its own links, so that a walk can go on behind it. */
#define list_remove(list, item)                                                                    \
    do {                                                                                           \
        __auto_type list_ = (list);                                                                \
        __auto_type item_ = (item);                                                                \
        *(item_->prev ? &item_->prev->next : list_) = item_->next;                                 \
        if (item_->next)                                                                           \
            item_->next->prev = item_->prev;                                                       \
    } while (0)

/* Behind all others. */
#define chain_append(list, item)                                                                   \
    do {                                                                                           \
        __auto_type list_ = (list);                                                                \
        __auto_type item_ = (item);                                                                \
        while (*list_)                                                                             \
            list_ = &(*list_)->next;                                                               \
        item_->next = NULL;                                                                        \
        *list_ = item_;                                                                            \
    } while (0)

/* What is not in the chain is left alone. */
#define chain_remove(list, item)                                                                   \
    do {                                                                                           \
        __auto_type list_ = (list);                                                                \
        __auto_type item_ = (item);                                                                \
        while (*list_ && *list_ != item_)                                                          \
            list_ = &(*list_)->next;                                                               \
        if (*list_)                                                                                \
            *list_ = item_->next;                                                                  \
    } while (0)

#endif
