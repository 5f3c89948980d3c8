/* SPDX-License-Identifier: Apache-2.0
 *
 * files/listing.h - a page of a folder's names in the order of their bytes, without those of
 *          newfile.h.
 * Memory:  of one page, however many names there are.
 * Time:    each step reads at most LISTING_STEP names; a page reads all of them. */
#ifndef FILES_LISTING_H
#define FILES_LISTING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define LISTING_STEP 2048
#define LISTING_PAGE_MAX 1000

struct listing;
/* folder: opened for reading; taken over, also on failure. after: only names behind this one, or
 * NULL. page: at most LISTING_PAGE_MAX. */
MUST_CHECK int listing_open(int folder, const char *after, size_t page, struct listing **ret);
struct listing *listing_close(struct listing *l); /* NULL in, NULL out */

/* 1: complete; 0: call it again; or a negative errno. */
MUST_CHECK int listing_step(struct listing *l);

size_t listing_count(const struct listing *l);
const char *listing_name(const struct listing *l, size_t i);
bool listing_has_more(const struct listing *l); /* names behind the last */
int listing_folder(const struct listing *l);    /* its descriptor, borrowed */

#endif
