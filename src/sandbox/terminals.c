/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/terminals.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

enum {
    SERIAL_MAJOR = 4, /* and virtual consoles */
    OLD_SLAVE_MAJOR = 3,
    CONSOLE_MAJOR = 5,
    CONSOLE_MINOR = 1,
    PTS_MAJORS = 8,
    MOUNT_POINT_FIELD = 5, /* of a line, counted from 1 */
    OCTAL_DIGITS = 3,
    LINE_MAX_BYTES = 20480 /* two escaped paths, and more */
};

bool terminal_is(const struct stat *st)
{
    if (!S_ISCHR(st->st_mode))
        return false;
    const unsigned high = major(st->st_rdev);
    return (high >= TERMINAL_PTS_MAJOR && high < TERMINAL_PTS_MAJOR + PTS_MAJORS) ||
           high == SERIAL_MAJOR || high == OLD_SLAVE_MAJOR ||
           (high == CONSOLE_MAJOR && minor(st->st_rdev) == CONSOLE_MINOR);
}

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
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from;) {
        const int byte = *from == '\\' ? octal(from + 1) : -1;
        *to++ = byte > 0 ? (char)byte : *from;
        from += byte > 0 ? 1 + OCTAL_DIGITS : 1;
    }
    *to = '\0';
}

/* "36 35 0:59 / /dev/pts rw,nosuid - devpts devpts rw": the mount point where it is a devpts. */
static char *devpts_of(char *line)
{
    static const char marker[] = " - devpts ";
    char *end = strstr(line, marker);
    if (!end)
        return NULL;
    *end = '\0';
    char *rest = line, *field = NULL;
    for (int i = 0; i < MOUNT_POINT_FIELD; i++)
        field = strsep(&rest, " ");
    if (field)
        unescape(field);
    return field && *field == '/' ? field : NULL;
}

int terminals_find(struct terminals *t, struct err *e)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char line[LINE_MAX_BYTES];
    bool begins = true; /* a longer line comes in pieces, and is not about a devpts */
    if (!file)
        return err_set(e, -errno, "/proc/self/mountinfo: %s", strerror(errno));
    while (fgets(line, sizeof line, file)) {
        const bool ends = strchr(line, '\n') != NULL;
        const char *point = begins && ends ? devpts_of(line) : NULL;
        if (point && pathset_add(&t->mounts, point))
            pathset_add_above(&t->above, point);
        begins = ends;
    }
    const bool failed = ferror(file) != 0;
    (void)fclose(file);
    pathset_add_above(&t->above, "/dev/console"); /* whose neighbours may be of the kind */
    return failed ? err_set(e, -EIO, "/proc/self/mountinfo cannot be read") : 0;
}

void terminals_done(struct terminals *t)
{
    pathset_done(&t->mounts);
    pathset_done(&t->above);
}

bool terminals_at(const struct terminals *t, const char *path)
{
    return pathset_has(&t->mounts, path);
}

bool terminals_below(const struct terminals *t, const char *path)
{
    return pathset_has(&t->above, path);
}
