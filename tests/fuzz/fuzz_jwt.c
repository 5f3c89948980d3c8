/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens, for a server with two keys whose private halves are nowhere. The only token that is right
 * is the one in the corpus: in whatever way another text differs from it, it is refused. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "unit/wire/jwttest.h"
#include "wire/token/jwt.h"

enum { NOW = 1000100 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] = RSA_PEM
        "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
        "-----END PUBLIC KEY-----\n";
    drop_str char *token = xstrndup((const char *)data, size);
    struct jwks *keys = NULL;
    struct json *claims = NULL;
    struct err e = ERR_NONE;
    must(jwks_read(text, &keys, &e) == 0);
    const struct jwt_policy policy = {keys, "librechat", "codeapi"};
    int r = jwt_check(token, &policy, NOW, &claims, &e);
    must(r < 0 ? e.msg[0] && !claims : claims && strcmp(token, RSA_TOKEN) == 0);
    (void)json_free(claims);
    (void)jwks_free(keys);
    return 0;
}
