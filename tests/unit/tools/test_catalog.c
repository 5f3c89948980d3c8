/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "tools/catalog/catalog.h"

static struct tools_tool github[] = {
    {"create_issue", "Create a new issue in a repository. It may have labels.", NULL, NULL, "1"},
    {"listIssues", "List the issues of a repository.", NULL, NULL, "2"},
    {"create_issue_comment", "Add a comment to an issue", NULL, NULL, "3"},
    {"get_me", "Who is signed in", NULL, NULL, "4"},
};
static struct tools_tool files[] = {
    {"read_file", "Read the bytes\nof a file", NULL, NULL, "5"},
    {"move", "Move or rename files", NULL, NULL, "6"},
};
static const struct tools_server servers[] = {
    {.name = "github", .tools = github, .n_tools = 4},
    {.name = "files", .tools = files, .n_tools = 2},
};

/* In the place of tools.c. */
bool tools_next(const struct tools *tools, size_t *at, struct tools_server *ret)
{
    (void)tools;
    if (*at >= sizeof servers / sizeof *servers)
        return false;
    *ret = servers[(*at)++];
    return true;
}

static char found[4096];

static void note_hit(void *ctx, const struct catalog_hit *hit)
{
    size_t n = strlen(found);
    (void)snprintf(found + n, sizeof found - n, "%s.%s ", hit->server, hit->module);
    if (ctx)
        (void)snprintf(ctx, 200, "%s", hit->line);
}

static const char *search_for(const char *server, const char *query, size_t limit)
{
    found[0] = '\0';
    catalog_search(NULL, server, query, limit, note_hit, NULL);
    return found;
}

static void check_text(const char *got, const char *wanted)
{
    TEST_CHECK(strcmp(got, wanted) == 0);
    TEST_MSG("got \"%s\"", got);
}

static void words_are_found_in_any_order_and_form(void)
{
    check_text(search_for(NULL, "create issue", 2),
               "github.create_issue github.create_issue_comment ");
    check_text(search_for(NULL, "Issues: CREATING", 1), "github.create_issue ");
    check_text(search_for(NULL, "list issue", 1), "github.listissues ");
    check_text(search_for(NULL, "rename", 5), "files.move ");
    check_text(search_for(NULL, "who am signed", 5), "github.get_me ");
    check_text(search_for(NULL, "kubernetes", 5), "");
}

static void arguments_are_found_too(void)
{
    static const char schema[] = "{\"type\":\"object\",\"properties\":{\"headOnly\":{}}}";
    drop_json struct json *input = json_parse_copy(schema, sizeof schema - 1, JSON_STRICT, NULL);
    files[0].input = input;
    check_text(search_for(NULL, "head", 5), "files.read_file ");
    files[0].input = NULL;
    check_text(search_for(NULL, "head", 5), "");
}

static void what_is_asked_limits_what_is_found(void)
{
    check_text(search_for("files", "issue file", 5), "files.read_file files.move ");
    check_text(search_for("gitlab", "issue", 5), "");
    check_text(search_for(NULL, "", 3),
               "github.create_issue github.listissues github.create_issue_comment ");
    check_text(search_for(NULL, "issue", 0), "");
    char query[4096];
    memset(query, 'x', sizeof query);
    memcpy(query + sizeof query - 7, " issue", 7);
    TEST_CHECK(*search_for(NULL, query, 1) != '\0');
    for (size_t i = 0; i + 3 < sizeof query; i += 3) /* more words than are looked for */
        (void)snprintf(query + i, 4, "%c%c ", 'a' + (char)(i % 26), 'a' + (char)(i / 3 % 26));
    (void)search_for(NULL, query, 5);
}

static void a_line_is_one_line(void)
{
    char line[200] = "";
    found[0] = '\0';
    catalog_search(NULL, NULL, "bytes", 1, note_hit, line);
    check_text(line, "read_file(**more) -> str: Read the bytes");
    drop_buf struct buf out = BUF_INIT(4096);
    catalog_put_lines(&out, &servers[0], 2);
    check_text(buf_text(&out), "create_issue(**more) -> str: Create a new issue in a repository.\n"
                               "list_issues(**more) -> str: List the issues of a repository.\n");
}

TEST_LIST = {
    {"words are found in any order and form", words_are_found_in_any_order_and_form},
    {"arguments are found too", arguments_are_found_too},
    {"what is asked limits what is found", what_is_asked_limits_what_is_found},
    {"a line is one line", a_line_is_one_line},
    {NULL, NULL},
};
