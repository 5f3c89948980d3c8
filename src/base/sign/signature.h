/* SPDX-License-Identifier: Apache-2.0
 *
 * base/sign/signature.h - public keys and the signatures that they check:
 * RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017, mbedTLS) and Ed25519 (RFC 8032, libsodium).
 * Owns:    one key. A key checks signatures of its own kind alone.
 * Limits:  moduli of SIGNATURE_RSA_MIN to SIGNATURE_RSA_MAX bits.
 * Not here: private keys, and making signatures. */
#ifndef BASE_SIGN_SIGNATURE_H
#define BASE_SIGN_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define SIGNATURE_RSA_MIN 2048
#define SIGNATURE_RSA_MAX 8192
#define SIGNATURE_ED25519_KEY 32 /* bytes */

enum signature_kind { SIGNATURE_RSA_SHA256, SIGNATURE_ED25519 };

struct signature_key;

/* From a SubjectPublicKeyInfo in DER, which is what a PEM's PUBLIC KEY holds; from modulus and
 * exponent, big-endian; from the point. -EINVAL: it is none, or none of these two kinds. */
MUST_CHECK int signature_key_of_spki(const void *der, size_t n, struct signature_key **ret,
                                     struct err *e);
MUST_CHECK int signature_key_of_rsa(const void *modulus, size_t n, const void *exponent, size_t m,
                                    struct signature_key **ret, struct err *e);
MUST_CHECK int signature_key_of_ed25519(const void *point, size_t n, struct signature_key **ret,
                                        struct err *e);
struct signature_key *signature_key_free(struct signature_key *key); /* NULL in, NULL out */

enum signature_kind signature_key_kind(const struct signature_key *key);

bool signature_is_right(const struct signature_key *key, const void *text, size_t n,
                        const void *signature, size_t size);

#endif
