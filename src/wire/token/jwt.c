/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/token/jwt.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text/base64.h"

struct parts { /* of the token */
    const char *header, *claims, *signature;
    size_t header_n, claims_n, signature_n;
};

static bool find_parts(const char *token, struct parts *ret)
{
    const char *first = strchr(token, '.'), *second = first ? strchr(first + 1, '.') : NULL;
    if (!second || strchr(second + 1, '.'))
        return false;
    *ret = (struct parts){.header = token,
                          .claims = first + 1,
                          .signature = second + 1,
                          .header_n = (size_t)(first - token),
                          .claims_n = (size_t)(second - first) - 1,
                          .signature_n = strlen(second + 1)};
    return true;
}

bool jwt_is_one(const char *token)
{
    struct parts parts;
    return find_parts(token, &parts);
}

/* --- parts ------------------------------------------------------------------------------------ */

static int check_members(const struct json *object, const char *what, struct err *e)
{
    if (json_count(object) > JWT_MEMBERS_MAX)
        return err_set(e, -EINVAL, "its %s has more than %d members", what, JWT_MEMBERS_MAX);
    for (const struct json *j = json_first(object); j; j = json_next(j))
        for (const struct json *old = json_first(object); old != j; old = json_next(old))
            if (strcmp(json_name(old), json_name(j)) == 0)
                return err_set(e, -EINVAL, "its %s has %.40s twice", what, json_name(j));
    return 0;
}

static int read_object_part(const char *text, size_t n, const char *what, struct json **ret,
                            struct err *e)
{
    drop_buf struct buf plain = BUF_INIT(JWT_MAX);
    struct err why = ERR_NONE;
    if (base64url_decode(&plain, text, n) < 0 || plain.len == 0)
        return err_set(e, -EINVAL, "its %s is no base64url", what);
    struct json *object = json_parse(plain.data, plain.len, JSON_REQUEST, &why);
    int r = json_is_object(object) ? check_members(object, what, e)
                                   : err_set(e, -EINVAL, "its %s is no JSON object", what);
    if (r < 0)
        object = json_free(object);
    *ret = object;
    return r;
}

/* --- the signature ---------------------------------------------------------------------------- */

static int read_algorithm(const struct json *header, enum signature_kind *ret, struct err *e)
{
    const char *alg = json_get_text(header, "alg");
    if (json_get(header, "crit"))
        return err_set(e, -EINVAL, "its header has crit, of which nothing is known here");
    if (alg && strcmp(alg, "EdDSA") == 0)
        *ret = SIGNATURE_ED25519;
    else if (alg && strcmp(alg, "RS256") == 0)
        *ret = SIGNATURE_RSA_SHA256;
    else
        return err_set(e, -EACCES, "its alg is not EdDSA or RS256");
    return 0;
}

static bool is_key_for(const struct jwks_key *key, enum signature_kind kind, const char *kid)
{
    return signature_key_kind(key->key) == kind &&
           (!key->kid || (kid && strcmp(key->kid, kid) == 0));
}

static int check_signature(const char *token, const struct parts *parts, const struct json *header,
                           const struct jwks *keys, struct err *e)
{
    drop_buf struct buf signature = BUF_INIT(JWT_MAX);
    const char *kid = json_get_text(header, "kid");
    const size_t signed_n = parts->header_n + 1 + parts->claims_n;
    enum signature_kind kind;
    bool found = false;
    int r = read_algorithm(header, &kind, e);
    if (r < 0)
        return r;
    if (base64url_decode(&signature, parts->signature, parts->signature_n) < 0)
        return err_set(e, -EINVAL, "its signature is no base64url");
    for (size_t i = 0; i < keys->n; i++) {
        if (!is_key_for(&keys->keys[i], kind, kid))
            continue;
        found = true;
        if (signature_is_right(keys->keys[i].key, token, signed_n, buf_text(&signature),
                               signature.len))
            return 0;
    }
    return err_set(e, -EACCES,
                   found ? "its signature is wrong" : "no key here is for its alg and kid");
}

/* --- claims ----------------------------------------------------------------------------------- */

static bool names_audience(const struct json *aud, const char *audience)
{
    if (json_text(aud))
        return strcmp(json_text(aud), audience) == 0;
    for (const struct json *j = json_is_array(aud) ? json_first(aud) : NULL; j; j = json_next(j))
        if (json_text(j) && strcmp(json_text(j), audience) == 0)
            return true;
    return false;
}

static int check_times(const struct json *claims, double now, struct err *e)
{
    static const char *const names[] = {"iat", "nbf", "exp"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!json_is_number(json_get(claims, names[i])))
            return err_set(e, -EACCES, "its %s is no number", names[i]);
    const double iat = json_number(json_get(claims, "iat"));
    const double nbf = json_number(json_get(claims, "nbf"));
    const double exp = json_number(json_get(claims, "exp"));
    if (exp + JWT_LEEWAY_S <= now)
        return err_set(e, -EACCES, "it has expired");
    if (nbf > now + JWT_LEEWAY_S || iat > now + JWT_LEEWAY_S)
        return err_set(e, -EACCES, "it is not valid yet: do the clocks agree?");
    if (exp <= iat || exp - iat > JWT_LIFE_S)
        return err_set(e, -EACCES, "it is to be good for more than %d seconds, or for none",
                       JWT_LIFE_S);
    return 0;
}

static int check_claims(const struct json *claims, const struct jwt_policy *policy, int64_t now_s,
                        struct err *e)
{
    const char *iss = json_get_text(claims, "iss"), *sub = json_get_text(claims, "sub");
    if (!iss || strcmp(iss, policy->issuer) != 0)
        return err_set(e, -EACCES, "its issuer (iss) is not %s", policy->issuer);
    if (!names_audience(json_get(claims, "aud"), policy->audience))
        return err_set(e, -EACCES, "its audience (aud) is not %s", policy->audience);
    if (!sub || !*sub)
        return err_set(e, -EACCES, "it names no user (sub)");
    return check_times(claims, (double)now_s, e);
}

int jwt_check(const char *token, const struct jwt_policy *policy, int64_t now_s, struct json **ret,
              struct err *e)
{
    drop_json struct json *header = NULL;
    struct json *claims = NULL;
    struct parts parts;
    if (strlen(token) > JWT_MAX || !find_parts(token, &parts))
        return err_set(e, -EINVAL, "it is no JWT of at most %d bytes", JWT_MAX);
    int r = read_object_part(parts.header, parts.header_n, "header", &header, e);
    if (r == 0)
        r = check_signature(token, &parts, header, policy->keys, e);
    if (r == 0)
        r = read_object_part(parts.claims, parts.claims_n, "claims", &claims, e);
    if (r == 0)
        r = check_claims(claims, policy, now_s, e);
    if (r < 0)
        claims = json_free(claims);
    else
        *ret = claims;
    return r;
}
