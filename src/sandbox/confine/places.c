/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/confine/places.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/service.h"
#include "sandbox/landlock/ruleset.h"
#include "sandbox/policy/pathname.h"

enum { ABI_OF_RENAMES = 2 }; /* before it, rules refuse every move from directory to directory */

/* --- what it takes ---------------------------------------------------------------------------- */

static bool is_below_any(const char *path, const char *const *places)
{
    for (; places && *places; places++)
        if (path_is_under(path, *places))
            return true;
    return false;
}

/* Can names be made in one of the directories that lead there, but for those that are closed? The
 * root does not count: where code owns it, as in rootless Podman, nothing new comes into it, and
 * that is cheaper than a broker. */
static bool has_open_parent(const char *path, const char *const *hidden, const char *const *kept)
{
    char dir[PATH_MAX];
    if (snprintf(dir, sizeof dir, "%s", path) >= (int)sizeof dir)
        return true;
    for (char *slash; (slash = strrchr(dir, '/')) != NULL && slash != dir;) {
        *slash = '\0';
        if (!is_below_any(dir, hidden) && !is_below_any(dir, kept) && may_access(dir, W_OK))
            return true;
    }
    return false;
}

bool places_need_broker(const char *path, const char *const *hidden, const char *const *kept)
{
    char clean[PATH_MAX], real[PATH_MAX];
    struct words links = {0};
    int r = path_clean("/", path, clean);
    bool open =
        r < 0 || path_resolve(clean, real, &links) < 0 || has_open_parent(real, hidden, kept);
    for (size_t i = 0; i < links.count && !open; i++)
        open = has_open_parent(links.items[i], hidden, kept);
    words_done(&links);
    return open;
}

static bool list_is_held(const struct sandbox_spec *spec, const char *const *list,
                         const char **ret_not)
{
    const bool rules = spec->level == SANDBOX_LANDLOCK && landlock_abi() >= ABI_OF_RENAMES;
    for (; list && *list; list++)
        if (!rules || places_need_broker(*list, spec->hidden, spec->kept)) {
            *ret_not = *list;
            return false;
        }
    return true;
}

bool places_can_be_held(const struct sandbox_spec *spec, const char **ret_not)
{
    *ret_not = NULL;
    if (spec->level == SANDBOX_FULL || (spec->level == SANDBOX_LANDLOCK && spec->settings))
        return true;
    return list_is_held(spec, spec->hidden, ret_not) && list_is_held(spec, spec->kept, ret_not);
}

static bool any_needs_broker(const struct sandbox_spec *spec, const char *const *list)
{
    for (; list && *list; list++)
        if (places_need_broker(*list, spec->hidden, spec->kept))
            return true;
    return false;
}

bool places_ask(const struct sandbox_spec *spec)
{
    return spec->level == SANDBOX_FULL &&
           (landlock_abi() < ABI_OF_RENAMES || any_needs_broker(spec, spec->hidden) ||
            any_needs_broker(spec, spec->kept));
}

static const char **held_of(const struct sandbox_spec *spec, const char *const *list)
{
    size_t n = 0, at = 0;
    while (list && list[n])
        n++;
    const char **held = xcalloc(n + 1, sizeof *held);
    const char *not_held;
    for (size_t i = 0; i < n; i++) {
        const char *const one[] = {list[i], NULL};
        if (spec->level == SANDBOX_FULL || list_is_held(spec, one, &not_held))
            held[at++] = list[i];
    }
    return held;
}

void places_held(const struct sandbox_spec *spec, const char ***ret_hidden, const char ***ret_kept)
{
    *ret_hidden = held_of(spec, spec->hidden);
    *ret_kept = held_of(spec, spec->kept);
}
