/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/token/jwks.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "base/text/base64.h"

#define BEGIN "-----BEGIN "
#define END "-----END PUBLIC KEY-----"
#define PUBLIC "PUBLIC KEY-----"

enum { NUMBER_MAX = SIGNATURE_RSA_MAX / 8 + 1 }; /* bytes of a modulus */

struct jwks *jwks_free(struct jwks *jwks)
{
    if (!jwks)
        return NULL;
    for (size_t i = 0; i < jwks->n; i++) {
        xfree(jwks->keys[i].kid);
        (void)signature_key_free(jwks->keys[i].key);
    }
    xfree(jwks->keys);
    xfree(jwks);
    return NULL;
}

static int add_key(struct jwks *jwks, const char *kid, struct signature_key *key, struct err *e)
{
    if (jwks->n == JWKS_KEYS_MAX) {
        (void)signature_key_free(key);
        return err_set(e, -EINVAL, "more than %d keys", JWKS_KEYS_MAX);
    }
    jwks->keys = xrealloc(jwks->keys, (jwks->n + 1) * sizeof *jwks->keys);
    jwks->keys[jwks->n++] = (struct jwks_key){kid ? xstrdup(kid) : NULL, key};
    return 0;
}

/* --- PEM -------------------------------------------------------------------------------------- */

static int read_pem_block(struct jwks *jwks, const char *text, size_t n, struct err *e)
{
    drop_buf struct buf der = BUF_INIT(JWKS_BYTES_MAX);
    struct signature_key *key;
    if (base64_decode(&der, text, n) < 0 || der.len == 0)
        return err_set(e, -EINVAL, "its base64 is broken");
    int r = signature_key_of_spki(der.data, der.len, &key, e);
    return r < 0 ? r : add_key(jwks, NULL, key, e);
}

static int read_pem(struct jwks *jwks, const char *text, struct err *e)
{
    for (const char *at = strstr(text, BEGIN); at; at = strstr(at, BEGIN)) {
        at += sizeof BEGIN - 1;
        const char *end = strstr(at, END);
        if (strncmp(at, PUBLIC, sizeof PUBLIC - 1) != 0)
            return err_set(e, -EINVAL, "PEM's %.*s is no PUBLIC KEY",
                           (int)strcspn(at, "-\r\n") % 40, at);
        if (!end)
            return err_set(e, -EINVAL, "a PUBLIC KEY of PEM has no end");
        at += sizeof PUBLIC - 1;
        int r = read_pem_block(jwks, at, (size_t)(end - at), e);
        if (r < 0)
            return err_wrap(e, "PUBLIC KEY %zu", jwks->n + 1);
        at = end + sizeof END - 1;
    }
    return 0;
}

/* --- JWK -------------------------------------------------------------------------------------- */

static int need_bytes(const struct json *jwk, const char *name, struct buf *out, struct err *e)
{
    const char *text;
    int r = json_need_text(jwk, name, &text, e);
    if (r == 0 && (base64url_decode(out, text, strlen(text)) < 0 || out->len == 0))
        r = err_set(e, -EINVAL, "%s: base64url of at most %d bytes is needed", name, NUMBER_MAX);
    return r;
}

static int read_rsa(const struct json *jwk, struct signature_key **ret, struct err *e)
{
    drop_buf struct buf n = BUF_INIT(NUMBER_MAX), exponent = BUF_INIT(NUMBER_MAX);
    int r = need_bytes(jwk, "n", &n, e);
    if (r == 0)
        r = need_bytes(jwk, "e", &exponent, e);
    return r < 0 ? r : signature_key_of_rsa(n.data, n.len, exponent.data, exponent.len, ret, e);
}

static int read_point(const struct json *jwk, struct signature_key **ret, struct err *e)
{
    drop_buf struct buf x = BUF_INIT(NUMBER_MAX);
    int r = need_bytes(jwk, "x", &x, e);
    return r < 0 ? r : signature_key_of_ed25519(x.data, x.len, ret, e);
}

/* Of a member that may be absent. */
static bool is_one_of(const struct json *jwk, const char *name, const char *a, const char *b)
{
    const char *text = json_get_text(jwk, name);
    return json_get(jwk, name) == NULL || (text && (strcmp(text, a) == 0 || strcmp(text, b) == 0));
}

static int read_jwk(struct jwks *jwks, const struct json *jwk, struct err *e)
{
    const char *kty = json_get_text(jwk, "kty"), *crv = json_get_text(jwk, "crv");
    const struct json *kid = json_get(jwk, "kid");
    struct signature_key *key;
    if (!kty)
        return err_set(e, -EINVAL, "kty: a string is needed");
    if (json_get(jwk, "d") || json_get(jwk, "k"))
        return err_set(e, -EINVAL, "it is a private key: a public one is needed");
    if (kid && !json_text(kid))
        return err_set(e, -EINVAL, "kid: a string is needed");
    bool is_rsa = strcmp(kty, "RSA") == 0 && is_one_of(jwk, "alg", "RS256", "RS256");
    bool is_point = strcmp(kty, "OKP") == 0 && crv && strcmp(crv, "Ed25519") == 0 &&
                    is_one_of(jwk, "alg", "EdDSA", "Ed25519");
    if ((!is_rsa && !is_point) || !is_one_of(jwk, "use", "sig", "sig"))
        return 0;
    int r = is_rsa ? read_rsa(jwk, &key, e) : read_point(jwk, &key, e);
    return r < 0 ? r : add_key(jwks, json_text(kid), key, e);
}

static int read_set(struct jwks *jwks, const char *text, struct err *e)
{
    drop_json struct json *json = json_parse_copy(text, strlen(text), JSON_REQUEST, e);
    const struct json *keys = json_get(json, "keys");
    size_t i = 0;
    int r = 0;
    if (!json)
        return e->code;
    if (!keys)
        return read_jwk(jwks, json, e);
    if (!json_is_array(keys))
        return err_set(e, -EINVAL, "keys: an array is needed");
    for (const struct json *j = json_first(keys); j && r == 0; j = json_next(j), i++)
        r = read_jwk(jwks, j, e);
    return r < 0 ? err_wrap(e, "keys[%zu]", i - 1) : 0;
}

int jwks_read(const char *text, struct jwks **ret, struct err *e)
{
    struct jwks *jwks = NEW(struct jwks);
    struct err why = ERR_NONE;
    int r = text[strspn(text, " \t\r\n")] == '{' ? read_set(jwks, text, &why)
                                                 : read_pem(jwks, text, &why);
    if (r == 0 && jwks->n == 0)
        r = err_set(&why, -EINVAL,
                    "there is no public key of RSA or Ed25519 in it: PUBLIC KEY of PEM, or a JWK "
                    "set, is needed");
    if (r == 0) {
        *ret = jwks;
        return 0;
    }
    (void)jwks_free(jwks);
    return err_set(e, -EINVAL, "%s", why.msg);
}
