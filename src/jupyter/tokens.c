/* SPDX-License-Identifier: Apache-2.0 */
#include "jupyter/tokens.h"

#include <string.h>

#include "base/hmac.h"
#include "base/list.h"
#include "base/random.h"

void token_issue(struct tokens *tokens, struct token *token)
{
    random_hex(token->text, TOKEN_SIZE / 2);
    list_push(&tokens->first, token);
}

void token_revoke(struct tokens *tokens, struct token *token)
{
    if (!token->text[0])
        return;
    list_remove(&tokens->first, token);
    if (tokens->revoked)
        tokens->revoked(tokens->ctx, token->text);
    *token = (struct token){0};
}

void token_replace(struct tokens *tokens, struct token *token, struct token *next)
{
    token_revoke(tokens, token);
    list_remove(&tokens->first, next);
    *token = *next;
    list_push(&tokens->first, token);
    *next = (struct token){0};
}

bool tokens_know(const struct tokens *tokens, const char *text, const char **ret_owner)
{
    bool known = false;
    if (strlen(text) != HMAC_HEX)
        return false;
    for (const struct token *token = tokens->first; token; token = token->next) {
        bool same = hmac_equal(token->text, text);
        known |= same;
        *ret_owner = same ? token->owner : *ret_owner;
    }
    return known;
}
