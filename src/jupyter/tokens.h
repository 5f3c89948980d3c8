/* SPDX-License-Identifier: Apache-2.0
 *
 * jupyter/tokens.h - what each kernel has to show when its code wants something of the server.
 * Token:   made for one kernel at its start, in its environment as IPYBOX_TOOL_TOKEN, and worth
 *          nothing from the moment on at which the server gives the kernel up.
 * Compare: in constant time over all tokens, so an answer's delay tells nothing about any. */
#ifndef JUPYTER_TOKENS_H
#define JUPYTER_TOKENS_H

#include <stdbool.h>

#include "base/hmac.h"

#define TOKEN_SIZE (HMAC_HEX + 1) /* 256 bits in hex, and NUL */

struct token { /* embedded in its kernel; all zero: none */
    struct token *prev, *next;
    char text[TOKEN_SIZE];
};

struct tokens {
    struct token *first;
};

void token_issue(struct tokens *tokens, struct token *token);
void token_revoke(struct tokens *tokens, struct token *token); /* not issued: nothing happens */
bool tokens_know(const struct tokens *tokens, const char *text);

#endif
