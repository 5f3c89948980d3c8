/* SPDX-License-Identifier: Apache-2.0 */
#include "session/queue/request_context.h"

#include <string.h>

#include "base/text/utf8.h"

void request_put_client(char ret[static REQUEST_CLIENT_MAX + 1], const char *name)
{
    const char *text = name ? name : "";
    const size_t n = utf8_valid_prefix(text, strnlen(text, REQUEST_CLIENT_MAX));
    memcpy(ret, text, n);
    ret[n] = '\0';
}
