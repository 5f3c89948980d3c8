/* SPDX-License-Identifier: Apache-2.0
 *
 * .env files. What is set could be in an environment, is set once and is not there already; and a
 * file that is written from it, quoted, gives the same variables. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text/utf8.h"
#include "wire/dotenv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

struct result {
    struct buf list; /* name 0 value 0 … */
    struct buf file; /* the same as a .env */
    bool quotable;
};

static const char *environment(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "E") == 0 ? "${A}'\"" : NULL;
}

static void add_quoted(struct buf *file, const char *text)
{
    (void)buf_addc(file, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            (void)buf_addc(file, '\\');
        (void)buf_addc(file, *text);
    }
    (void)buf_addc(file, '\'');
}

static void set(void *ctx, const char *name, const char *value)
{
    struct result *r = ctx;
    must(*name && !strchr(name, '=') && strcmp(name, "E") != 0);
    must(utf8_valid(name, strlen(name)) && utf8_valid(value, strlen(value)));
    for (size_t i = 0; i < r->list.len && r->list.len < 4096;) {
        const char *other = r->list.data + i;
        must(strcmp(other, name) != 0);
        i += strlen(other) + 1;
        i += strlen(r->list.data + i) + 1;
    }
    (void)buf_add(&r->list, name, strlen(name) + 1);
    (void)buf_add(&r->list, value, strlen(value) + 1);
    /* a name has no escapes, a bare \r would become \n, and ${…} would be replaced once more */
    r->quotable &= !strchr(name, '\'') && !strchr(value, '\r') && !strstr(value, "${");
    (void)buf_addf(&r->file, "export '%s' = ", name);
    add_quoted(&r->file, value);
    (void)buf_addc(&r->file, '\n');
}

static void warn(void *ctx, size_t line, const char *what)
{
    (void)ctx;
    must(line > 0 && *what);
}

static struct result parse(const char *text, size_t len)
{
    static const struct dotenv_events events = {environment, set, warn};
    struct result r = {BUF_INIT((size_t)1 << 26), BUF_INIT((size_t)1 << 26), true};
    if (dotenv_parse(text, len, &events, &r, NULL) < 0)
        must(r.list.len == 0);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct result first = parse((const char *)data, size);
    if (first.quotable && first.file.len <= DOTENV_MAX && first.list.len > 0) {
        struct result second = parse(first.file.data, first.file.len);
        must(second.list.len == first.list.len);
        must(memcmp(second.list.data, first.list.data, first.list.len) == 0);
        buf_done(&second.list);
        buf_done(&second.file);
    }
    buf_done(&first.list);
    buf_done(&first.file);
    return 0;
}
