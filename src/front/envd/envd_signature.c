/* SPDX-License-Identifier: Apache-2.0
 *
 * Signed URLs of files: "v1_" and the base64, without its padding, of the SHA-256 of
 * "PATH:OPERATION:USER:TOKEN", behind it ":EXPIRATION" in seconds since 1970 where there is one. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hmac.h"
#include "base/secret.h"
#include "base/text/base64.h"
#include "front/envd/envd_internal.h"

enum { SIGNATURE_MAX = 100, DIGITS = 18, SECOND_MS = 1000, HEX = 16 };

static bool is_over(const char *expiration)
{
    size_t n = strspn(expiration, "0123456789");
    char *end = NULL;
    int64_t until = n > 0 && n <= DIGITS ? strtoll(expiration, &end, 10) : 0;
    return !end || *end || until < clock_real_ms() / SECOND_MS;
}

static int digit_of(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static void sign_v1(const char *text, struct buf *out)
{
    char hex[HMAC_HEX + 1];
    unsigned char digest[HMAC_BYTES];
    sha256_hex(text, strlen(text), hex);
    for (size_t i = 0; i < HMAC_BYTES; i++)
        digest[i] = (unsigned char)(digit_of(hex[2 * i]) * HEX + digit_of(hex[2 * i + 1]));
    (void)buf_adds(out, "v1_");
    if (base64_encode(out, digest, sizeof digest) < 0)
        return;
    while (out->len > 0 && out->data[out->len - 1] == '=')
        out->data[--out->len] = '\0';
}

bool envd_signed(const struct http_request *r, const char *token, const char *operation)
{
    const char *given = http_query(r, "signature"), *path = http_query(r, "path");
    const char *user = http_query(r, "username"), *until = http_query(r, "signature_expiration");
    if (!given || (until && is_over(until)))
        return false;
    drop_str char *text = xasprintf("%s:%s:%s:%s%s%s", path ? path : "", operation,
                                    user ? user : "", token, until ? ":" : "", until ? until : "");
    drop_buf struct buf signature = BUF_INIT(SIGNATURE_MAX);
    sign_v1(text, &signature);
    return signature.len > 0 && secret_equal(buf_text(&signature), given);
}
