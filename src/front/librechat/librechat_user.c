/* SPDX-License-Identifier: Apache-2.0
 *
 * Who a request is of: the key's holder, or a user that a token of LibreChat names; and where the
 * sessions of each are. What http_who() has of a user are two digests, of the tenant and of the
 * user's own sessions. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hmac.h"
#include "base/secret.h"
#include "front/http/http_auth.h"
#include "front/librechat/librechat_internal.h"
#include "wire/token/jwt.h"

enum { DIGEST = 32 }; /* digits, of SHA-256's 64 */

#define NO_TENANT "legacy" /* as LibreChat names it */

/* --- digests ---------------------------------------------------------------------------------- */

/* Of the words; NULL ends them. No two lists have the same text. */
static void digest_words(const char *const *words, char ret[DIGEST + 1])
{
    char hex[HMAC_HEX + 1];
    drop_buf struct buf text = BUF_INIT(4 * JWT_MAX + LIBRECHAT_BODY_MAX);
    struct jsonw w = JSONW(&text);
    jsonw_array(&w);
    for (; *words; words++)
        jsonw_text(&w, *words);
    jsonw_end(&w);
    sha256_hex(buf_text(&text), text.len, hex);
    (void)snprintf(ret, DIGEST + 1, "%.*s", DIGEST, hex);
}

static void note_user(struct http_request *r, const char *tenant, const char *user)
{
    char who[2 * DIGEST + 1], digest[DIGEST + 1];
    digest_words((const char *const[]){tenant, NULL}, who);
    digest_words((const char *const[]){who, "user", user, NULL}, digest);
    (void)snprintf(who + DIGEST, DIGEST + 1, "%s", digest);
    http_set_who(r, who);
}

void librechat_space_of(const struct http_request *r, const struct librechat_owner *owner,
                        char ret[LIBRECHAT_SPACE_MAX + 1])
{
    const char *who = http_who(r), *kind = owner->kind ? owner->kind : "user";
    char tenant[DIGEST + 1], digest[DIGEST + 1];
    ret[0] = '\0';
    if (!*who)
        return;
    (void)snprintf(tenant, sizeof tenant, "%s", who);
    (void)snprintf(digest, sizeof digest, "%s", who + DIGEST);
    if (strcmp(kind, "user") != 0)
        digest_words((const char *const[]){tenant, kind, owner->id ? owner->id : "",
                                           owner->version ? owner->version : "", NULL},
                     digest);
    (void)snprintf(ret, LIBRECHAT_SPACE_MAX + 1, "of.%s/", digest);
}

void librechat_space_of_user(const struct http_request *r, char ret[LIBRECHAT_SPACE_MAX + 1])
{
    librechat_space_of(r, &(struct librechat_owner){0}, ret);
}

/* --- who may ---------------------------------------------------------------------------------- */

static bool brings_key(const char *key, const struct http_request *r)
{
    char token[HTTP_TOKEN_MAX + 1];
    const char *header = http_header(r, "X-API-Key");
    if (header)
        return http_header_count(r, "X-API-Key") == 1 && secret_equal(key, header);
    return http_token(r, token) && secret_equal(key, token);
}

static bool brings_user(const struct librechat *l, struct http_request *r, struct err *why)
{
    const struct jwt_policy policy = {
        .keys = l->keys, .issuer = l->config.jwt_issuer, .audience = l->config.jwt_audience};
    const char *bearer = http_bearer(r);
    drop_json struct json *claims = NULL;
    if (!bearer || !jwt_is_one(bearer)) {
        (void)err_set(why, -EACCES, "bring a token of LibreChat (JWT) as Authorization: Bearer%s",
                      l->config.key ? ", or IPYBOX_TOKEN as X-API-Key" : "");
        return false;
    }
    if (jwt_check(bearer, &policy, clock_real_ms() / 1000, &claims, why) < 0) {
        (void)err_wrap(why, "the token (JWT)");
        return false;
    }
    const char *tenant = json_get_text(claims, "tenant_id");
    note_user(r, tenant && *tenant ? tenant : NO_TENANT, json_get_text(claims, "sub"));
    return true;
}

const char *librechat_role(const struct librechat *l, struct http_request *r, struct err *why)
{
    if (brings_key(l->config.key, r))
        return "admin";
    if (l->keys && !http_header(r, "X-API-Key"))
        return brings_user(l, r, why) ? "user" : NULL;
    (void)err_set(why, -EACCES, "bring IPYBOX_TOKEN as X-API-Key (LIBRECHAT_CODE_API_KEY)");
    return NULL;
}
