/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen-tool SERVER_NAME < tools.json > package.json - the generator as a program, for tests.
 * In:   the result of tools/list, or its array of tools alone.
 * Out:  {"files": {"__init__.py": "…", …}, "modules": ["…", …]}. */
#include <stdio.h>
#include <stdlib.h>

#include "apigen/apigen.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/json/jsonw.h"

enum { INPUT_MAX = 256 << 20 };

static void fail(const char *why)
{
    (void)fprintf(stderr, "apigen-tool: %s\n", why);
    exit(1);
}

static struct json *read_input(void)
{
    drop_buf struct buf text = BUF_INIT(INPUT_MAX);
    char block[65536];
    for (size_t n; (n = fread(block, 1, sizeof(block), stdin)) > 0;)
        (void)buf_add(&text, block, n);
    struct err e = ERR_NONE;
    struct json *tree = json_parse_copy(buf_text(&text), text.len, JSON_STRICT, &e);
    if (!tree)
        fail(e.msg);
    return tree;
}

static void write_package(const struct apigen_package *p)
{
    drop_buf struct buf text = BUF_INIT(INPUT_MAX);
    struct jsonw w = JSONW(&text);
    jsonw_object(&w);
    jsonw_set_object(&w, "files");
    for (size_t i = 0; i < p->n_files; i++)
        jsonw_set_text(&w, p->files[i].name, p->files[i].text);
    jsonw_end(&w);
    jsonw_set_array(&w, "modules");
    for (size_t i = 0; i < p->n_modules; i++)
        jsonw_text(&w, p->modules[i]);
    jsonw_end(&w);
    jsonw_end(&w);
    if (text.failed)
        fail("the output is too large");
    (void)fwrite(text.data, 1, text.len, stdout);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        fail("usage: apigen-tool SERVER_NAME < tools.json > package.json");
    drop_json struct json *tree = read_input();
    const struct json *list = json_get(tree, "tools");
    list = list ? list : tree;
    size_t n = 0;
    struct apigen_tool *tools = xcalloc(json_count(list) + 1, sizeof(*tools));
    for (const struct json *t = json_first(list); t; t = json_next(t)) {
        const struct json *output = json_get(t, "outputSchema");
        if (json_get_text(t, "name"))
            tools[n++] = (struct apigen_tool){.name = json_get_text(t, "name"),
                                              .description = json_get_text(t, "description"),
                                              .input = json_get(t, "inputSchema"),
                                              .output = json_is_object(output) ? output : NULL};
    }
    struct apigen_package package;
    struct err e = ERR_NONE;
    if (apigen_package(argv[1], tools, n, &package, &e) < 0)
        fail(e.msg);
    write_package(&package);
    apigen_package_done(&package);
    xfree(tools);
    return 0;
}
