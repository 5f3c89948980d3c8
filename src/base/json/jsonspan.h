/* SPDX-License-Identifier: Apache-2.0
 *
 * base/json/jsonspan.h - the text of a value inside a JSON text, exactly as it was written.
 * Why:     a parsed tree holds numbers as doubles; what is only handed on (the arguments and the
 *          structured result of a tool) must not lose a digit, nor the difference of 1 and 1.0.
 * Trust:   for texts that json_parse_copy() accepts. Any other gives some span inside the text,
 *          never a fault.
 * Cost:    one pass over the text that is searched; nothing is allocated, except for a name that
 *          is written with escapes. */
#ifndef BASE_JSON_JSONSPAN_H
#define BASE_JSON_JSONSPAN_H

#include <stdbool.h>
#include <stddef.h>

struct jsonspan { /* without white space around it */
    const char *at;
    size_t n;
};

#define JSONSPAN(text, length)                                                                     \
    (struct jsonspan)                                                                              \
    {                                                                                              \
        .at = (text), .n = (length)                                                                \
    }

/* The member's value; of equal names the last, as json_get() has it. False: there is none. */
bool jsonspan_get(struct jsonspan object, const char *name, struct jsonspan *ret);

/* The next element of an array: *at is 0 at first. False: no more, or it is no array. */
bool jsonspan_next(struct jsonspan array, size_t *at, struct jsonspan *ret);

/* A copy that ends in 0, with every line break replaced by a space (JSON has them only between
 * values); the caller frees it with xfree(). NULL: no memory. */
char *jsonspan_line(struct jsonspan span);

#endif
