/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens for tests, signed with Ed25519. */
#ifndef TESTS_UNIT_WIRE_JWTSIGN_H
#define TESTS_UNIT_WIRE_JWTSIGN_H

#include <acutest.h>

#include <sodium/crypto_sign_ed25519.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text/base64.h"

#define EDDSA "{\"alg\":\"EdDSA\",\"typ\":\"JWT\",\"kid\":\"lc\"}"

static unsigned char point[crypto_sign_ed25519_PUBLICKEYBYTES];
static unsigned char secret[crypto_sign_ed25519_SECRETKEYBYTES];

static void put_url(struct buf *out, const void *bytes, size_t n)
{
    drop_buf struct buf usual = BUF_INIT(20000);
    TEST_ASSERT(base64_encode(&usual, bytes, n) == 0);
    for (size_t i = 0; i < usual.len && usual.data[i] != '='; i++)
        (void)buf_addc(out, (char)(usual.data[i] == '+'   ? '-'
                                   : usual.data[i] == '/' ? '_'
                                                          : usual.data[i]));
}

/* A token of these parts, signed with the key of `seed`. */
static __attribute__((unused)) char *sign(char seed, const char *header, const char *claims)
{
    unsigned char seeds[crypto_sign_ed25519_SEEDBYTES], signature[crypto_sign_ed25519_BYTES];
    drop_buf struct buf out = BUF_INIT(40000);
    memset(seeds, seed, sizeof seeds);
    (void)crypto_sign_ed25519_seed_keypair(point, secret, seeds);
    put_url(&out, header, strlen(header));
    (void)buf_addc(&out, '.');
    put_url(&out, claims, strlen(claims));
    (void)crypto_sign_ed25519_detached(signature, NULL, (unsigned char *)out.data, out.len, secret);
    (void)buf_addc(&out, '.');
    put_url(&out, signature, sizeof signature);
    return buf_take(&out);
}

/* The text of a JWK of that seed's key; kid: as JSON, or NULL. */
static __attribute__((unused)) char *jwk_of(char seed, const char *kid)
{
    drop_buf struct buf x = BUF_INIT(100);
    drop_str char *token = sign(seed, "{}", "{}");
    put_url(&x, point, sizeof point);
    return xasprintf("{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"%s\"%s%s}", buf_text(&x),
                     kid ? ",\"kid\":" : "", kid ? kid : "");
}

#endif
