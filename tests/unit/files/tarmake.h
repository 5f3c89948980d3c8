/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/files/tarmake.h - archives by hand, also those that nobody should send. */
#ifndef UNIT_FILES_TARMAKE_H
#define UNIT_FILES_TARMAKE_H

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "wire/tar.h"

/* A header with its sum; link and size as given. magic: "ustar\0" "00", "ustar  \0" or "". */
static void add_head(struct buf *out, char type, const char *name, const char *link,
                     unsigned long long size, const char *magic)
{
    char block[TAR_BLOCK] = {0};
    unsigned sum = 0;
    (void)memcpy(block, name, strnlen(name, 100));
    (void)snprintf(block + 100, 8, "%07o", 0644U);
    (void)snprintf(block + 124, 12, "%011llo", size);
    (void)snprintf(block + 136, 12, "%011o", 1000000000U);
    block[156] = type;
    (void)memcpy(block + 157, link, strnlen(link, 100));
    (void)memcpy(block + 257, magic, magic[0] ? 8 : 0);
    memset(block + 148, ' ', 8);
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += (unsigned char)block[i];
    (void)snprintf(block + 148, 8, "%06o", sum);
    (void)buf_add(out, block, TAR_BLOCK);
}

#define USTAR "ustar\00000"
#define GNU "ustar  "

static __attribute__((unused)) void add_bytes(struct buf *out, const char *bytes, size_t n)
{
    (void)buf_add(out, bytes, n);
    tar_put_padding(out, n);
}

static __attribute__((unused)) void add_member(struct buf *out, char type, const char *name,
                                               const char *text)
{
    bool is_link = type == '1' || type == '2';
    add_head(out, type, name, is_link ? text : "", is_link ? 0 : strlen(text), USTAR);
    if (!is_link)
        add_bytes(out, text, strlen(text));
}

#endif
