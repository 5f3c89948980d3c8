/* SPDX-License-Identifier: Apache-2.0
 *
 * base/hmac.h - HMAC-SHA256 (RFC 2104) with a key that is set once, and plain SHA-256 (FIPS 180-4);
 * the only door to the digests of mbedTLS.
 * Owns:    one keyed context; a message costs no allocation.
 * Order:   hmac_begin, any number of hmac_add, hmac_end; then again from hmac_begin.
 * Failure: the library can only fail by lack of memory in hmac_new, or when it is broken: both end
 *          the process, because going on with a wrong signature would be worse. */
#ifndef BASE_HMAC_H
#define BASE_HMAC_H

#include <stdbool.h>
#include <stddef.h>

#define HMAC_BYTES 32
#define HMAC_HEX 64 /* digits; a text of them needs one byte more */

struct hmac;

/* The key is copied; every length is allowed, also 0. */
struct hmac *hmac_new(const void *key, size_t len);
struct hmac *hmac_free(struct hmac *h); /* wipes the key; NULL in, NULL out */

void hmac_begin(struct hmac *h);
void hmac_add(struct hmac *h, const void *bytes, size_t n);
void hmac_end(struct hmac *h, unsigned char digest[HMAC_BYTES]);

/* The digest in lower-case hexadecimal, 0 at the end. */
void hmac_hex(const unsigned char digest[HMAC_BYTES], char hex[HMAC_HEX + 1]);

/* The plain SHA-256 of a text; and written as hmac_hex() does. */
void sha256(const void *bytes, size_t n, unsigned char digest[HMAC_BYTES]);
void sha256_hex(const void *bytes, size_t n, char hex[HMAC_HEX + 1]);

/* Compares HMAC_HEX bytes in a time that does not depend on where they differ. */
bool hmac_equal(const char *hex_a, const char *hex_b);

#endif
