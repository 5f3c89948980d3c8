/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of public keys: they are keys, or an error that says why not. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/token/jwks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char signature[64] = "";
    drop_str char *text = xstrndup((const char *)data, size);
    struct jwks *keys = NULL;
    struct err e = ERR_NONE;
    int r = jwks_read(text, &keys, &e);
    if (r < 0 ? !e.msg[0] || keys : !keys || keys->n == 0 || keys->n > JWKS_KEYS_MAX)
        abort();
    for (size_t i = 0; keys && i < keys->n; i++)
        (void)signature_is_right(keys->keys[i].key, "x", 1, signature, sizeof signature);
    (void)jwks_free(keys);
    return 0;
}
