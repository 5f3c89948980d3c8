/* SPDX-License-Identifier: Apache-2.0
 *
 * jupyter/tokens.h - the tokens by which the server recognises the code of each kernel.
 * Token:   made for one kernel at its start, in its environment as IPYBOX_TOOL_TOKEN, and worth
 *          nothing from the moment on at which the server gives the kernel up: by a reset, its
 *          death, the end of its session or of the server. `revoked` is told, so that what was
 *          begun with it ends, too.
 * Owner:   the session whose code holds it: known when a session takes the kernel, before any code
 *          of it has run; "" until then.
 * Compare: in constant time over all tokens, so an answer's delay tells nothing about any. */
#ifndef JUPYTER_TOKENS_H
#define JUPYTER_TOKENS_H

#include <stdbool.h>

#include "base/hmac.h"

#define TOKEN_SIZE (HMAC_HEX + 1) /* 256 bits in hex, and NUL */
#define TOKEN_OWNER_MAX 64

struct token { /* embedded in its kernel; all zero: none */
    struct token *prev, *next;
    char text[TOKEN_SIZE];
    char owner[TOKEN_OWNER_MAX + 1];
};

struct tokens {
    struct token *first;
    void (*revoked)(void *ctx, const char *text); /* at that moment; NULL: nobody wants to know */
    void *ctx;
};

void token_issue(struct tokens *tokens, struct token *token);
void token_revoke(struct tokens *tokens, struct token *token); /* not issued: nothing happens */
/* `next`, which was issued too, takes the place of `token`, which is revoked. */
void token_replace(struct tokens *tokens, struct token *token, struct token *next);
/* *ret_owner is borrowed until the token is revoked. */
bool tokens_know(const struct tokens *tokens, const char *text, const char **ret_owner);

#endif
