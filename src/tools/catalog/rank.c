/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/catalog/rank.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/catalog/words.h"

enum { SENTENCE_MAX = 400 };

/* As in ipybox_tools/ranking.py. */
static const float name_weight = 4, text_weight = 1, server_weight = 1, argument_weight = 0.5F;
static const float alike_share = 0.5F, first_share = 1.2F, others_cost = 0.1F;
static const float deprecated_share = 0.5F;

/* --- words ------------------------------------------------------------------------------------ */

static void drop_ending(char *word, size_t n)
{
    static const char *const endings[] = {"ies", "ing", "ed", "es", "s", "e"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t ending = strlen(endings[i]);
        if (n < ending + 3 || strcmp(word + n - ending, endings[i]) != 0)
            continue;
        word[n - ending] = '\0';
        if (i == 0) /* "repositories" */
            memcpy(word + n - ending, "y", 2);
        return;
    }
}

/* "createIssue" is two words, and so is "APIService". */
static bool is_hump(const char *begin, const char *s, const char *end)
{
    if (s == begin || !isupper((unsigned char)*s))
        return false;
    bool after_capital = isupper((unsigned char)s[-1]);
    return !after_capital || (s + 1 < end && islower((unsigned char)s[1]));
}

/* Runs of letters and of digits, with their endings. False: there is no more before `end`. */
static bool next_plain_word(const char **at, const char *end, struct rank_word *ret, size_t *ret_n)
{
    const char *s = *at;
    size_t n = 0;
    while (s < end && !isalnum((unsigned char)*s))
        s++;
    if (s == end)
        return false;
    bool digits = isdigit((unsigned char)*s);
    for (const char *begin = s; s < end && isalnum((unsigned char)*s); s++) {
        if (is_hump(begin, s, end) || !!isdigit((unsigned char)*s) != digits)
            break;
        if (n < RANK_WORD_MAX - 1)
            ret->text[n++] = (char)tolower((unsigned char)*s);
    }
    ret->text[n] = '\0';
    *at = s;
    *ret_n = n;
    return true;
}

static bool next_search_word(const char **at, const char *end, struct rank_word *ret)
{
    size_t n = 0;
    if (!next_plain_word(at, end, ret, &n))
        return false;
    drop_ending(ret->text, n);
    return true;
}

static bool is_idle(const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words_idle; (at = strstr(at, word)); at++)
        if (at[-1] == ' ' && at[n] == ' ')
            return true;
    return false;
}

static bool same_word(const struct rank_word *a, const struct rank_word *b)
{
    return strcmp(a->text, b->text) == 0;
}

/* --- the query -------------------------------------------------------------------------------- */

static bool group_has(const char *group, const struct rank_word *word)
{
    struct rank_word one;
    for (const char *end = group + strlen(group); next_search_word(&group, end, &one);)
        if (same_word(&one, word))
            return true;
    return false;
}

static void add_alikes(struct rank_query *q, size_t i)
{
    for (const char *const *group = words_alike; *group; group++) {
        const char *at = *group, *end = at + strlen(at);
        if (!group_has(*group, &q->words[i]))
            continue;
        while (q->n_alike[i] < RANK_ALIKE_MAX &&
               next_search_word(&at, end, &q->alike[i][q->n_alike[i]]))
            q->n_alike[i]++;
    }
}

static void add_query_words(struct rank_query *q, const char *text, bool idle)
{
    struct rank_word word;
    size_t length = 0;
    for (const char *end = text + strlen(text);
         q->n < RANK_WORDS_MAX && next_plain_word(&text, end, &word, &length);) {
        if (!idle && is_idle(word.text))
            continue;
        drop_ending(word.text, length);
        size_t i = 0;
        while (i < q->n && !same_word(&q->words[i], &word))
            i++;
        if (i < q->n)
            continue;
        q->words[q->n] = word;
        add_alikes(q, q->n++);
    }
}

void rank_read_query(struct rank_query *q, const char *text)
{
    memset(q, 0, sizeof *q);
    add_query_words(q, text, false);
    if (q->n == 0)
        add_query_words(q, text, true);
}

/* --- a tool ----------------------------------------------------------------------------------- */

/* What a word of a tool is for the query's i-th: 1, less when it means the same, or 0. */
static float likeness(const struct rank_query *q, size_t i, const struct rank_word *word)
{
    if (same_word(&q->words[i], word))
        return 1;
    for (size_t k = 0; k < q->n_alike[i]; k++)
        if (same_word(&q->alike[i][k], word))
            return alike_share;
    return 0;
}

/* True: the query has it, or one that means the same. */
static bool weigh_word(const struct rank_query *q, const struct rank_word *word, float weight,
                       float *weights)
{
    bool known = false;
    for (size_t i = 0; i < q->n; i++) {
        float found = weight * likeness(q, i, word);
        known |= found > 0;
        if (found > weights[i])
            weights[i] = found;
    }
    return known;
}

static void weigh_text(const struct rank_query *q, const char *text, size_t n, float weight,
                       float *weights)
{
    struct rank_word word;
    for (const char *end = text + n; next_search_word(&text, end, &word);)
        (void)weigh_word(q, &word, weight, weights);
}

/* How much the form of the name is worth. */
static float weigh_name(const struct rank_query *q, const char *name, float *weights)
{
    struct rank_word word;
    float others = 0, first = 1;
    const char *at = name;
    bool begin = true;
    for (const char *end = name + strlen(name); next_search_word(&at, end, &word); begin = false) {
        bool known = weigh_word(q, &word, name_weight, weights);
        first = begin && known ? first_share : first;
        others += known ? 0 : 1;
    }
    return first / (1 + others_cost * others);
}

static size_t first_sentence(const char *text)
{
    size_t n = 0;
    while (text[n] && n < SENTENCE_MAX && !(n > 0 && text[n - 1] == '.' && text[n] == ' '))
        n++;
    return n;
}

static bool says_deprecated(const char *text, size_t n)
{
    static const char word[] = "deprecated";
    for (size_t i = 0; i + sizeof word - 1 <= n; i++)
        if (strncasecmp(text + i, word, sizeof word - 1) == 0)
            return true;
    return false;
}

void rank_weigh(const struct rank_query *q, const char *server, const struct tools_tool *tool,
                struct rank_tool *ret)
{
    size_t n = first_sentence(tool->description);
    ret->shape = weigh_name(q, tool->name, ret->weights);
    ret->shape *= says_deprecated(tool->description, n) ? deprecated_share : 1;
    weigh_text(q, server, strlen(server), server_weight, ret->weights);
    weigh_text(q, tool->description, n, text_weight, ret->weights);
    const struct json *property = json_first(json_get(tool->input, "properties"));
    for (; property; property = json_next(property)) {
        const char *name = json_name(property);
        weigh_text(q, name, strlen(name), argument_weight, ret->weights);
    }
}

/* --- the order -------------------------------------------------------------------------------- */

static int by_score(const void *a, const void *b)
{
    const struct rank_tool *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->server != y->server)
        return x->server < y->server ? -1 : 1;
    return x->tool < y->tool ? -1 : x->tool > y->tool;
}

/* Words that no tool has count for nothing, those of few tools most. */
static float rarity_of(const struct rank_tool *tools, size_t n, size_t word)
{
    size_t having = 0;
    for (size_t i = 0; i < n; i++)
        having += tools[i].weights[word] > 0;
    return having ? logf(1 + (float)n / (float)having) : 0;
}

void rank_sort(const struct rank_query *q, struct rank_tool *tools, size_t n)
{
    float rarity[RANK_WORDS_MAX], whole = 0;
    for (size_t word = 0; word < q->n; word++)
        whole += rarity[word] = rarity_of(tools, n, word);
    for (size_t i = 0; i < n; i++) {
        float sum = 0, covered = 0;
        for (size_t word = 0; word < q->n; word++) {
            sum += tools[i].weights[word] * rarity[word];
            covered += fminf(1, tools[i].weights[word]) * rarity[word];
        }
        tools[i].score = whole > 0 ? sum * covered / whole * tools[i].shape : 0;
    }
    qsort(tools, n, sizeof *tools, by_score);
}
