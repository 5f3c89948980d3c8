/* SPDX-License-Identifier: Apache-2.0
 *
 * front/api/openapi.h - the document that describes the HTTP API (private to front/): openapi.json,
 * as the build embeds it. tests/unit/front/test_openapi.c holds it to the routes. */
#ifndef FRONT_API_OPENAPI_H
#define FRONT_API_OPENAPI_H

#include <stddef.h>

extern const unsigned char openapi[]; /* JSON text, a NUL behind it */
extern const size_t openapi_size;

#endif
