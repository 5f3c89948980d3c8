/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/catalog/words.h - words of English for the ranking of tools (private to catalog/): a space
 * before and behind each. */
#ifndef TOOLS_CATALOG_WORDS_H
#define TOOLS_CATALOG_WORDS_H

extern const char words_idle[];         /* say nothing of what is looked for */
extern const char *const words_alike[]; /* groups that mean the same; NULL ends them */

#endif
