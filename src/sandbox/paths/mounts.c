/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/paths/mounts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { OCTAL_DIGITS = 3, FIELD_DEVICE = 2, FIELD_ROOT, FIELD_POINT, FIELDS };

static int octal(const char *at)
{
    int value = 0;
    for (int i = 0; i < OCTAL_DIGITS; i++) {
        if (at[i] < '0' || at[i] > '7')
            return -1;
        value = value * 8 + (at[i] - '0');
    }
    return value;
}

/* Blanks and their kind are written as \040. */
static void unescape_mount(char *text)
{
    char *to = text;
    for (const char *from = text; *from;) {
        const int byte = *from == '\\' ? octal(from + 1) : -1;
        *to++ = byte > 0 ? (char)byte : *from;
        from += byte > 0 ? 1 + OCTAL_DIGITS : 1;
    }
    *to = '\0';
}

/* "36 35 0:59 / /dev/pts rw,nosuid - devpts devpts rw" */
static bool read_mount_line(char *line, struct mount *ret)
{
    static const char marker[] = " - ";
    char *fields[FIELDS], *end = strstr(line, marker);
    if (!end)
        return false;
    *end = '\0';
    char *kind = end + sizeof marker - 1, *rest = line;
    kind[strcspn(kind, " \n")] = '\0';
    for (int i = 0; i < FIELDS; i++)
        fields[i] = strsep(&rest, " ");
    if (!fields[FIELD_POINT])
        return false;
    unescape_mount(fields[FIELD_ROOT]);
    unescape_mount(fields[FIELD_POINT]);
    *ret = (struct mount){fields[FIELD_DEVICE], fields[FIELD_ROOT], fields[FIELD_POINT], kind};
    return *ret->point == '/';
}

int mounts_each(void (*each)(void *ctx, const struct mount *mount), void *ctx)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char line[MOUNTS_LINE_MAX];
    bool begins = true; /* a longer line comes in pieces */
    if (!file)
        return -errno;
    while (fgets(line, sizeof line, file)) {
        struct mount mount;
        const bool ends = strchr(line, '\n') != NULL;
        if (begins && ends && read_mount_line(line, &mount))
            each(ctx, &mount);
        begins = ends;
    }
    const bool failed = ferror(file) != 0;
    (void)fclose(file);
    return failed ? -EIO : 0;
}
