/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sign/signature.h"

#include <mbedtls/pk.h>
#include <mbedtls/rsa.h>
#include <sodium/crypto_sign_ed25519.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hmac.h"

struct signature_key {
    enum signature_kind kind;
    union {
        mbedtls_rsa_context rsa;
        unsigned char point[SIGNATURE_ED25519_KEY];
    };
};

struct signature_key *signature_key_free(struct signature_key *key)
{
    if (key && key->kind == SIGNATURE_RSA_SHA256)
        mbedtls_rsa_free(&key->rsa);
    xfree(key);
    return NULL;
}

enum signature_kind signature_key_kind(const struct signature_key *key)
{
    return key->kind;
}

static struct signature_key *new_rsa(void)
{
    struct signature_key *key = NEW(struct signature_key);
    key->kind = SIGNATURE_RSA_SHA256;
    mbedtls_rsa_init(&key->rsa);
    return key;
}

/* Takes the key over. `bad`: it could not be read. */
static int take_rsa(struct signature_key *key, bool bad, struct signature_key **ret, struct err *e)
{
    size_t bits = bad ? 0 : mbedtls_rsa_get_bitlen(&key->rsa);
    bad = bad || mbedtls_rsa_check_pubkey(&key->rsa) != 0;
    if (!bad && bits >= SIGNATURE_RSA_MIN && bits <= SIGNATURE_RSA_MAX) {
        *ret = key;
        return 0;
    }
    (void)signature_key_free(key);
    return bad ? err_set(e, -EINVAL, "it is no RSA public key")
               : err_set(e, -EINVAL, "RSA keys of %d to %d bits are taken, not of %zu",
                         SIGNATURE_RSA_MIN, SIGNATURE_RSA_MAX, bits);
}

int signature_key_of_rsa(const void *modulus, size_t n, const void *exponent, size_t m,
                         struct signature_key **ret, struct err *e)
{
    struct signature_key *key = new_rsa();
    int r = mbedtls_rsa_import_raw(&key->rsa, modulus, n, NULL, 0, NULL, 0, NULL, 0, exponent, m);
    return take_rsa(key, r != 0 || mbedtls_rsa_complete(&key->rsa) != 0, ret, e);
}

int signature_key_of_ed25519(const void *point, size_t n, struct signature_key **ret, struct err *e)
{
    if (n != SIGNATURE_ED25519_KEY)
        return err_set(e, -EINVAL, "a public key of Ed25519 has %d bytes, not %zu",
                       SIGNATURE_ED25519_KEY, n);
    *ret = NEW(struct signature_key);
    (*ret)->kind = SIGNATURE_ED25519;
    memcpy((*ret)->point, point, n);
    return 0;
}

/* mbedTLS does not know the kind of key, which has one form (RFC 8410). */
static const void *ed25519_of_spki(const void *der, size_t n)
{
    static const unsigned char head[] = {0x30, 0x2A, 0x30, 0x05, 0x06, 0x03,
                                         0x2B, 0x65, 0x70, 0x03, 0x21, 0x00};
    bool is_one = n == sizeof head + SIGNATURE_ED25519_KEY && memcmp(der, head, sizeof head) == 0;
    return is_one ? (const unsigned char *)der + sizeof head : NULL;
}

int signature_key_of_spki(const void *der, size_t n, struct signature_key **ret, struct err *e)
{
    const void *point = ed25519_of_spki(der, n);
    mbedtls_pk_context pk;
    if (point)
        return signature_key_of_ed25519(point, SIGNATURE_ED25519_KEY, ret, e);
    mbedtls_pk_init(&pk);
    bool good =
        mbedtls_pk_parse_public_key(&pk, der, n) == 0 && mbedtls_pk_get_type(&pk) == MBEDTLS_PK_RSA;
    struct signature_key *key = new_rsa();
    good = good && mbedtls_rsa_copy(&key->rsa, mbedtls_pk_rsa(pk)) == 0;
    mbedtls_pk_free(&pk);
    return take_rsa(key, !good, ret, e);
}

bool signature_is_right(const struct signature_key *key, const void *text, size_t n,
                        const void *signature, size_t size)
{
    unsigned char digest[HMAC_BYTES];
    if (key->kind == SIGNATURE_ED25519)
        return size == crypto_sign_ed25519_BYTES &&
               crypto_sign_ed25519_verify_detached(signature, text, n, key->point) == 0;
    if (size != mbedtls_rsa_get_len(&key->rsa))
        return false;
    sha256(text, n, digest);
    /* What it changes of the context is a cache of its own. */
    return mbedtls_rsa_pkcs1_verify((mbedtls_rsa_context *)&key->rsa, MBEDTLS_MD_SHA256,
                                    sizeof digest, digest, signature) == 0;
}
