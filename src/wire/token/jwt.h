/* SPDX-License-Identifier: Apache-2.0
 *
 * wire/token/jwt.h - a signed token (JWT, RFC 7519, in the compact form of RFC 7515): whether
 * it is right.
 * Does:    EdDSA (Ed25519) and RS256, each with keys of its own kind alone; every other `alg`, and
 *          a `crit`, is refused. Base64url is read strictly, and a member that is there twice is
 *          refused, so that nobody else can read another token out of the same bytes.
 * Claims:  iss, aud (a string, or an array of them), sub, iat, nbf and exp must be there.
 * Time:    clocks may differ by JWT_LEEWAY_S; what is good for longer than JWT_LIFE_S is refused.
 * Limits:  JWT_MAX bytes, JWT_MEMBERS_MAX members of an object. */
#ifndef WIRE_TOKEN_JWT_H
#define WIRE_TOKEN_JWT_H

#include <stdint.h>

#include "base/json/json.h"
#include "wire/token/jwks.h"

#define JWT_MAX 8192
#define JWT_MEMBERS_MAX 64
#define JWT_LEEWAY_S 30
#define JWT_LIFE_S 300

struct jwt_policy { /* borrowed */
    const struct jwks *keys;
    const char *issuer, *audience;
};

/* Three parts, as a JWT has; nothing is said of what is in them. */
bool jwt_is_one(const char *token);

/* now_s: of the wall clock. *ret: its claims, json_free(). -EINVAL: it is none; -EACCES: it is not
 * right. The message says why, and what it says of claims is said of signed ones alone. */
MUST_CHECK int jwt_check(const char *token, const struct jwt_policy *policy, int64_t now_s,
                         struct json **ret, struct err *e);

#endif
