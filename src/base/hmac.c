/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hmac.h"

#include <mbedtls/constant_time.h>
#include <mbedtls/md.h>
#include <stdlib.h>

#include "base/alloc.h"

struct hmac {
    mbedtls_md_context_t md;
};

static void must(int status)
{
    if (status != 0)
        abort();
}

struct hmac *hmac_new(const void *key, size_t len)
{
    struct hmac *h = NEW(struct hmac);
    mbedtls_md_init(&h->md);
    must(mbedtls_md_setup(&h->md, mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), 1));
    must(mbedtls_md_hmac_starts(&h->md, key, len));
    return h;
}

struct hmac *hmac_free(struct hmac *h)
{
    if (h)
        mbedtls_md_free(&h->md);
    xfree(h);
    return NULL;
}

void hmac_begin(struct hmac *h)
{
    must(mbedtls_md_hmac_reset(&h->md));
}

void hmac_add(struct hmac *h, const void *bytes, size_t n)
{
    if (n > 0)
        must(mbedtls_md_hmac_update(&h->md, bytes, n));
}

void hmac_end(struct hmac *h, unsigned char digest[HMAC_BYTES])
{
    must(mbedtls_md_hmac_finish(&h->md, digest));
}

void hmac_hex(const unsigned char digest[HMAC_BYTES], char hex[HMAC_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < HMAC_BYTES; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[HMAC_HEX] = '\0';
}

void sha256(const void *bytes, size_t n, unsigned char digest[HMAC_BYTES])
{
    must(mbedtls_md(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), bytes, n, digest));
}

void sha256_hex(const void *bytes, size_t n, char hex[HMAC_HEX + 1])
{
    unsigned char digest[HMAC_BYTES];
    sha256(bytes, n, digest);
    hmac_hex(digest, hex);
}

bool hmac_equal(const char *hex_a, const char *hex_b)
{
    return mbedtls_ct_memcmp(hex_a, hex_b, HMAC_HEX) == 0;
}
