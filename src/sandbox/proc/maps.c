/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/proc/maps.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { HEX = 16, DECIMAL = 10, WORDS_BEFORE = 3 /* addresses, rights, offset */ };

/* False: there is no number, or not `end` behind it. */
static bool maps_number(const char **at, int base, char end, unsigned long long *ret)
{
    char *stop;
    *ret = strtoull(*at, &stop, base);
    if (stop == *at || *stop != end)
        return false;
    *at = stop + 1;
    return true;
}

bool maps_parse(const char *line, struct maps_line *ret)
{
    unsigned long long major, minor, ino;
    const char *at = line;
    if (!((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f')))
        return false;
    for (int i = 0; i < WORDS_BEFORE; i++) {
        at += strcspn(at, " ");
        if (*at++ == '\0')
            return false;
    }
    if (!maps_number(&at, HEX, ':', &major) || !maps_number(&at, HEX, ' ', &minor) ||
        !maps_number(&at, DECIMAL, ' ', &ino))
        return false;
    *ret = (struct maps_line){.dev = makedev((unsigned)major, (unsigned)minor),
                              .ino = (ino_t)ino,
                              .name = at + strspn(at, " ")};
    return true;
}
