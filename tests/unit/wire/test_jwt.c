/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens that are signed here with Ed25519, and one that was signed with RSA. */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "unit/wire/jwtsign.h"
#include "unit/wire/jwttest.h"
#include "wire/token/jwt.h"

#define NOW 1000100
#define CLAIMS "\"iss\":\"librechat\",\"aud\":\"codeapi\",\"sub\":\"u1\""
#define TIMES "\"iat\":1000000,\"nbf\":1000000,\"exp\":1000300"
#define GOOD "{" CLAIMS "," TIMES "}"

static struct jwks *read_keys(const char *text)
{
    struct jwks *keys = NULL;
    struct err e = ERR_NONE;
    TEST_CHECK_(jwks_read(text, &keys, &e) == 0, "%s", e.msg);
    return keys;
}

static int check_at(const struct jwks *keys, const char *token, int64_t now, struct err *e)
{
    const struct jwt_policy policy = {keys, "librechat", "codeapi"};
    struct json *claims = NULL;
    *e = ERR_NONE;
    int r = jwt_check(token, &policy, now, &claims, e);
    TEST_CHECK((r == 0) == (claims != NULL));
    (void)json_free(claims);
    return r;
}

static void a_token_that_a_key_has_signed_is_right(void)
{
    drop_str char *jwk = jwk_of(1, "\"lc\""), *token = sign(1, EDDSA, GOOD);
    struct jwks *keys = read_keys(jwk);
    const struct jwt_policy policy = {keys, "librechat", "codeapi"};
    struct json *claims = NULL;
    struct err e = ERR_NONE;
    TEST_CHECK_(jwt_check(token, &policy, NOW, &claims, &e) == 0, "%s", e.msg);
    TEST_CHECK(strcmp(json_get_text(claims, "sub"), "u1") == 0);
    (void)json_free(claims);
    (void)jwks_free(keys);
    keys = read_keys(RSA_PEM);
    TEST_CHECK_(check_at(keys, RSA_TOKEN, NOW, &e) == 0, "%s", e.msg);
    (void)jwks_free(keys);
}

static const struct {
    const char *header, *claims, *why;
} wrong[] = {
    {"{\"alg\":\"none\"}", GOOD, "alg"},
    {"{\"alg\":\"HS256\",\"kid\":\"lc\"}", GOOD, "alg"},
    {"{\"alg\":\"ES256\",\"kid\":\"lc\"}", GOOD, "alg"},
    {"{\"alg\":\"eddsa\",\"kid\":\"lc\"}", GOOD, "alg"},
    {"{\"kid\":\"lc\"}", GOOD, "alg"},
    {"{\"alg\":\"RS256\",\"kid\":\"lc\"}", GOOD, "no key here"},
    {"{\"alg\":\"EdDSA\",\"kid\":\"other\"}", GOOD, "no key here"},
    {"{\"alg\":\"EdDSA\"}", GOOD, "no key here"},
    {"{\"alg\":\"EdDSA\",\"kid\":\"lc\",\"crit\":[\"exp\"]}", GOOD, "crit"},
    {"{\"alg\":\"none\",\"alg\":\"EdDSA\",\"kid\":\"lc\"}", GOOD, "alg twice"},
    {"[]", GOOD, "header is no JSON object"},
    {EDDSA, "{" CLAIMS "," TIMES ",\"sub\":\"u2\"}", "sub twice"},
    {EDDSA, "[1]", "claims is no JSON object"},
    {EDDSA, "", "claims is no base64url"},
    {EDDSA, "{\"iss\":\"other\",\"aud\":\"codeapi\",\"sub\":\"u1\"," TIMES "}", "issuer"},
    {EDDSA, "{\"aud\":\"codeapi\",\"sub\":\"u1\"," TIMES "}", "issuer"},
    {EDDSA, "{\"iss\":\"librechat\",\"aud\":\"other\",\"sub\":\"u1\"," TIMES "}", "audience"},
    {EDDSA, "{\"iss\":\"librechat\",\"aud\":[\"a\",1],\"sub\":\"u1\"," TIMES "}", "audience"},
    {EDDSA, "{\"iss\":\"librechat\",\"sub\":\"u1\"," TIMES "}", "audience"},
    {EDDSA, "{\"iss\":\"librechat\",\"aud\":\"codeapi\"," TIMES "}", "no user"},
    {EDDSA, "{\"iss\":\"librechat\",\"aud\":\"codeapi\",\"sub\":\"\"," TIMES "}", "no user"},
    {EDDSA, "{" CLAIMS ",\"iat\":1000000,\"exp\":1000300}", "nbf is no number"},
    {EDDSA, "{" CLAIMS ",\"iat\":1000000,\"nbf\":1000000}", "exp is no number"},
    {EDDSA, "{" CLAIMS ",\"iat\":\"1\",\"nbf\":1000000,\"exp\":1000300}", "iat is no number"},
    {EDDSA, "{" CLAIMS ",\"iat\":1000000,\"nbf\":1000000,\"exp\":1000301}", "300 seconds"},
    {EDDSA, "{" CLAIMS ",\"iat\":1000120,\"nbf\":1000000,\"exp\":1000110}", "or for none"},
};

static void a_token_that_is_not_right_is_refused_with_the_reason(void)
{
    drop_str char *jwk = jwk_of(1, "\"lc\"");
    struct jwks *keys = read_keys(jwk);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        drop_str char *token = sign(1, wrong[i].header, wrong[i].claims);
        struct err e;
        TEST_CASE_("%s %s", wrong[i].header, wrong[i].claims);
        TEST_CHECK(check_at(keys, token, NOW, &e) < 0);
        TEST_CHECK_(strstr(e.msg, wrong[i].why) != NULL, "%s", e.msg);
    }
    (void)jwks_free(keys);
}

static void of_several_audiences_one_must_be_right(void)
{
    drop_str char *jwk = jwk_of(1, NULL);
    drop_str char *token = sign(
        1, EDDSA, "{\"iss\":\"librechat\",\"aud\":[\"x\",\"codeapi\"],\"sub\":\"u\"," TIMES "}");
    struct jwks *keys = read_keys(jwk);
    struct err e;
    TEST_CHECK_(check_at(keys, token, NOW, &e) == 0, "%s", e.msg);
    (void)jwks_free(keys);
}

static void clocks_may_differ_by_half_a_minute(void)
{
    drop_str char *jwk = jwk_of(1, NULL), *token = sign(1, EDDSA, GOOD);
    struct jwks *keys = read_keys(jwk);
    struct err e;
    TEST_CHECK(check_at(keys, token, 1000000 - JWT_LEEWAY_S, &e) == 0);
    TEST_CHECK(check_at(keys, token, 1000000 - JWT_LEEWAY_S - 1, &e) == -EACCES);
    TEST_CHECK_(strstr(e.msg, "not valid yet") != NULL, "%s", e.msg);
    TEST_CHECK(check_at(keys, token, 1000300 + JWT_LEEWAY_S - 1, &e) == 0);
    TEST_CHECK(check_at(keys, token, 1000300 + JWT_LEEWAY_S, &e) == -EACCES);
    TEST_CHECK_(strstr(e.msg, "expired") != NULL, "%s", e.msg);
    (void)jwks_free(keys);
}

/* Whichever bit: of the header, the claims or the signature. */
static void a_token_of_which_a_character_was_changed_is_refused(void)
{
    drop_str char *jwk = jwk_of(1, NULL), *token = sign(1, EDDSA, GOOD);
    struct jwks *keys = read_keys(jwk);
    struct err e;
    for (size_t i = 0; i < strlen(token); i++) {
        const char was = token[i];
        token[i] = was == 'A' ? 'B' : 'A';
        TEST_CHECK_(check_at(keys, token, NOW, &e) < 0, "%zu", i);
        token[i] = was;
    }
    TEST_CHECK(check_at(keys, token, NOW, &e) == 0);
    (void)jwks_free(keys);
}

static void what_is_not_in_form_is_refused(void)
{
    drop_str char *jwk = jwk_of(1, NULL), *token = sign(1, EDDSA, GOOD);
    drop_str char *padded = xasprintf("%s=", token), *spaced = xasprintf("%s ", token);
    drop_str char *four = xasprintf("%s.", token), *led = xasprintf(" %s", token);
    drop_str char *unsigned_one = xstrndup(token, (size_t)(strrchr(token, '.') - token) + 1);
    drop_str char *two = xstrndup(token, (size_t)(strrchr(token, '.') - token));
    drop_str char *far = xasprintf("%s%0*d", token, JWT_MAX, 0);
    const char *const texts[] = {padded, spaced, four, led,  unsigned_one, two,
                                 far,    "",     ".",  "..", "a.b"};
    struct jwks *keys = read_keys(jwk);
    struct err e;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        TEST_CHECK_(check_at(keys, texts[i], NOW, &e) < 0, "%zu: %.60s", i, texts[i]);
    (void)jwks_free(keys);
}

/* With the public key as the key of a code that both sides know. */
static void a_public_key_is_never_a_secret_of_both_sides(void)
{
    struct jwks *keys = read_keys(RSA_PEM);
    drop_str char *token = sign(1, "{\"alg\":\"HS256\",\"typ\":\"JWT\"}", GOOD);
    drop_str char *other = sign(1, EDDSA, GOOD);
    struct err e;
    TEST_CHECK(check_at(keys, token, NOW, &e) == -EACCES);
    TEST_CHECK(check_at(keys, other, NOW, &e) == -EACCES);
    TEST_CHECK_(strstr(e.msg, "no key here") != NULL, "%s", e.msg);
    (void)jwks_free(keys);
}

static void another_key_of_the_set_may_be_the_right_one(void)
{
    drop_str char *first = jwk_of(1, "\"old\""), *second = jwk_of(2, "\"lc\"");
    drop_str char *third = jwk_of(3, NULL);
    drop_str char *text = xasprintf("{\"keys\":[%s,%s,%s]}", first, second, third);
    struct jwks *keys = read_keys(text);
    struct err e;
    for (char seed = 1; seed <= 3; seed++) {
        drop_str char *token = sign(seed, EDDSA, GOOD);
        TEST_CHECK_((check_at(keys, token, NOW, &e) == 0) == (seed != 1), "%d: %s", seed, e.msg);
    }
    (void)jwks_free(keys);
}

/* --- keys ------------------------------------------------------------------------------------- */

#define RSA_JWK "{\"kty\":\"RSA\",\"e\":\"AQAB\",\"n\":\"" RSA_N "\"}"
#define ED_PEM                                                                                     \
    "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAiojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb84SIAbQPb1w=\n"   \
    "-----END PUBLIC KEY-----\n"

static void keys_come_as_pem_and_as_jwk(void)
{
    static const char *const texts[] = {
        RSA_PEM, RSA_JWK, " \n{\"keys\":[" RSA_JWK "]}", "a comment\n" ED_PEM "\n" RSA_PEM,
        "{\"keys\":[{\"kty\":\"EC\"},{\"kty\":\"oct\"}," RSA_JWK "]}"};
    struct err e;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct jwks *keys = read_keys(texts[i]);
        TEST_CHECK_(check_at(keys, RSA_TOKEN, NOW, &e) == 0, "%zu: %s", i, e.msg);
        (void)jwks_free(keys);
    }
}

static const struct {
    const char *text, *why;
} unfit[] = {
    {"", "no public key"},
    {"nonsense", "no public key"},
    {"{\"keys\":[]}", "no public key"},
    {"{\"keys\":{}}", "keys: an array"},
    {"{\"keys\":[1]}", "keys[0]: kty"},
    {"{", "JSON"},
    {"{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":\"AAAA\"}", "no public key"},
    {"{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAA\"}", "32 bytes"},
    {"{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"A=\"}", "x: base64url"},
    {"{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAA\",\"d\":\"AAAA\"}", "private key"},
    {"{\"kty\":\"oct\",\"k\":\"AAAA\"}", "private key"},
    {"{\"kty\":\"RSA\",\"e\":\"AQAB\",\"n\":\"AAAA\"}", "RSA"},
    {"{\"kty\":\"RSA\",\"e\":\"AQAB\",\"kid\":1,\"n\":\"" RSA_N "\"}", "kid: a string"},
    {"{\"kty\":\"RSA\",\"e\":\"AQAB\",\"alg\":\"PS256\",\"n\":\"" RSA_N "\"}", "no public key"},
    {"{\"kty\":\"RSA\",\"e\":\"AQAB\",\"use\":\"enc\",\"n\":\"" RSA_N "\"}", "no public key"},
    {SHORT_RSA_PEM, "2048"},
    {P256_PEM, "PUBLIC KEY 1: it is no RSA"},
    {"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
     "PRIVATE KEY is no PUBLIC KEY"},
    {"-----BEGIN PUBLIC KEY-----\nAAAA\n", "has no end"},
    {"-----BEGIN PUBLIC KEY-----\n!\n-----END PUBLIC KEY-----\n", "base64"},
};

static void a_file_that_has_no_fit_key_is_refused_with_the_reason(void)
{
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++) {
        struct jwks *keys = NULL;
        struct err e = ERR_NONE;
        TEST_CHECK_(jwks_read(unfit[i].text, &keys, &e) == -EINVAL, "%zu", i);
        TEST_CHECK_(strstr(e.msg, unfit[i].why) != NULL, "%zu: %s", i, e.msg);
        TEST_CHECK(keys == NULL);
    }
}

static void a_set_of_too_many_keys_is_refused(void)
{
    drop_buf struct buf text = BUF_INIT(JWKS_BYTES_MAX);
    struct jwks *keys = NULL;
    struct err e = ERR_NONE;
    for (int i = 0; i <= JWKS_KEYS_MAX; i++)
        (void)buf_adds(&text, ED_PEM);
    TEST_CHECK(jwks_read(buf_text(&text), &keys, &e) == -EINVAL);
    TEST_CHECK_(strstr(e.msg, "more than 32 keys") != NULL, "%s", e.msg);
}

/* RFC 8032 section 7.1, tests 1 and 2. */
static void the_vectors_of_rfc_8032_hold(void)
{
    static const struct {
        unsigned char key[32], text[1];
        size_t n;
        unsigned char signature[64];
    } vectors[] = {
        {{0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe,
          0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6,
          0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a},
         {0},
         0,
         {0xe5, 0x56, 0x43, 0x00, 0xc3, 0x60, 0xac, 0x72, 0x90, 0x86, 0xe2, 0xcc, 0x80,
          0x6e, 0x82, 0x8a, 0x84, 0x87, 0x7f, 0x1e, 0xb8, 0xe5, 0xd9, 0x74, 0xd8, 0x73,
          0xe0, 0x65, 0x22, 0x49, 0x01, 0x55, 0x5f, 0xb8, 0x82, 0x15, 0x90, 0xa3, 0x3b,
          0xac, 0xc6, 0x1e, 0x39, 0x70, 0x1c, 0xf9, 0xb4, 0x6b, 0xd2, 0x5b, 0xf5, 0xf0,
          0x59, 0x5b, 0xbe, 0x24, 0x65, 0x51, 0x41, 0x43, 0x8e, 0x7a, 0x10, 0x0b}},
        {{0x3d, 0x40, 0x17, 0xc3, 0xe8, 0x43, 0x89, 0x5a, 0x92, 0xb7, 0x0a,
          0xa7, 0x4d, 0x1b, 0x7e, 0xbc, 0x9c, 0x98, 0x2c, 0xcf, 0x2e, 0xc4,
          0x96, 0x8c, 0xc0, 0xcd, 0x55, 0xf1, 0x2a, 0xf4, 0x66, 0x0c},
         {0x72},
         1,
         {0x92, 0xa0, 0x09, 0xa9, 0xf0, 0xd4, 0xca, 0xb8, 0x72, 0x0e, 0x82, 0x0b, 0x5f,
          0x64, 0x25, 0x40, 0xa2, 0xb2, 0x7b, 0x54, 0x16, 0x50, 0x3f, 0x8f, 0xb3, 0x76,
          0x22, 0x23, 0xeb, 0xdb, 0x69, 0xda, 0x08, 0x5a, 0xc1, 0xe4, 0x3e, 0x15, 0x99,
          0x6e, 0x45, 0x8f, 0x36, 0x13, 0xd0, 0xf1, 0x1d, 0x8c, 0x38, 0x7b, 0x2e, 0xae,
          0xb4, 0x30, 0x2a, 0xee, 0xb0, 0x0d, 0x29, 0x16, 0x12, 0xbb, 0x0c, 0x00}},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct signature_key *key = NULL;
        struct err e = ERR_NONE;
        TEST_CHECK(signature_key_of_ed25519(vectors[i].key, 32, &key, &e) == 0);
        TEST_CHECK(
            signature_is_right(key, vectors[i].text, vectors[i].n, vectors[i].signature, 64));
        TEST_CHECK(
            !signature_is_right(key, vectors[i].text, vectors[i].n, vectors[i].signature, 63));
        TEST_CHECK(!signature_is_right(key, "x", 1, vectors[i].signature, 64));
        (void)signature_key_free(key);
    }
}

TEST_LIST = {
    {"a_token_that_a_key_has_signed_is_right", a_token_that_a_key_has_signed_is_right},
    {"a_token_that_is_not_right_is_refused_with_the_reason",
     a_token_that_is_not_right_is_refused_with_the_reason},
    {"of_several_audiences_one_must_be_right", of_several_audiences_one_must_be_right},
    {"clocks_may_differ_by_half_a_minute", clocks_may_differ_by_half_a_minute},
    {"a_token_of_which_a_character_was_changed_is_refused",
     a_token_of_which_a_character_was_changed_is_refused},
    {"what_is_not_in_form_is_refused", what_is_not_in_form_is_refused},
    {"a_public_key_is_never_a_secret_of_both_sides", a_public_key_is_never_a_secret_of_both_sides},
    {"another_key_of_the_set_may_be_the_right_one", another_key_of_the_set_may_be_the_right_one},
    {"keys_come_as_pem_and_as_jwk", keys_come_as_pem_and_as_jwk},
    {"a_file_that_has_no_fit_key_is_refused_with_the_reason",
     a_file_that_has_no_fit_key_is_refused_with_the_reason},
    {"a_set_of_too_many_keys_is_refused", a_set_of_too_many_keys_is_refused},
    {"the_vectors_of_rfc_8032_hold", the_vectors_of_rfc_8032_hold},
    {NULL, NULL},
};
