/* SPDX-License-Identifier: Apache-2.0
 *
 * front/http/public_url.h - the address under which browsers reach this server through a proxy: its
 * host and its origin, for struct http_config.
 * Owns:    both texts, and the two lists that point to them: a struct that was parsed stays where
 *          it is.
 * Not here: the path. The proxy takes it away, and the console's addresses are relative. */
#ifndef FRONT_HTTP_PUBLIC_URL_H
#define FRONT_HTTP_PUBLIC_URL_H

#include "base/err.h"

#define PUBLIC_HOST_MAX 253 /* bytes: a name of the DNS; with scheme and port 16 more */

struct public_url {
    char host[PUBLIC_HOST_MAX + 1];
    char origin[PUBLIC_HOST_MAX + 17]; /* as browsers send it: without the scheme's usual port */
    const char *hosts[2], *origins[2]; /* ends with NULL; empty where there is no address */
};

/* url: http://HOST[:PORT][/PATH], or https. NULL: no address. */
MUST_CHECK int public_url_parse(const char *url, struct public_url *ret, struct err *e);

#endif
