/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/gunzip.h"

#include <stdlib.h>

#define ZLIB_CONST
#include <zlib.h>

#include "base/alloc.h"

enum { PIECE = 32 << 10, GZIP_WINDOW = 15 + 16 /* as zlib says: a head of gzip is needed */ };

struct gunzip {
    z_stream z;
    uint64_t left;
    gunzip_fn fn;
    void *ctx;
    bool whole; /* a member has ended, and no other has begun */
    bool failed;
    unsigned char piece[PIECE];
};

static void *zlib_allocate(void *ctx, unsigned n, unsigned size)
{
    (void)ctx;
    return xcalloc(n, size);
}

static void zlib_release(void *ctx, void *p)
{
    (void)ctx;
    xfree(p);
}

struct gunzip *gunzip_open(uint64_t most, gunzip_fn fn, void *ctx)
{
    struct gunzip *g = NEW(struct gunzip);
    *g = (struct gunzip){
        .left = most, .fn = fn, .ctx = ctx, .z = {.zalloc = zlib_allocate, .zfree = zlib_release}};
    if (inflateInit2(&g->z, GZIP_WINDOW) != Z_OK)
        abort(); /* it allocates, and compares its version with that of its header */
    return g;
}

struct gunzip *gunzip_close(struct gunzip *g)
{
    if (!g)
        return NULL;
    (void)inflateEnd(&g->z);
    xfree(g);
    return NULL;
}

/* One piece. */
static int inflate_piece(struct gunzip *g)
{
    g->failed = true;
    g->z.next_out = g->piece;
    g->z.avail_out = sizeof g->piece;
    int r = inflate(&g->z, Z_NO_FLUSH);
    size_t n = sizeof g->piece - g->z.avail_out;
    g->whole = r == Z_STREAM_END;
    if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
        return -EBADMSG;
    if (n > g->left)
        return -EMSGSIZE;
    g->left -= n;
    g->failed = false;
    return n > 0 ? g->fn(g->ctx, (const char *)g->piece, n) : 0;
}

int gunzip_feed(struct gunzip *g, const char *bytes, size_t n)
{
    int r = 0;
    g->z.next_in = (const unsigned char *)bytes;
    g->z.avail_in = (unsigned)n;
    do {
        if (g->whole && g->z.avail_in == 0)
            return 0;
        if (g->whole)
            (void)inflateReset(&g->z); /* another member */
        r = inflate_piece(g);
    } while (r == 0 && (g->z.avail_in > 0 || g->z.avail_out == 0));
    return r;
}

int gunzip_end(const struct gunzip *g)
{
    return g->whole ? 0 : -EBADMSG;
}

bool gunzip_is_good(const struct gunzip *g)
{
    return g->whole && !g->failed;
}
