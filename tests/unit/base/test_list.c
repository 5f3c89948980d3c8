/* SPDX-License-Identifier: Apache-2.0 */
#include "base/list.h"

#include <acutest.h>

#include <stdbool.h>

struct item {
    struct item *prev, *next;
    char name;
};

static struct item a = {.name = 'a'}, b = {.name = 'b'}, c = {.name = 'c'};

static void check(struct item *first, const char *names, bool is_list)
{
    const struct item *before = NULL;
    struct item *item = first;
    for (; item && *names; item = item->next, names++) {
        TEST_CHECK(item->name == *names);
        TEST_CHECK(!is_list || item->prev == before);
        before = item;
    }
    TEST_CHECK(!item && !*names);
}

static void the_last_pushed_is_the_first(void)
{
    struct item *first = NULL;
    list_push(&first, &a);
    list_push(&first, &b);
    list_push(&first, &c);
    check(first, "cba", true);
}

static void any_item_of_a_list_is_removed(void)
{
    static const char *const left[] = {"cb", "ca", "ba"};
    struct item *const items[] = {&a, &b, &c};
    for (int i = 0; i < 3; i++) {
        struct item *first = NULL;
        for (int j = 0; j < 3; j++)
            list_push(&first, items[j]);
        list_remove(&first, items[i]);
        check(first, left[i], true);
    }
}

static void the_only_item_leaves_an_empty_list(void)
{
    struct item *first = NULL;
    list_push(&first, &a);
    list_remove(&first, &a);
    TEST_CHECK(!first);
    chain_append(&first, &a);
    chain_remove(&first, &a);
    TEST_CHECK(!first);
}

static void a_removed_item_still_leads_on(void)
{
    struct item *first = NULL;
    list_push(&first, &a);
    list_push(&first, &b);
    list_remove(&first, &b);
    TEST_CHECK(b.next == &a);
}

static void a_chain_keeps_its_order(void)
{
    struct item *first = NULL;
    a.next = &c; /* what it was linked to before does not count */
    chain_append(&first, &a);
    chain_append(&first, &b);
    chain_append(&first, &c);
    check(first, "abc", false);
    chain_remove(&first, &b);
    check(first, "ac", false);
    chain_remove(&first, &c);
    check(first, "a", false);
}

static void what_is_not_in_a_chain_is_left_alone(void)
{
    struct item *first = NULL;
    chain_append(&first, &a);
    chain_remove(&first, &b);
    check(first, "a", false);
}

static struct item *first_of_all;
static int evaluated;

static struct item **list_with_effect(void)
{
    evaluated++;
    return &first_of_all;
}

static struct item *item_with_effect(void)
{
    evaluated++;
    return &a;
}

static void arguments_are_evaluated_once(void)
{
    list_push(list_with_effect(), item_with_effect());
    list_remove(list_with_effect(), item_with_effect());
    chain_append(list_with_effect(), item_with_effect());
    chain_remove(list_with_effect(), item_with_effect());
    TEST_CHECK(evaluated == 8 && !first_of_all);
}

TEST_LIST = {
    {"the last pushed is the first", the_last_pushed_is_the_first},
    {"any item of a list is removed", any_item_of_a_list_is_removed},
    {"the only item leaves an empty list", the_only_item_leaves_an_empty_list},
    {"a removed item still leads on", a_removed_item_still_leads_on},
    {"a chain keeps its order", a_chain_keeps_its_order},
    {"what is not in a chain is left alone", what_is_not_in_a_chain_is_left_alone},
    {"arguments are evaluated once", arguments_are_evaluated_once},
    {NULL, NULL},
};
