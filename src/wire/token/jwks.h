/* SPDX-License-Identifier: Apache-2.0
 *
 * wire/token/jwks.h - the public keys of who signs tokens: one or more PUBLIC KEY blocks of
 * PEM, a JWK, or a JWK set (RFC 7517).
 * Keys:    RSA and Ed25519 (base/sign/signature.h). Others in a set are left out.
 * Kid:     a key of a set with a `kid` is for tokens that name it; all others are for every token.
 * Refused: private keys, which have no place there.
 * Limits:  JWKS_KEYS_MAX keys. */
#ifndef WIRE_TOKEN_JWKS_H
#define WIRE_TOKEN_JWKS_H

#include "base/err.h"
#include "base/sign/signature.h"

#define JWKS_BYTES_MAX 65536
#define JWKS_KEYS_MAX 32

struct jwks_key {
    char *kid; /* NULL: it has none */
    struct signature_key *key;
};

struct jwks {
    struct jwks_key *keys;
    size_t n; /* never 0 */
};

/* -EINVAL: the message says what is wrong with the text. */
MUST_CHECK int jwks_read(const char *text, struct jwks **ret, struct err *e);
struct jwks *jwks_free(struct jwks *jwks); /* NULL in, NULL out */

#endif
