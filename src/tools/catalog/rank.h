/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/catalog/rank.h - which tools fit words (private to catalog/). ipybox_tools/ranking.py ranks
 * alike and says how.
 * Pure:   text in, numbers out. Words are lower case, without the endings of plurals and verbs.
 * Limits: RANK_WORDS_MAX words of a query, RANK_ALIKE_MAX words that mean the same as one. */
#ifndef TOOLS_CATALOG_RANK_H
#define TOOLS_CATALOG_RANK_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/tools.h"

enum { RANK_WORDS_MAX = 16, RANK_ALIKE_MAX = 64, RANK_WORD_MAX = 32 };

struct rank_word {
    char text[RANK_WORD_MAX];
};

struct rank_query {
    struct rank_word words[RANK_WORDS_MAX];
    struct rank_word alike[RANK_WORDS_MAX][RANK_ALIKE_MAX];
    size_t n, n_alike[RANK_WORDS_MAX];
};

struct rank_tool {
    size_t server, tool; /* their places, the caller's */
    float weights[RANK_WORDS_MAX];
    float shape; /* what the form of its name says */
    float score; /* 0: it does not fit */
};

void rank_read_query(struct rank_query *q, const char *text);
void rank_weigh(const struct rank_query *q, const char *server, const struct tools_tool *tool,
                struct rank_tool *ret);
/* Of all that were weighed; then they are in order, the best first. */
void rank_sort(const struct rank_query *q, struct rank_tool *tools, size_t n);

#endif
