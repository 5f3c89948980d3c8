/* SPDX-License-Identifier: Apache-2.0
 *
 * Any JSON as a list of tools, as {"tools": […]}, or as one schema. The generator always makes
 * one module for each tool, and what it makes is what a module may be. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apigen/apigen.h"
#include "base/alloc.h"
#include "fakes/python_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TOOLS_MAX = 64 };

static size_t read_tools(const struct json *list, struct apigen_tool *tools)
{
    size_t n = 0;
    for (const struct json *t = json_first(list); t && n < TOOLS_MAX; t = json_next(t)) {
        const struct json *output = json_get(t, "outputSchema");
        if (json_get_text(t, "name"))
            tools[n++] = (struct apigen_tool){.name = json_get_text(t, "name"),
                                              .description = json_get_text(t, "description"),
                                              .input = json_get(t, "inputSchema"),
                                              .output = output};
    }
    return n;
}

static void check(const char *name, const struct apigen_tool *tools, size_t n)
{
    struct apigen_package p = {0};
    int r = apigen_package(name, tools, n, &p, NULL);
    if (r == -EMSGSIZE)
        return;
    if (r < 0)
        abort();
    if (p.n_files != n + 1 || p.n_modules != n)
        abort();
    for (size_t i = 0; i < p.n_files; i++) {
        const char *wrong = python_check(p.files[i].text);
        if (wrong) {
            (void)fprintf(stderr, "%s: %s\n%s", p.files[i].name, wrong, p.files[i].text);
            abort();
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(p.files[i].name, p.files[k].name) == 0)
                abort();
        }
    }
    apigen_package_done(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct apigen_tool tools[TOOLS_MAX];
    drop_json struct json *tree = json_parse_copy((const char *)data, size, JSON_REPAIR, NULL);
    if (!tree)
        return 0;
    const struct json *list = json_get(tree, "tools");
    size_t n = read_tools(list ? list : tree, tools);
    if (n == 0) {
        tools[0] = (struct apigen_tool){.name = "t", .input = tree, .output = tree};
        n = 1;
    }
    check(json_get_text(tree, "server") ? json_get_text(tree, "server") : "s", tools, n);
    return 0;
}
