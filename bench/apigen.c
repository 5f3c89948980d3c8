/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen-bench TOOLS.json [TOOLS] - how long the package of a server's tools takes: from parsed
 * schemas to the texts of all files. The tools of the file are repeated until there are that many
 * (100). Prints the median and the slowest of RUNS, as time of the
 * processor: what else the machine does counts little then. */
#include <stdio.h>
#include <stdlib.h>

#include "apigen/apigen.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "bench/clock.h"

enum { RUNS = 51, INPUT_MAX = 64 << 20 };

static struct json *read_file(const char *path)
{
    drop_buf struct buf text = BUF_INIT(INPUT_MAX);
    char block[65536];
    FILE *file = fopen(path, "re");
    for (size_t n; file && (n = fread(block, 1, sizeof(block), file)) > 0;)
        (void)buf_add(&text, block, n);
    if (file)
        (void)fclose(file);
    return json_parse_copy(buf_text(&text), text.len, JSON_STRICT, NULL);
}

/* One run; the bytes of the package, 0 when there is none. */
static size_t run(const struct apigen_tool *tools, size_t n, double *ret_ms)
{
    struct apigen_package p;
    size_t bytes = 0;
    double begin = clock_cpu_ms();
    if (apigen_package("bench", tools, n, &p, NULL) < 0)
        return 0;
    *ret_ms = clock_cpu_ms() - begin;
    for (size_t i = 0; i < p.n_files; i++) {
        for (const char *s = p.files[i].text; *s; s++)
            bytes++;
    }
    apigen_package_done(&p);
    return bytes;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    drop_json struct json *tree = read_file(argv[1]);
    const struct json *list = json_get(tree, "tools") ? json_get(tree, "tools") : tree;
    size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 100, bytes = 0;
    struct apigen_tool *tools = xcalloc(n + 1, sizeof(*tools));
    const struct json *t = NULL;
    for (size_t i = 0; i < n && json_first(list); i++) {
        t = t && json_next(t) ? json_next(t) : json_first(list);
        const struct json *output = json_get(t, "outputSchema");
        const char *name = json_get_text(t, "name");
        tools[i] = (struct apigen_tool){.name = name ? name : "",
                                        .description = json_get_text(t, "description"),
                                        .input = json_get(t, "inputSchema"),
                                        .output = json_is_object(output) ? output : NULL};
    }
    double ms[RUNS] = {0};
    for (int i = 0; t && i < RUNS; i++)
        bytes = run(tools, n, &ms[i]);
    qsort(ms, RUNS, sizeof(*ms), compare_doubles);
    xfree(tools);
    (void)printf("%zu tools, %zu bytes of Python: median %.2f ms, slowest %.2f ms\n", n, bytes,
                 ms[RUNS / 2], ms[RUNS - 1]);
    return bytes ? 0 : 1;
}
