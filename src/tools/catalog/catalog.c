/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/catalog/catalog.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { WORD_MAX = 32, LINE_MAX = 4096, SENTENCE_MAX = 400 };

/* What a word counts by where it stands. */
static const float name_weight = 4, server_weight = 2, text_weight = 1, argument_weight = 0.5F;
static const float plainness = 0.02F; /* of two tools that fit, the one with the shorter name */

struct search_word {
    char text[WORD_MAX];
};

struct query {
    struct search_word words[CATALOG_WORDS_MAX];
    size_t n;
};

struct found_tool {
    size_t server, tool; /* their places */
    float score;
    float weights[CATALOG_WORDS_MAX];
};

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

/* Runs of letters and of digits; "createIssue" is two. False: there is no more before `end`. */
static bool next_search_word(const char **at, const char *end, struct search_word *ret)
{
    const char *s = *at;
    size_t n = 0;
    while (s < end && !isalnum((unsigned char)*s))
        s++;
    if (s == end)
        return false;
    bool digits = isdigit((unsigned char)*s);
    for (const char *begin = s; s < end && isalnum((unsigned char)*s); s++) {
        bool hump = s > begin && isupper((unsigned char)*s) && !isupper((unsigned char)s[-1]);
        if (hump || !!isdigit((unsigned char)*s) != digits)
            break;
        if (n < WORD_MAX - 1)
            ret->text[n++] = (char)tolower((unsigned char)*s);
    }
    ret->text[n] = '\0';
    *at = s;
    drop_ending(ret->text, n);
    return true;
}

static struct query read_query(const char *text)
{
    struct query q = {.n = 0};
    struct search_word word;
    const char *end = text + strlen(text);
    while (q.n < CATALOG_WORDS_MAX && next_search_word(&text, end, &word)) {
        size_t i = 0;
        while (i < q.n && strcmp(q.words[i].text, word.text) != 0)
            i++;
        if (i == q.n)
            q.words[q.n++] = word;
    }
    return q;
}

/* How many words the text has. */
static size_t weigh_text(const struct query *q, const char *text, size_t n, float weight,
                         float *weights)
{
    struct search_word word;
    size_t words = 0;
    for (const char *end = text + n; next_search_word(&text, end, &word); words++) {
        for (size_t i = 0; i < q->n; i++)
            if (weights[i] < weight && strcmp(q->words[i].text, word.text) == 0)
                weights[i] = weight;
    }
    return words;
}

static size_t first_sentence(const char *text)
{
    size_t n = 0;
    while (text[n] && n < SENTENCE_MAX && !(n > 0 && text[n - 1] == '.' && text[n] == ' '))
        n++;
    return n;
}

static void weigh_tool(const struct query *q, const char *server, const struct tools_tool *tool,
                       float *weights)
{
    size_t words = weigh_text(q, tool->name, strlen(tool->name), name_weight, weights);
    (void)weigh_text(q, server, strlen(server), server_weight, weights);
    (void)weigh_text(q, tool->description, first_sentence(tool->description), text_weight, weights);
    const struct json *property = json_first(json_get(tool->input, "properties"));
    for (; property; property = json_next(property)) {
        const char *name = json_name(property);
        (void)weigh_text(q, name, strlen(name), argument_weight, weights);
    }
    for (size_t i = 0; i < q->n; i++)
        weights[i] /= 1 + plainness * (float)words;
}

/* --- ranking ---------------------------------------------------------------------------------- */

static int by_score(const void *a, const void *b)
{
    const struct found_tool *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->server != y->server)
        return x->server < y->server ? -1 : 1;
    return x->tool < y->tool ? -1 : x->tool > y->tool;
}

/* Words that no tool has count for nothing, those of few tools most. */
static void score_tools(const struct query *q, struct found_tool *tools, size_t n)
{
    for (size_t word = 0; word < q->n; word++) {
        size_t having = 0;
        for (size_t i = 0; i < n; i++)
            having += tools[i].weights[word] > 0;
        float rarity = having ? logf(1 + (float)n / (float)having) : 0;
        for (size_t i = 0; i < n; i++)
            tools[i].score += tools[i].weights[word] * rarity;
    }
}

static size_t count_tools(const struct tools *tools)
{
    struct tools_server server;
    size_t at = 0, n = 0;
    while (tools_next(tools, &at, &server))
        n += server.n_tools;
    return n < CATALOG_TOOLS_MAX ? n : CATALOG_TOOLS_MAX;
}

static size_t weigh_tools(const struct tools *tools, const char *only, const struct query *q,
                          struct found_tool *ret, size_t max)
{
    struct tools_server server;
    size_t n = 0;
    for (size_t at = 0; tools_next(tools, &at, &server);) {
        if (only && strcmp(only, server.name) != 0)
            continue;
        for (size_t i = 0; i < server.n_tools && n < max; i++, n++) {
            ret[n] = (struct found_tool){.server = at - 1, .tool = i};
            weigh_tool(q, server.name, &server.tools[i], ret[n].weights);
        }
    }
    return n;
}

/* --- lines ------------------------------------------------------------------------------------ */

struct apigen_tool *catalog_apigen_tools(const struct tools_server *server)
{
    struct apigen_tool *tools = xcalloc(server->n_tools + 1, sizeof *tools);
    for (size_t i = 0; i < server->n_tools; i++) {
        const struct tools_tool *tool = &server->tools[i];
        tools[i] = (struct apigen_tool){.name = tool->name,
                                        .description = tool->description,
                                        .input = tool->input,
                                        .output = tool->output};
    }
    return tools;
}

static void tell_hit(const struct tools *tools, const struct found_tool *hit,
                     void (*found)(void *ctx, const struct catalog_hit *hit), void *ctx)
{
    struct tools_server server;
    size_t at = hit->server;
    if (!tools_next(tools, &at, &server))
        return;
    struct apigen_tool *list = catalog_apigen_tools(&server);
    struct apigen_work *work = apigen_begin(server.name, list, server.n_tools);
    drop_buf struct buf line = BUF_INIT(LINE_MAX);
    apigen_put_summary(work, hit->tool, &line);
    drop_str char *text = xstrdup(buf_text(&line));
    text[strcspn(text, "\n")] = '\0';
    found(ctx, &(struct catalog_hit){.server = server.name,
                                     .tool = &server.tools[hit->tool],
                                     .module = apigen_modules(work)[hit->tool],
                                     .line = text});
    (void)apigen_end(work);
    xfree(list);
}

void catalog_put_lines(struct buf *out, const struct tools_server *server, size_t limit)
{
    struct apigen_tool *list = catalog_apigen_tools(server);
    struct apigen_work *work = apigen_begin(server->name, list, server->n_tools);
    for (size_t i = 0; i < server->n_tools && i < limit; i++)
        apigen_put_summary(work, i, out);
    (void)apigen_end(work);
    xfree(list);
}

void catalog_search(const struct tools *tools, const char *server, const char *query, size_t limit,
                    void (*found)(void *ctx, const struct catalog_hit *hit), void *ctx)
{
    const struct query q = read_query(query);
    size_t max = count_tools(tools);
    struct found_tool *all = xcalloc(max + 1, sizeof *all);
    size_t n = weigh_tools(tools, server, &q, all, max);
    score_tools(&q, all, n);
    qsort(all, n, sizeof *all, by_score);
    for (size_t i = 0; i < n && i < limit && i < CATALOG_LIMIT_MAX; i++)
        if (q.n == 0 || all[i].score > 0)
            tell_hit(tools, &all[i], found, ctx);
    xfree(all);
}
