/* SPDX-License-Identifier: Apache-2.0 */
#include "front/http/http_auth.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/text/base64.h"

enum { ADDRESSES = 256, ADDRESS_MAX = 64, LOGINS = 64 };

struct failures {
    char address[ADDRESS_MAX];
    int64_t since;
    unsigned count;
};

struct login {
    char address[ADDRESS_MAX];
    const char *role;
    int64_t since, used;
};

struct http_guard {
    struct loop *loop;
    struct audit *audit; /* NULL: there is none */
    const char *door;
    struct login logins[LOGINS];   /* the one used longest ago makes room */
    struct failures of[ADDRESSES]; /* the oldest makes room */
};

static bool copy_token(const char *text, size_t n, char ret[HTTP_TOKEN_MAX + 1])
{
    if (n == 0 || n > HTTP_TOKEN_MAX || memchr(text, '\0', n))
        return false;
    memcpy(ret, text, n);
    ret[n] = '\0';
    return true;
}

/* base64url, as a token with other characters is no token of HTTP; padding may be there. */
static bool decode_token(const char *text, size_t n, char ret[HTTP_TOKEN_MAX + 1])
{
    while (n > 0 && text[n - 1] == '=')
        n--;
    drop_buf struct buf plain = BUF_INIT((size_t)2 * HTTP_TOKEN_MAX);
    return base64url_decode(&plain, text, n) == 0 && copy_token(plain.data, plain.len, ret);
}

/* Of the subprotocols that are offered. Two tokens are none, as two headers are. */
static bool offered_token(const struct http_request *r, char ret[HTTP_TOKEN_MAX + 1])
{
    static const char prefix[] = HTTP_TOKEN_PROTOCOL, between[] = ", \t";
    const char *at = http_header(r, "Sec-WebSocket-Protocol"), *found = NULL;
    if (!at || http_header_count(r, "Sec-WebSocket-Protocol") != 1)
        return false;
    for (at += strspn(at, between); *at; at += strcspn(at, between), at += strspn(at, between)) {
        if (strncmp(at, prefix, sizeof prefix - 1) != 0)
            continue;
        if (found)
            return false;
        found = at + sizeof prefix - 1;
    }
    return found && decode_token(found, strcspn(found, between), ret);
}

/* Of the one Authorization of this scheme; NULL: there is none. */
static const char *authorization_of(const struct http_request *r, const char *scheme)
{
    const char *text = http_header(r, "Authorization");
    size_t n = strlen(scheme);
    if (!text || http_header_count(r, "Authorization") != 1 || strcspn(text, " ") != n ||
        strncasecmp(text, scheme, n) != 0)
        return NULL;
    return text + n + strspn(text + n, " ");
}

const char *http_bearer(const struct http_request *r)
{
    return authorization_of(r, "Bearer");
}

static bool authorization_token(const struct http_request *r, char ret[HTTP_TOKEN_MAX + 1])
{
    const char *bearer = http_bearer(r), *rest = authorization_of(r, "Basic");
    if (bearer)
        return copy_token(bearer, strlen(bearer), ret);
    if (!rest)
        return false;
    drop_buf struct buf pair = BUF_INIT((size_t)2 * HTTP_TOKEN_MAX);
    if (base64_decode(&pair, rest, strlen(rest)) < 0 || pair.len == 0)
        return false;
    const char *colon = memchr(pair.data, ':', pair.len);
    return colon && copy_token(colon + 1, pair.len - (size_t)(colon + 1 - pair.data), ret);
}

bool http_brings_token(const struct http_request *r)
{
    return http_header(r, HTTP_TOKEN_HEADER) || http_header(r, "Authorization");
}

bool http_token(const struct http_request *r, char ret[HTTP_TOKEN_MAX + 1])
{
    const char *own = http_header(r, HTTP_TOKEN_HEADER);
    if (own)
        return http_header_count(r, HTTP_TOKEN_HEADER) == 1 && copy_token(own, strlen(own), ret);
    if (!http_brings_token(r) && http_is_handshake(r))
        return offered_token(r, ret);
    return authorization_token(r, ret);
}

struct http_guard *http_guard_new(struct loop *loop)
{
    struct http_guard *guard = NEW(struct http_guard);
    guard->loop = loop;
    return guard;
}

struct http_guard *http_guard_free(struct http_guard *guard)
{
    xfree(guard);
    return NULL;
}

/* How many failures the address has had lately, this one included. */
static unsigned count_failure(struct http_guard *guard, const char *address)
{
    int64_t now = loop_now(guard->loop);
    struct failures *at = &guard->of[0];
    for (size_t i = 0; i < ADDRESSES; i++) {
        struct failures *f = &guard->of[i];
        if (strcmp(f->address, address) == 0) {
            at = f;
            break;
        }
        if (f->since < at->since)
            at = f;
    }
    if (strcmp(at->address, address) != 0 || now - at->since > HTTP_GUARD_MS) {
        (void)snprintf(at->address, sizeof at->address, "%s", address);
        at->since = now;
        at->count = 0;
    }
    return ++at->count;
}

void http_guard_tell(struct http_guard *guard, struct audit *audit, const char *door)
{
    guard->audit = audit;
    guard->door = door;
}

static void notify_token_refusal(const struct http_guard *guard, const char *address,
                                 enum audit_kind kind, const char *role, const char *outcome)
{
    (void)audit_add(guard->audit, &(struct audit_event){.kind = kind,
                                                        .door = guard->door,
                                                        .address = address,
                                                        .role = role,
                                                        .outcome = outcome});
}

void http_guard_admit(struct http_guard *guard, const struct http_request *r, const char *role)
{
    http_guard_admit_from(guard, http_peer(r), role);
}

void http_guard_admit_from(struct http_guard *guard, const char *address, const char *role)
{
    int64_t now = loop_now(guard->loop);
    struct login *at = &guard->logins[0];
    if (!guard->audit)
        return;
    for (size_t i = 0; i < LOGINS; i++) {
        struct login *login = &guard->logins[i];
        if (login->role == role && strcmp(login->address, address) == 0) {
            at = login;
            break;
        }
        if (login->used < at->used)
            at = login;
    }
    bool known = at->role == role && strcmp(at->address, address) == 0;
    at->used = now;
    if (known && now - at->since < HTTP_LOGIN_MS)
        return;
    (void)snprintf(at->address, sizeof at->address, "%s", address);
    at->role = role;
    at->since = now;
    notify_token_refusal(guard, address, AUDIT_LOGIN, role, NULL);
}

void http_guard_forbid(const struct http_guard *guard, const struct http_request *r,
                       const char *role)
{
    notify_token_refusal(guard, http_peer(r), AUDIT_LOGIN_REFUSED, role, "forbidden");
}

bool http_guard_holds_up(struct http_guard *guard, const char *address)
{
    unsigned count = count_failure(guard, address);
    if (count <= HTTP_GUARD_FREE + 1)
        notify_token_refusal(guard, address, AUDIT_LOGIN_REFUSED, NULL,
                             count > HTTP_GUARD_FREE ? "held up" : "refused");
    return count > HTTP_GUARD_FREE;
}

void http_guard_refuse(struct http_guard *guard, struct http_request *r, const char *what_to_do)
{
    static const struct http_header challenge = {"WWW-Authenticate",
                                                 "Bearer realm=\"ipybox\", charset=\"UTF-8\""};
    static const struct http_header later = {"Retry-After", "60"};
    if (!http_guard_holds_up(guard, http_peer(r))) {
        http_problem(r, 401, &challenge, 1, "%s", what_to_do);
        return;
    }
    http_delay(r, HTTP_GUARD_DELAY_MS);
    http_problem(r, 429, &later, 1, "too many requests without a right token; %s", what_to_do);
}
