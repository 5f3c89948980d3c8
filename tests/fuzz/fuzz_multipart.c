/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies of multipart/form-data. In however many pieces the bytes come, they say the same; each
 * part that begins ends once, or reading has failed. The first byte is the size of the pieces, the
 * second the length of the boundary, which follows. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "wire/multipart.h"

enum { SAID_MAX = 1 << 24, BOUNDARY = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct said {
    struct buf text;
    bool inside;
};

static void must(bool holds)
{
    if (!holds)
        abort();
}

static int on_begin(void *ctx, const char *name, const char *filename)
{
    struct said *said = ctx;
    must(!said->inside && strlen(name) < MULTIPART_NAME_MAX);
    said->inside = true;
    return buf_addf(&said->text, "<%s|%s>", name, filename ? filename : "-");
}

static int on_content(void *ctx, const char *bytes, size_t n)
{
    struct said *said = ctx;
    must(said->inside && n > 0);
    return buf_add(&said->text, bytes, n);
}

static int on_end(void *ctx)
{
    struct said *said = ctx;
    must(said->inside);
    said->inside = false;
    return buf_addc(&said->text, ';');
}

static int read_body(const char *type, const char *bytes, size_t n, size_t step, struct said *said)
{
    static const struct multipart_events events = {on_begin, on_content, on_end};
    struct multipart *m = NULL;
    int r = multipart_open(type, &events, said, &m);
    for (size_t at = 0; at < n && r == 0; at += step)
        r = multipart_feed(m, bytes + at, n - at < step ? n - at : step);
    r = r < 0 ? r : multipart_end(m);
    must(r < 0 || !said->inside);
    (void)multipart_close(m);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char type[80];
    if (size < 2)
        return 0;
    const char *bytes = (const char *)data + 2;
    size_t n = data[1] % BOUNDARY, left = size - 2;
    if (n > left)
        return 0;
    (void)snprintf(type, sizeof type, "multipart/form-data; boundary=%.*s", (int)n, bytes);
    struct said whole = {.text = BUF_INIT(SAID_MAX)}, pieces = {.text = BUF_INIT(SAID_MAX)};
    int r = read_body(type, bytes + n, left - n, size, &whole);
    must(read_body(type, bytes + n, left - n, data[0] % 16U + 1, &pieces) == r);
    must(strcmp(buf_text(&whole.text), buf_text(&pieces.text)) == 0);
    buf_done(&whole.text);
    buf_done(&pieces.text);
    return 0;
}
