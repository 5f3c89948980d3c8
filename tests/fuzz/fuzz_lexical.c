/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths as texts. The two pieces of a path give it back; the last is one name; and a clean path is
 * absolute, holds no name that means another, and stays as it is. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "sandbox/paths/lexical.h"
#include "sandbox/policy/pathname.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_split(const char *path)
{
    char dir[PATH_MAX], name[NAME_MAX + 2], both[2 * PATH_MAX];
    if (lexical_split(path, dir, name) < 0) {
        must(!*path || strlen(path) > NAME_MAX);
        return;
    }
    size_t len = strlen(name), bare = len - (name[len - 1] == '/');
    must(*dir && len > 0 && memchr(name, '/', bare) == NULL);
    must(dir[strlen(dir) - 1] == '/' || strcmp(dir, ".") == 0);
    if (lexical_special(name))
        return;
    /* The same names in the same order, however many slashes there were. */
    (void)snprintf(both, sizeof both, "%s%s", strcmp(dir, ".") == 0 ? "" : dir, name);
    must(strncmp(both, path, strlen(both) - (name[len - 1] == '/')) == 0);
    must(strspn(path + strlen(both), "/") == strlen(path + strlen(both)));
}

static void check_clean(const char *base, const char *path)
{
    char clean[PATH_MAX], again[PATH_MAX];
    if (path_clean(base, path, clean) < 0)
        return;
    must(clean[0] == '/' && !strstr(clean, "//") && !lexical_climbs(clean));
    must(strlen(clean) == 1 || clean[strlen(clean) - 1] != '/');
    must(!strstr(clean, "/./") && path_clean("/", clean, again) == 0);
    must(strcmp(clean, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    drop_str char *path = xstrndup((const char *)data, size);
    check_split(path);
    check_clean("/", path);
    check_clean("/some/where", path);
    return 0;
}
