/* SPDX-License-Identifier: Apache-2.0
 *
 * base/json/jsonscan.h - finds the "id" of a JSON object's top level while its bytes stream by.
 * Why:     a JSON-RPC id is echoed exactly as it was written (numbers are no doubles), and a line
 *          that is too long to keep still deserves an answer under its own id.
 * Memory:  constant, whatever is fed. Broken JSON gives some verdict, never a fault. */
#ifndef BASE_JSON_JSONSCAN_H
#define BASE_JSON_JSONSCAN_H

#include <stdbool.h>
#include <stddef.h>

#define JSONSCAN_ID_MAX 256 /* bytes of an id as written; a longer one counts as absent */

struct jsonscan { /* all zero: the start */
    long long depth;
    bool in_string, escaped, expect_value, capturing;
    int hex_left; /* digits of a \uXXXX in the name that are still to come */
    unsigned hex;
    size_t key_len;
    char key[4]; /* the name being read at the top level, as far as it can be "id" */
    size_t id_len;
    char id[JSONSCAN_ID_MAX + 2];
};

void jsonscan_feed(struct jsonscan *s, const char *bytes, size_t n);

/* The id as it was written (a string with its quotes), "" when there is none. */
const char *jsonscan_id(const struct jsonscan *s);

#endif
