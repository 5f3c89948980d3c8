/* SPDX-License-Identifier: Apache-2.0
 *
 * wire/rpcpeek.h - what a text that should be a JSON-RPC message seems to be, without parsing it.
 * Memory:  none; linear in the bytes. Broken JSON gives some verdict, never a fault. */
#ifndef WIRE_RPCPEEK_H
#define WIRE_RPCPEEK_H

#include <stdbool.h>
#include <stddef.h>

/* Takes the white space off both ends. */
void rpc_trim(char **text, size_t *n);

/* Of a trimmed text: it begins and ends as an object, or as an array of objects (a batch). */
bool rpc_looks_like_message(const char *text, size_t n);

/* An answer to the request of this id (as it was written), no request or notification. */
bool rpc_looks_like_answer(const char *text, size_t n, const char *id);

#endif
