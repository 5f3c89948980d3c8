/* SPDX-License-Identifier: Apache-2.0
 *
 * json-bench [BYTES] - how long a JSON message of BYTES (1 MiB) takes to be parsed, for each kind
 * of text that cells print. Prints the median of RUNS in milliseconds, as time of the processor:
 * what else the machine does counts little then. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "bench/clock.h"

enum { RUNS = 51 };

static const struct {
    const char *name, *piece; /* the piece is repeated */
} kinds[] = {
    {"one long line", "The quick brown fox jumps over the lazy dog, again. "},
    {"lines of 80 characters",
     "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 012345678901\\n"},
    {"short lines", "12345678\\n"},
    {"colours", "\\u001b[32mok\\u001b[0m passed\\n"},
    {"Greek", "\u03ba\u03cc\u03c3\u03bc\u03b5 "},
    {"Greek, escaped", "\\u03ba\\u03cc\\u03c3\\u03bc\\u03b5 "},
    {"quotes", "\\\"key\\\": \\\"value\\\", "},
};

static double median_ms(const struct buf *message)
{
    static double times[RUNS];
    for (int i = 0; i < RUNS; i++) {
        drop_str char *copy = xstrndup(message->data, message->len);
        double start = clock_cpu_ms();
        struct json *j = json_parse(copy, message->len, JSON_REPAIR, NULL);
        times[i] = clock_cpu_ms() - start;
        if (!json_get_text(j, "text"))
            abort();
        (void)json_free(j);
    }
    qsort(times, RUNS, sizeof *times, compare_doubles);
    return times[RUNS / 2];
}

static double measure(const char *piece, size_t bytes)
{
    drop_buf struct buf message = BUF_INIT(2 * bytes + 100);
    (void)buf_adds(&message, "{\"name\":\"stdout\",\"text\":\"");
    while (message.len < bytes)
        (void)buf_adds(&message, piece);
    (void)buf_adds(&message, "\"}");
    return median_ms(&message);
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 1 << 20;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        (void)printf("%-24s %8.3f ms\n", kinds[i].name, measure(kinds[i].piece, bytes));
    return 0;
}
