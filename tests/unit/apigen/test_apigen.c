/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/apigen.h"

#include <stdio.h>
#include <string.h>

#include "acutest.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "fakes/python_check.h"

struct golden_file {
    const char *name, *text;
};

#include "golden/apigen/package.inc"

enum { TOOLS_MAX = 600, TEXT_MAX = 64 << 20 };

struct made {
    struct json *tree;
    struct apigen_package package;
};

/* Of a JSON array of tools. Every module must be what a module may be. */
static struct made make(const char *server, const char *json)
{
    static struct apigen_tool tools[TOOLS_MAX];
    struct made made = {.tree = json_parse_copy(json, strlen(json), JSON_STRICT, NULL)};
    struct err e = ERR_NONE;
    size_t n = 0;
    TEST_ASSERT(made.tree != NULL);
    const struct json *list = json_get(made.tree, "tools");
    for (const struct json *t = json_first(list ? list : made.tree); t; t = json_next(t))
        tools[n++] = (struct apigen_tool){.name = json_get_text(t, "name"),
                                          .description = json_get_text(t, "description"),
                                          .input = json_get(t, "inputSchema"),
                                          .output = json_get(t, "outputSchema")};
    TEST_ASSERT_(apigen_package(server, tools, n, &made.package, &e) == 0, "%s", e.msg);
    TEST_ASSERT(made.package.n_files == n + 1 && made.package.n_modules == n);
    for (size_t i = 0; i <= n; i++) {
        const char *wrong = python_check(made.package.files[i].text);
        TEST_CHECK_(!wrong, "%s: %s", made.package.files[i].name, wrong ? wrong : "");
    }
    return made;
}

static void done(struct made *made)
{
    apigen_package_done(&made->package);
    made->tree = json_free(made->tree);
}

static bool has(const struct made *made, size_t file, const char *text)
{
    return strstr(made->package.files[file].text, text) != NULL;
}

/* --- the package ----------------------------------------------------------------------------- */

static void the_golden_package_is_made(void)
{
    struct made made = make("github", golden_tools);
    TEST_ASSERT(made.package.n_files == sizeof(golden_files) / sizeof *golden_files);
    for (size_t i = 0; i < made.package.n_files; i++) {
        const struct apigen_file *file = &made.package.files[i];
        TEST_CHECK_(strcmp(file->name, golden_files[i].name) == 0, "%s", file->name);
        TEST_CHECK_(strcmp(file->text, golden_files[i].text) == 0, "%s", file->name);
        TEST_MSG("found %s", file->text);
    }
    done(&made);
}

static void init_imports_no_module(void)
{
    struct made made = make("a\"b\\", "[{\"name\":\"x\"},{\"name\":\"y\"}]");
    const char *text = made.package.files[0].text;
    TEST_CHECK(strcmp(made.package.files[0].name, "__init__.py") == 0);
    TEST_CHECK(strstr(text, "from .") == NULL);
    TEST_CHECK(strstr(text, "CLIENT = ToolRunner(server_name=\"a\\\"b\\\\\")") != NULL);
    done(&made);
}

static void each_tool_has_a_module_of_its_own(void)
{
    static const char *const names[][2] = {
        {"get-file", "get_file_2"}, /* the tool whose name needs no change has it */
        {"get_file", "get_file"},      {"Get_File", "get_file_3"}, {"get_file_2", "get_file_2_2"},
        {"class", "class_tool"},       {"2nd", "tool_2nd"},        {"", "tool"},
        {"__init__", "__init___tool"}, {"\xe6\x97\xa5", "_"},      {"../x", "___x"},
    };
    enum { N = sizeof(names) / sizeof *names };
    struct apigen_tool tools[N];
    struct apigen_package p;
    for (size_t i = 0; i < N; i++)
        tools[i] = (struct apigen_tool){.name = names[i][0]};
    TEST_ASSERT(apigen_package("s", tools, N, &p, NULL) == 0);
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < i; k++)
            TEST_CHECK_(strcmp(p.modules[i], p.modules[k]) != 0, "%s", p.modules[i]);
    }
    static const size_t fixed[] = {1, 4, 5, 6, 7, 8, 9};
    for (size_t i = 0; i < sizeof(fixed) / sizeof *fixed; i++) {
        TEST_CHECK_(strcmp(p.modules[fixed[i]], names[fixed[i]][1]) == 0, "%s", names[fixed[i]][0]);
        TEST_MSG("found %s", p.modules[fixed[i]]);
    }
    TEST_CHECK(strstr(p.files[1].text, "# The module is called ") != NULL);
    TEST_CHECK(strstr(p.files[2].text, "# The module is called ") == NULL);
    apigen_package_done(&p);
}

static void a_tool_without_schemas_takes_anything(void)
{
    struct made made = make("s", "[{\"name\":\"a\"},{\"name\":\"b\",\"inputSchema\":null,"
                                 "\"outputSchema\":null},{\"name\":\"c\",\"outputSchema\":{}}]");
    for (size_t i = 1; i <= 2; i++) {
        TEST_CHECK(has(&made, i, "class Params(BaseModel, extra=\"allow\"):\n    pass\n"));
        TEST_CHECK(has(&made, i, ", Params, str, __doc__)\n"));
    }
    TEST_CHECK(
        has(&made, 3, "\n\n\nrun, arun = CLIENT.functions(\"c\", Params, Result, __doc__)\n"));
    done(&made);
}

static void a_long_name_makes_a_file_name_that_is_allowed(void)
{
    char name[5001];
    struct apigen_package p;
    memset(name, 'n', 5000);
    name[5000] = '\0';
    const struct apigen_tool tools[] = {{.name = name}, {.name = name}};
    TEST_ASSERT(apigen_package("s", tools, 2, &p, NULL) == 0);
    TEST_CHECK(strlen(p.files[1].name) < 255 && strlen(p.files[2].name) < 255);
    TEST_CHECK(strcmp(p.files[1].name, p.files[2].name) != 0);
    TEST_CHECK(strstr(p.files[1].text, name) != NULL); /* what is called has its whole name */
    apigen_package_done(&p);
}

/* --- what a stranger writes ------------------------------------------------------------------ */

static void no_text_of_a_stranger_becomes_code(void)
{
    static const char *const texts[] = {
        "\\\"\\\"\\\"\\nimport os\\nos.system('x')\\n\\\"\\\"\\\"",
        "\\\\\\\"\\\"\\\"\\nimport os",
        "\\\"",
        "\\\\",
        "\\n    \\\"\\\"\\\"\\n    __import__('os')",
        "\\u0000\\nimport os",
        "\\r\\nimport os",
        "\\u2028import os\\u2029\\u0085\\u000b\\u000c",
        "\\\\N{QUOTATION MARK}\\\\x22\\\\u0022",
        "'''\\nimport os\\n'''",
        "{__import__('os')}",
        "a] = 1; import os #",
        "): pass\\nimport os",
        "coding: utf-7",
        "\\ud83d\\ude00\\ud83d",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof *texts; i++) {
        const char *t = texts[i];
        drop_str char *json = xasprintf(
            "[{\"name\":\"%s\",\"description\":\"%s\",\"inputSchema\":{\"title\":\"%s\","
            "\"properties\":"
            "{\"%s\":{\"description\":\"%s\",\"enum\":[\"%s\"],\"default\":\"%s\"},"
            "\"b\":{\"const\":\"%s\"},"
            "\"c\":{\"pattern\":\"%s\",\"type\":\"string\",\"format\":\"%s\",\"default\":\"%s\"},"
            "\"d\":{\"$ref\":\"#/$defs/%s\"},\"e\":{\"default\":{\"%s\":\"%s\"}},"
            "\"f\":{\"oneOf\":[{\"const\":1,\"title\":\"%s\"},{\"const\":2}]}},"
            "\"$defs\":{\"%s\":{\"properties\":{\"%s\":{}},\"description\":\"%s\"}}},"
            "\"outputSchema\":{\"type\":\"array\",\"description\":\"%s\"}}]",
            t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t);
        drop_str char *server = xasprintf("s\n%s", t);
        struct made made = make(server, json);
        done(&made);
    }
}

static void the_check_of_these_tests_sees_code(void)
{
    static const char *const bad[] = {
        "# a\n#\nimport os\n",       "# a\n#\nos.system(\"x\")\n",
        "# a\n#\nx: y = \"a\nb\"\n", "# a\n#\n\"\"\"x\n",
        "# a\n#\nx = __import__\n",  "# a\n#\nx = 1; y = 2\n",
        "# coding: utf-7\n#\n",      "# a\n# vim: set fileencoding=latin-1\n",
        "# a\n#\nx = (1\n",          "# a\n#\nx\n\x0c",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof *bad; i++)
        TEST_CHECK_(python_check(bad[i]) != NULL, "%s", bad[i]);
    TEST_CHECK(python_check("# a\n#\nfrom os import path\nx: str = Field(\"import os\")\n") ==
               NULL);
}

/* PEP 263 */
static void a_name_does_not_say_how_its_module_is_encoded(void)
{
    struct made made = make("s", "[{\"name\":\"2 coding: utf-7\",\"description\":\"coding=utf-7\"},"
                                 "{\"name\":\"coding: utf-7\",\"description\":\"coding=utf-7\"}]");
    const char *coding = strstr(made.package.files[1].text, "coding");
    int lines = 0;
    for (const char *s = made.package.files[1].text; s < coding; s++)
        lines += *s == '\n';
    TEST_CHECK(coding != NULL && lines >= 2);
    TEST_CHECK(has(&made, 2, ", arun()\n\"\"\"coding=utf-7\"\"\"\n")); /* no comment */
    done(&made);
}

/* --- limits ---------------------------------------------------------------------------------- */

/* The template n times with commas between, '@' and '&' as the number and the next one. */
static void append(struct buf *out, int n, const char *template)
{
    for (int i = 0; i < n; i++) {
        (void)buf_adds(out, i ? "," : "");
        for (const char *s = template; *s; s++) {
            if (*s == '@' || *s == '&')
                (void)buf_addf(out, "%d", *s == '@' ? i : i + 1);
            else
                (void)buf_addc(out, *s);
        }
    }
}

static struct made make_of(struct buf *json)
{
    TEST_ASSERT(!json->failed);
    struct made made = make("s", buf_text(json));
    buf_done(json);
    return made;
}

static void a_schema_too_deep_ends_in_any(void)
{
    struct buf json = BUF_INIT(TEXT_MAX);
    (void)buf_adds(&json, "[{\"name\":\"t\",\"inputSchema\":{\"properties\":{\"a\":");
    for (int i = 0; i < 100; i++)
        (void)buf_adds(&json, "{\"type\":\"array\",\"items\":");
    (void)buf_adds(&json, "{\"type\":\"string\"}");
    for (int i = 0; i < 100; i++)
        (void)buf_addc(&json, '}');
    (void)buf_adds(&json, "}}}]");
    struct made made = make_of(&json);
    TEST_CHECK(has(&made, 1, "list[Any]"));
    TEST_CHECK(
        has(&made, 1,
            "# The schema is larger than what is typed here: the rest is Any, and classes take"));
    done(&made);
}

static void a_schema_too_wide_is_cut(void)
{
    struct buf json = BUF_INIT(TEXT_MAX);
    (void)buf_adds(&json, "[{\"name\":\"t\",\"inputSchema\":{\"properties\":{");
    append(&json, 50000, "\"a@\":{\"type\":\"string\"}");
    (void)buf_adds(&json, "}}}]");
    struct made made = make_of(&json);
    TEST_CHECK(has(&made, 1, "the rest is Any, and classes take"));
    TEST_CHECK(has(&made, 1, "    a100: Any | None = None\n"));
    TEST_CHECK(!has(&made, 1, " a49999:"));
    done(&made);
}

static void a_small_schema_that_unfolds_is_cut(void)
{
    struct buf json = BUF_INIT(TEXT_MAX);
    (void)buf_adds(&json, "[{\"name\":\"t\",\"inputSchema\":{\"properties\":{\"a\":{\"allOf\":[");
    append(&json, 16, "{\"anyOf\":[{\"properties\":{\"p@\":{}}},{\"properties\":{\"q@\":{}}}]}");
    (void)buf_adds(&json, "]}}}}]");
    struct made made = make_of(&json);
    TEST_CHECK(has(&made, 1, "the rest is Any, and classes take"));
    done(&made);
}

static void a_union_has_a_limit(void)
{
    struct buf json = BUF_INIT(TEXT_MAX);
    (void)buf_adds(&json, "[{\"name\":\"t\",\"inputSchema\":{\"properties\":{\"a\":{\"anyOf\":[");
    append(&json, 300, "{\"type\":\"string\",\"maxLength\":@}");
    (void)buf_adds(&json, "]}}}}]");
    struct made made = make_of(&json);
    TEST_CHECK(has(&made, 1, "    a: Any | None = None\n"));
    done(&made);
}

/* The classes are made one by one, and the first that is written needs all the others. */
static void a_long_chain_of_classes_needs_little_stack(void)
{
    struct buf json = BUF_INIT(TEXT_MAX);
    (void)buf_adds(&json, "[{\"name\":\"t\",\"inputSchema\":{\"properties\":{\"first\":"
                          "{\"$ref\":\"#/$defs/d0\"}},\"additionalProperties\":{\"properties\":{");
    for (int i = 3000; i > 0; i--)
        (void)buf_addf(&json, "%s\"p%d\":{\"$ref\":\"#/$defs/d%d\"}", i < 3000 ? "," : "", i, i);
    (void)buf_adds(&json, "}},\"$defs\":{");
    append(&json, 3001, "\"d@\":{\"properties\":{\"x\":{\"$ref\":\"#/$defs/d&\"}}}");
    (void)buf_adds(&json, "}}}]");
    struct made made = make_of(&json);
    TEST_CHECK(has(&made, 1, "class D2999(BaseModel):"));
    TEST_CHECK(has(&made, 1, "    x: D2999 | None = None\n"));
    TEST_CHECK(has(&made, 1, ".model_rebuild()\n"));
    done(&made);
}

static void a_module_too_large_is_made_without_types(void)
{
    struct buf json = BUF_INIT(TEXT_MAX);
    (void)buf_adds(&json, "[{\"name\":\"t\",\"description\":\"");
    for (int i = 0; i < 1 << 19; i++)
        (void)buf_adds(&json, "0123456789");
    (void)buf_adds(&json, "\",\"inputSchema\":{\"properties\":{\"a\":{}}},\"outputSchema\":{}},"
                          "{\"name\":\"u\",\"inputSchema\":{\"properties\":{\"a\":{}}}}]");
    struct made made = make_of(&json);
    TEST_CHECK(strlen(made.package.files[1].text) < 4000);
    TEST_CHECK(has(&made, 1, "CLIENT.functions(\"t\", Params, Result, __doc__)"));
    TEST_CHECK(has(&made, 1, "extra=\"allow\""));
    TEST_CHECK(has(&made, 2, "    a: Any | None = None\n")); /* the next tool is as ever */
    done(&made);
}

/* Large results cost no tool its arguments. */
static void arguments_come_before_results(void)
{
    struct buf json = BUF_INIT(TEXT_MAX);
    (void)buf_addc(&json, '[');
    for (int i = 0; i < 40; i++) {
        (void)buf_addf(&json,
                       "%s{\"name\":\"t%d\",\"inputSchema\":{\"properties\":{\"a\":"
                       "{\"type\":\"string\"}}},\"outputSchema\":{\"properties\":{",
                       i ? "," : "", i);
        append(&json, 6000, "\"a@\":{\"type\":\"string\"}");
        (void)buf_adds(&json, "}}}");
    }
    (void)buf_addc(&json, ']');
    struct made made = make_of(&json);
    TEST_CHECK(has(&made, 40, "    a: str | None = None\n"));
    TEST_CHECK(has(&made, 40, "the rest is Any, and classes take"));
    done(&made);
}

static void what_may_be_null_says_so(void)
{
    struct made made =
        make("s", "[{\"name\":\"t\",\"inputSchema\":{\"required\":[\"a\"],\"properties\":{"
                  "\"a\":{\"type\":[\"integer\",\"null\"]},\"b\":{\"type\":[\"integer\",\"null\"],"
                  "\"default\":5},\"c\":{\"type\":\"integer\"}}}}]");
    TEST_CHECK(has(&made, 1, "    a: int | None\n"));
    TEST_CHECK(has(&made, 1, "    b: Annotated[int | None, \"nullable\"] = 5\n"));
    TEST_CHECK(has(&made, 1, "    c: int | None = None\n"));
    done(&made);
}

static void many_tools_share_one_budget(void)
{
    struct buf json = BUF_INIT(TEXT_MAX);
    (void)buf_addc(&json, '[');
    for (int i = 0; i < 40; i++) {
        (void)buf_addf(&json, "%s{\"name\":\"t%d\",\"inputSchema\":{\"properties\":{", i ? "," : "",
                       i);
        append(&json, 3000, "\"a@\":{\"type\":\"string\"}");
        (void)buf_adds(&json, "}}}");
    }
    (void)buf_addc(&json, ']');
    struct made made = make_of(&json);
    TEST_CHECK(!has(&made, 1, "the rest is Any, and classes take"));
    TEST_CHECK(has(&made, 40, "the rest is Any, and classes take"));
    TEST_CHECK(has(&made, 40, "extra=\"allow\""));
    TEST_CHECK(has(&made, 40, "CLIENT.functions(\"t39\""));
    done(&made);
}

TEST_LIST = {
    {"the golden package is made", the_golden_package_is_made},
    {"__init__ imports no module", init_imports_no_module},
    {"each tool has a module of its own", each_tool_has_a_module_of_its_own},
    {"a tool without schemas takes anything", a_tool_without_schemas_takes_anything},
    {"a long name makes a file name that is allowed",
     a_long_name_makes_a_file_name_that_is_allowed},
    {"no text of a stranger becomes code", no_text_of_a_stranger_becomes_code},
    {"the check of these tests sees code", the_check_of_these_tests_sees_code},
    {"a name does not say how its module is encoded",
     a_name_does_not_say_how_its_module_is_encoded},
    {"a schema too deep ends in Any", a_schema_too_deep_ends_in_any},
    {"a schema too wide is cut", a_schema_too_wide_is_cut},
    {"a small schema that unfolds is cut", a_small_schema_that_unfolds_is_cut},
    {"a union has a limit", a_union_has_a_limit},
    {"a long chain of classes needs little stack", a_long_chain_of_classes_needs_little_stack},
    {"a module too large is made without types", a_module_too_large_is_made_without_types},
    {"arguments come before results", arguments_come_before_results},
    {"what may be null says so", what_may_be_null_says_so},
    {"many tools share one budget", many_tools_share_one_budget},
    {NULL, NULL},
};
