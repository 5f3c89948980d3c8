/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints what dotenv_parse() makes of texts, for tests/peer/dotenv_oracle.py to compare.
 * In:  per case its length in decimal, a newline, and that many bytes; any number of cases.
 * Out: per case `set HEX HEX` (name, value) and `warn LINE` in order, then `end CODE`.
 * The environment is the process's own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/dotenv.h"

static void print_hex(const char *text)
{
    putchar(' ');
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        printf("%02x", *p);
}

static const char *environment(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

static void set(void *ctx, const char *name, const char *value)
{
    (void)ctx;
    printf("set");
    print_hex(name);
    print_hex(value);
    putchar('\n');
}

static void warn(void *ctx, size_t line, const char *what)
{
    (void)ctx;
    (void)what;
    printf("warn %zu\n", line);
}

int main(void)
{
    static const struct dotenv_events events = {environment, set, warn};
    size_t len = 0;
    while (scanf("%zu", &len) == 1 && getchar() == '\n') {
        char *text = xcalloc(1, len + 1);
        if (fread(text, 1, len, stdin) != len)
            return 2;
        struct err e = ERR_NONE;
        int r = dotenv_parse(text, len, &events, NULL, &e);
        printf("end %s\n", r == 0 ? "0" : r == -EILSEQ ? "EILSEQ" : e.msg);
        xfree(text);
    }
    return feof(stdin) ? 0 : 2;
}
