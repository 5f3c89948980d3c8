/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/policy/policy.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/paths/glob.h"
#include "sandbox/policy/mandatory.h"
#include "sandbox/policy/mount_names.h"
#include "sandbox/policy/pathname.h"
#include "sandbox/policy/policy_internal.h"

/* What every program may write: devices without a memory of their own, and srt's directories. */
static const char *const always_written[] = {
    "/dev/null",   "/dev/zero",   "/dev/full",    "/dev/random",    "/dev/urandom",
    "/dev/tty",    "/dev/ptmx",   "/dev/pts",     "/dev/shm",       "/dev/stdout",
    "/dev/stderr", "/tmp/claude", "~/.npm/_logs", "~/.claude/debug"};

enum { ALWAYS = sizeof always_written / sizeof *always_written };

static const char *const list_names[LIST__COUNT] = {
    [LIST_DENY_READ] = "filesystem.denyRead",     [LIST_ALLOW_READ] = "filesystem.allowRead",
    [LIST_ALLOW_WRITE] = "filesystem.allowWrite", [LIST_DENY_WRITE] = "filesystem.denyWrite",
    [LIST_UNIX] = "network.allowUnixSockets",
};

/* --- making one ------------------------------------------------------------------------------- */

struct policy_making {
    struct policy *policy;
    struct mandatory_walk *walk;
    struct err *e;
    int failed; /* of a callback */
};

static void pin(struct policy *policy, const char *path)
{
    (void)pathset_add(&policy->pinned, path);
    pathset_add_above(&policy->pinned, path);
}

/* `~`, the working directory, a trailing double star: an absolute text. */
static int expand_policy_path(const struct policy *policy, const char *written, char ret[PATH_MAX])
{
    bool home = *written == '~' && (written[1] == '\0' || written[1] == '/');
    if (home && !policy->home)
        return -ENOENT;
    const char *path = home ? written + 1 + strspn(written + 1, "/") : written;
    int r = path_clean(home ? policy->home : policy->cwd, path, ret);
    if (r < 0)
        return r;
    size_t n = strlen(ret);
    while (n >= 3 && strcmp(ret + n - 3, "/**") == 0)
        ret[n -= 3] = '\0';
    if (n == 0)
        memcpy(ret, "/", 2);
    return 0;
}

/* Resolves what stands before the pattern; the pattern itself holds for canonical names. */
static int resolve_glob(const char *clean, char ret[PATH_MAX], struct words *links)
{
    char fixed[PATH_MAX];
    size_t n = glob_fixed(clean);
    memcpy(fixed, clean, n);
    fixed[n] = '\0';
    int r = path_resolve(fixed, ret, links);
    if (r < 0)
        return r;
    size_t len = strlen(ret), more = strlen(clean + n);
    if (len == 1)
        len = 0;
    if (len + 1 + more >= PATH_MAX)
        return -ENAMETOOLONG;
    ret[len] = '/';
    memcpy(ret + len + 1, clean + n, more + 1);
    return 0;
}

static bool policy_path_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* Could sandboxed code have made this link? Where it may write, and the machine lets it. */
static bool is_doubtful(const struct policy *policy, const char *link)
{
    if (!rules_match(&policy->named, link) &&
        !(policy->distrusts_cwd && path_is_under(link, policy->cwd)))
        return false;
    char parent[PATH_MAX];
    size_t n = (size_t)(strrchr(link, '/') - link);
    memcpy(parent, link, n);
    memcpy(parent + n, "/", 2);
    return faccessat(AT_FDCWD, parent, W_OK, AT_EACCESS) == 0;
}

static bool any_doubtful(const struct policy *policy, const struct words *links)
{
    for (size_t i = 0; i < links->count; i++)
        if (is_doubtful(policy, links->items[i]))
            return true;
    return false;
}

static bool denies(enum policy_list list)
{
    return list == LIST_DENY_READ || list == LIST_DENY_WRITE;
}

/* An entry that allows does not follow a link that sandboxed code may have put there: it would
 * choose what the next sandbox may write. Such an entry allows its own name alone. */
static int add_resolved(struct policy *policy, enum policy_list list, struct policy_entry *entry,
                        const char *clean)
{
    struct words links = {0};
    char path[PATH_MAX];
    int r = entry->glob ? resolve_glob(clean, path, &links) : path_resolve(clean, path, &links);
    entry->doubtful = r == 0 && !denies(list) && any_doubtful(policy, &links);
    for (size_t i = 0; denies(list) && i < links.count; i++)
        pin(policy, links.items[i]);
    words_done(&links);
    if (r < 0)
        return r;
    const char *used = entry->doubtful ? clean : path;
    entry->path = xstrdup(used);
    if (entry->glob)
        rules_add_glob(&policy->lists[list], used);
    else
        rules_add(&policy->lists[list], used);
    if (list == LIST_ALLOW_WRITE && !entry->glob && !entry->doubtful)
        words_add(&policy->write_roots, used);
    return 0;
}

static int add_as(struct policy *policy, enum policy_list list, const char *written,
                  const char *clean, bool glob)
{
    struct policy_entry entry = {.glob = glob};
    int r = add_resolved(policy, list, &entry, clean);
    if (r < 0)
        return r;
    entry.written = xstrdup(written);
    size_t n = ++policy->entry_counts[list];
    policy->entries[list] = xrealloc(policy->entries[list], n * sizeof entry);
    policy->entries[list][n - 1] = entry;
    return 0;
}

/* A name with the characters of a pattern is both, when there is such a file. */
static int add_policy_entry(struct policy *policy, enum policy_list list, const char *written)
{
    char clean[PATH_MAX];
    int r = expand_policy_path(policy, written, clean);
    bool glob = r == 0 && glob_is(clean);
    if (glob)
        r = add_as(policy, list, written, clean, true);
    return r < 0 || (glob && !policy_path_exists(clean))
               ? r
               : add_as(policy, list, written, clean, false);
}

static const char *why_not(int r)
{
    return r == -ENOENT ? "there is no home directory" : strerror(-r);
}

static int add_list(struct policy *policy, enum policy_list list, const struct words *words,
                    struct err *e)
{
    for (size_t i = 0; i < words->count; i++) {
        int r = add_policy_entry(policy, list, words->items[i]);
        if (r < 0)
            return err_set(e, -EINVAL, "%s[%zu]: %.200s: %s", list_names[list], i, words->items[i],
                           why_not(r));
    }
    return 0;
}

/* All that an entry allows to be written, by its own name: where links are doubtful. */
static int name_written(struct policy *policy, const struct words *words, struct err *e)
{
    for (size_t i = 0; i < words->count; i++) {
        char clean[PATH_MAX], path[PATH_MAX];
        int r = expand_policy_path(policy, words->items[i], clean);
        bool glob = r == 0 && glob_is(clean);
        if (r == 0)
            r = glob ? resolve_glob(clean, path, NULL) : path_resolve(clean, path, NULL);
        if (r < 0)
            return err_set(e, -EINVAL, "%s[%zu]: %.200s: %s", list_names[LIST_ALLOW_WRITE], i,
                           words->items[i], why_not(r));
        void (*add)(struct rules *, const char *) = glob ? rules_add_glob : rules_add;
        add(&policy->named, clean);
        add(&policy->named, path);
    }
    return 0;
}

/* None of these is followed when it is a link: whoever made it, the settings did not ask for its
 * target, and stdout is a link to whatever that is at the moment. */
static int add_always_written(struct policy *policy, struct err *e)
{
    for (int i = 0; i < ALWAYS; i++) {
        const char *written = always_written[i];
        char path[PATH_MAX], real[PATH_MAX];
        if (*written == '~' && !policy->home)
            continue;
        int r = expand_policy_path(policy, written, path);
        if (r < 0)
            return err_set(e, r, "%s: %s", written, strerror(-r));
        rules_add(&policy->lists[LIST_ALLOW_WRITE], path);
        (void)pathset_add(&policy->given, path);
        if (path_resolve(path, real, NULL) == 0 && strcmp(path, real) == 0)
            words_add(&policy->write_roots, path);
    }
    return 0;
}

static int add_own_place(struct policy *policy, const char *const *dirs, struct err *e)
{
    for (; dirs && *dirs; dirs++) {
        char path[PATH_MAX];
        int r = path_clean(policy->cwd, *dirs, path);
        r = r < 0 ? r : path_resolve(path, path, NULL);
        if (r < 0)
            return err_set(e, r, "%s: %s", *dirs, strerror(-r));
        rules_add(&policy->own, path);
        rules_add(&policy->named, path);
        (void)pathset_add(&policy->pinned, path);
        words_add(&policy->write_roots, path);
    }
    return 0;
}

static void note_object(struct policy *policy, const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return;
    if (S_ISDIR(st.st_mode)) {
        policy->hides_dirs = true;
        return;
    }
    const size_t n = ++policy->hidden_file_count;
    policy->hidden_files = xrealloc(policy->hidden_files, n * sizeof *policy->hidden_files);
    policy->hidden_files[n - 1] = (struct policy_object){st.st_dev, st.st_ino};
}

/* A link that leads there must go on leading there. */
static void keep_links(struct policy *policy, const struct words *links)
{
    for (size_t i = 0; i < links->count; i++) {
        rules_add(&policy->kept, links->items[i]);
        pin(policy, links->items[i]);
    }
}

static int add_closed(struct policy *policy, struct rules *closed, const char *const *paths,
                      struct err *e)
{
    for (; paths && *paths; paths++) {
        char path[PATH_MAX];
        struct words links = {0}, others = {0};
        int r = path_clean("/", *paths, path);
        r = r < 0 ? r : path_resolve(path, path, &links);
        if (r < 0) {
            words_done(&links);
            return err_set(e, r, "%s: %s", *paths, strerror(-r));
        }
        rules_add(closed, path);
        keep_links(policy, &links);
        mount_names(path, &others);
        for (size_t i = 0; i < others.count; i++)
            rules_add(closed, others.items[i]);
        if (closed == &policy->hidden)
            note_object(policy, path);
        words_done(&others);
        words_done(&links);
    }
    return 0;
}

/* The path that was found, and what it leads to. */
static void on_mandatory(void *ctx, const char *path, bool link)
{
    struct policy_making *making = ctx;
    char target[PATH_MAX];
    rules_add(&making->policy->mandatory, path);
    if (!link)
        return;
    int r = path_resolve(path, target, NULL);
    if (r == 0)
        rules_add(&making->policy->mandatory, target);
    else if (r != -ELOOP && making->failed == 0) /* a loop leads to nothing */
        making->failed = err_set(making->e, r, "%s: %s", path, strerror(-r));
}

static int begin_mandatory(struct policy_making *making, const struct sandbox_settings *settings,
                           struct err *e)
{
    struct policy *policy = making->policy;
    struct mandatory what = {.cwd = policy->cwd,
                             .depth = settings->mandatory_deny_search_depth,
                             .allow_git_config = settings->allow_git_config,
                             .names_max = MANDATORY_NAMES_MAX,
                             .found = on_mandatory,
                             .ctx = making};
    policy->mandatory.at.fold = policy->mandatory.above.fold = true;
    making->e = e;
    int r = mandatory_open(&what, &making->walk, e);
    return r < 0 ? r : making->failed;
}

static void copy_words(struct words *to, const struct words *from)
{
    for (size_t i = 0; i < from->count; i++)
        words_add(to, from->items[i]);
}

static int add_policy_place(struct policy *policy, const struct policy_place *place, struct err *e)
{
    char path[PATH_MAX];
    if (!place->cwd || *place->cwd != '/')
        return err_set(e, -EINVAL, "the working directory needs an absolute path");
    int r = path_clean("/", place->cwd, path);
    r = r < 0 ? r : path_resolve(path, path, NULL);
    if (r < 0)
        return err_set(e, r, "%s: %s", place->cwd, strerror(-r));
    policy->cwd = xstrdup(path);
    policy->distrusts_cwd = place->distrusts_cwd;
    pin(policy, path);
    if (!place->home || *place->home != '/')
        return 0;
    r = path_clean("/", place->home, path);
    r = r < 0 ? r : path_resolve(path, path, NULL);
    if (r < 0)
        return err_set(e, r, "%s: %s", place->home, strerror(-r));
    policy->home = xstrdup(path);
    return 0;
}

static int fill(struct policy *policy, const struct sandbox_settings *settings,
                const struct policy_place *place, struct err *e)
{
    const struct words *lists[LIST__COUNT] = {
        [LIST_DENY_READ] = &settings->deny_read,     [LIST_ALLOW_READ] = &settings->allow_read,
        [LIST_ALLOW_WRITE] = &settings->allow_write, [LIST_DENY_WRITE] = &settings->deny_write,
        [LIST_UNIX] = &settings->allow_unix_sockets,
    };
    int r = add_policy_place(policy, place, e);
    if (r == 0)
        r = add_own_place(policy, place->private_dirs, e);
    if (r == 0)
        r = add_closed(policy, &policy->hidden, place->hidden, e);
    if (r == 0)
        r = add_closed(policy, &policy->kept, place->kept, e);
    if (r == 0)
        r = name_written(policy, &settings->allow_write, e);
    for (int i = 0; i < LIST__COUNT && r == 0; i++)
        r = add_list(policy, (enum policy_list)i, lists[i], e);
    policy->allow_git_config = settings->allow_git_config;
    policy->search_depth = settings->mandatory_deny_search_depth;
    copy_words(&policy->ignored, &settings->ignored_violations);
    copy_words(&policy->without_effect, &settings->without_effect);
    if (r == 0)
        r = add_always_written(policy, e);
    if (r == 0)
        r = policy_add_network(policy, settings, place, e);
    return r;
}

int policy_begin(const struct sandbox_settings *settings, const struct policy_place *place,
                 struct policy_making **ret, struct err *e)
{
    struct policy_making *making = NEW(struct policy_making);
    making->policy = NEW(struct policy);
    int r = fill(making->policy, settings, place, e);
    if (r == 0)
        r = begin_mandatory(making, settings, e);
    if (r < 0)
        (void)policy_give_up(making);
    else
        *ret = making;
    return r;
}

int policy_step(struct policy_making *making, long names, struct policy **ret, struct err *e)
{
    making->e = e;
    int r = mandatory_step(making->walk, names, e);
    r = r < 0 ? r : making->failed < 0 ? making->failed : r;
    if (r > 0) {
        *ret = making->policy;
        making->policy = NULL;
    }
    return r;
}

struct policy_making *policy_give_up(struct policy_making *making)
{
    if (!making)
        return NULL;
    (void)mandatory_close(making->walk);
    (void)policy_free(making->policy);
    xfree(making);
    return NULL;
}

int policy_new(const struct sandbox_settings *settings, const struct policy_place *place,
               struct policy **ret, struct err *e)
{
    struct policy_making *making = NULL;
    int r = policy_begin(settings, place, &making, e);
    while (r == 0)
        r = policy_step(making, LONG_MAX, ret, e);
    (void)policy_give_up(making);
    return r < 0 ? r : 0;
}

static int fill_walls(struct policy *policy, const struct policy_place *place, struct err *e)
{
    policy->walls = policy->all_unix = policy->may_bind = true;
    policy->loopback_ports = xcalloc(1, sizeof *policy->loopback_ports);
    policy->cwd = xstrdup("/");
    rules_add(&policy->lists[LIST_ALLOW_WRITE], "/");
    int r = add_own_place(policy, place->private_dirs, e);
    if (r == 0)
        r = add_closed(policy, &policy->hidden, place->hidden, e);
    return r < 0 ? r : add_closed(policy, &policy->kept, place->kept, e);
}

int policy_new_walls(const struct policy_place *place, struct policy **ret, struct err *e)
{
    struct policy *policy = NEW(struct policy);
    int r = fill_walls(policy, place, e);
    if (r < 0) {
        (void)policy_free(policy);
        return r;
    }
    *ret = policy;
    return 0;
}

bool policy_is_walls(const struct policy *policy)
{
    return policy->walls;
}

static void free_entries(struct policy_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        xfree(entries[i].written);
        xfree(entries[i].path);
    }
    xfree(entries);
}

struct policy *policy_free(struct policy *policy)
{
    if (!policy)
        return NULL;
    for (int i = 0; i < LIST__COUNT; i++) {
        rules_done(&policy->lists[i]);
        free_entries(policy->entries[i], policy->entry_counts[i]);
    }
    rules_done(&policy->mandatory);
    rules_done(&policy->own);
    rules_done(&policy->own_sockets);
    rules_done(&policy->hidden);
    rules_done(&policy->kept);
    xfree(policy->hidden_files);
    rules_done(&policy->named);
    pathset_done(&policy->pinned);
    pathset_done(&policy->given);
    struct words *words[] = {&policy->write_roots, &policy->domains, &policy->denied_domains,
                             &policy->without_effect, &policy->ignored};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        words_done(words[i]);
    xfree(policy->allowed);
    xfree(policy->denied);
    xfree(policy->loopback_ports);
    xfree(policy->cwd);
    xfree(policy->home);
    xfree(policy);
    return NULL;
}
