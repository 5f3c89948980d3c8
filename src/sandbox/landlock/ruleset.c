/* SPDX-License-Identifier: Apache-2.0
 *
 * Two walks, one for what may be read and one for what may be written, each breadth first from the
 * root down the directories that a policy allows in part. Regular files beside a denied one get a
 * rule too: a sandbox without a broker reads them by it, and the kernel wants it to execute them.
 * They are not among the granted, for a file that takes the place of another has no rule. With a
 * broker only programs get one: a rule stays with its file when somebody outside gives it a name
 * that may not be read, and a marked open asks nobody about names (opens_mark.h).
 * Terminals have no rule where somebody judges who opens them, so everything above them is mixed:
 * also in a ruleset that denies nothing else. */
#include "sandbox/landlock/ruleset.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/landlock/landlock_abi.h"
#include "sandbox/landlock/ruleset_paths.h"
#include "sandbox/paths/terminals.h"

/* Beyond these nothing more is granted: the rest is the broker's, slower and no less safe. */
enum { MIXED_MAX = 4096, RULES_MAX = 65536 };

#define READS (LANDLOCK_READ_FILE | LANDLOCK_READ_DIR)
#define WRITES                                                                                     \
    (LANDLOCK_WRITE_FILE | LANDLOCK_REMOVE_DIR | LANDLOCK_REMOVE_FILE | LANDLOCK_MAKE_CHAR |       \
     LANDLOCK_MAKE_DIR | LANDLOCK_MAKE_REG | LANDLOCK_MAKE_SOCK | LANDLOCK_MAKE_FIFO |             \
     LANDLOCK_MAKE_BLOCK | LANDLOCK_MAKE_SYM | LANDLOCK_REFER | LANDLOCK_TRUNCATE |                \
     LANDLOCK_IOCTL_DEV)
#define OF_FILES (LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE | LANDLOCK_IOCTL_DEV)

struct landlock_ruleset {
    int ruleset;
    bool all_reads, all_writes; /* the policy restricts none */
    bool brokered;
    uint64_t left;                     /* rights that are left alone */
    const struct terminals *terminals; /* while it is built; NULL: they are files like others */
    bool walked;                       /* reads and writes are what is granted, whatever they are */
    struct ruleset_paths reads, writes;
};

struct ruleset_walk {
    const struct policy *policy;
    enum policy_cover (*cover)(const struct policy *policy, const char *dir);
    bool (*may)(const struct policy *policy, const char *path);
    int ruleset;
    uint64_t rights;
    bool programs_only; /* of the files in mixed directories */
    const struct terminals *terminals;
    struct ruleset_paths *granted;
    struct ruleset_paths met; /* the directories of the queue */
    char **queue;             /* mixed directories, owned */
    size_t first, end;
    size_t rules;
};

static bool add_rule(struct ruleset_walk *w, int at, const char *name, uint64_t rights)
{
    drop_fd int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || w->rules == RULES_MAX || landlock_add_path(w->ruleset, rights, fd) < 0)
        return false; /* less is granted, never more */
    w->rules++;
    return true;
}

static void consider_dir(struct ruleset_walk *w, int at, const char *name, const char *path)
{
    enum policy_cover cover = w->cover(w->policy, path);
    if (cover == COVER_ALL && w->terminals && terminals_below(w->terminals, path))
        cover = COVER_SOME;
    switch (cover) {
    case COVER_ALL:
        if (add_rule(w, at, name, w->rights))
            (void)ruleset_paths_add(w->granted, path);
        break;
    case COVER_SOME:
        if (w->end < MIXED_MAX && ruleset_paths_add(&w->met, path))
            w->queue[w->end++] = xstrdup(path);
        break;
    case COVER_NONE:
        break;
    }
}

static bool is_program_file(int at, const char *name)
{
    struct stat st;
    return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (!S_ISREG(st.st_mode) || st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH));
}

/* What makes a terminal is no terminal. */
static void consider_devpts(struct ruleset_walk *w, const char *path)
{
    char maker[PATH_MAX];
    const int n = snprintf(maker, sizeof maker, "%s/ptmx", path);
    if (n < (int)sizeof maker && w->may(w->policy, maker) &&
        add_rule(w, AT_FDCWD, maker, w->rights & OF_FILES))
        (void)ruleset_paths_add(w->granted, maker);
}

/* Each of the few that lie in a mixed directory is granted by its name, so that it need not be
 * asked for. */
static void consider_device(struct ruleset_walk *w, int at, const char *name, const char *path)
{
    struct stat st;
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !terminal_is(&st) &&
        w->may(w->policy, path) && add_rule(w, at, name, w->rights & OF_FILES))
        (void)ruleset_paths_add(w->granted, path);
}

static void consider(struct ruleset_walk *w, int at, const char *name, unsigned char type,
                     const char *path)
{
    if (w->terminals && terminals_at(w->terminals, path)) {
        consider_devpts(w, path);
        return;
    }
    if (type == DT_UNKNOWN) {
        struct stat st;
        if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return;
        type = S_ISDIR(st.st_mode)   ? DT_DIR
               : S_ISLNK(st.st_mode) ? DT_LNK
               : S_ISCHR(st.st_mode) ? DT_CHR
                                     : DT_REG;
    }
    if (type == DT_DIR)
        consider_dir(w, at, name, path);
    else if (type == DT_CHR && w->terminals)
        consider_device(w, at, name, path);
    else if (type != DT_LNK && w->may(w->policy, path) && /* a link's target has its own rule */
             (!w->programs_only || is_program_file(at, name)))
        (void)add_rule(w, at, name, w->rights & OF_FILES);
}

/* Every entry of a mixed directory. One that cannot be read grants nothing. */
static void visit(struct ruleset_walk *w, const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    DIR *list = fdopendir(fd);
    if (!list) {
        (void)fd_close(fd);
        return;
    }
    char path[PATH_MAX];
    size_t n = strlen(dir);
    memcpy(path, dir, n);
    if (path[n - 1] != '/')
        path[n++] = '/';
    for (const struct dirent *entry; (entry = readdir(list)) != NULL;) {
        const size_t len = strlen(entry->d_name);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            n + len >= sizeof path)
            continue;
        memcpy(path + n, entry->d_name, len + 1);
        consider(w, fd, entry->d_name, entry->d_type, path);
    }
    (void)closedir(list);
}

static void start_at(struct ruleset_walk *w, const char *path)
{
    if (path[0] == '/' && strlen(path) < PATH_MAX)
        consider(w, AT_FDCWD, path, DT_UNKNOWN, path);
}

static void run_in_ruleset(struct ruleset_walk *w)
{
    for (; w->first < w->end; w->first++)
        visit(w, w->queue[w->first]);
}

static void walk_begin(struct ruleset_walk *w)
{
    w->queue = xcalloc(MIXED_MAX, sizeof *w->queue);
}

static void walk_end(struct ruleset_walk *w)
{
    for (size_t i = 0; i < w->end; i++)
        xfree(w->queue[i]);
    xfree(w->queue);
    ruleset_paths_done(&w->met);
}

/* Without a policy. */
static enum policy_cover cover_all(const struct policy *policy, const char *dir)
{
    (void)policy;
    (void)dir;
    return COVER_ALL;
}

static bool may_all(const struct policy *policy, const char *path)
{
    (void)policy;
    (void)path;
    return true;
}

static void grant_reads(struct landlock_ruleset *ruleset, const struct policy *policy,
                        uint64_t handled)
{
    struct ruleset_walk w = {.policy = policy,
                             .cover = ruleset->all_reads ? cover_all : policy_readable,
                             .may = ruleset->all_reads ? may_all : policy_may_read,
                             .ruleset = ruleset->ruleset,
                             .rights = READS & handled,
                             .programs_only = ruleset->brokered && !ruleset->all_reads,
                             .terminals = ruleset->terminals,
                             .granted = &ruleset->reads};
    walk_begin(&w);
    start_at(&w, "/");
    run_in_ruleset(&w);
    walk_end(&w);
}

/* What every program writes to and no settings name. */
static void grant_devices(struct ruleset_walk *w)
{
    static const char *const devices[] = {"/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
                                          "/dev/urandom", "/dev/tty",  "/dev/ptmx", "/dev/pts"};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (!(w->terminals && terminals_at(w->terminals, devices[i])) &&
            w->may(w->policy, devices[i]) &&
            add_rule(w, AT_FDCWD, devices[i], w->rights & OF_FILES))
            (void)ruleset_paths_add(w->granted, devices[i]);
}

static void grant_writes(struct landlock_ruleset *ruleset, const struct policy *policy,
                         uint64_t handled)
{
    struct ruleset_walk w = {.policy = policy,
                             .cover = ruleset->all_writes ? cover_all : policy_writable,
                             .may = ruleset->all_writes ? may_all : policy_may_write,
                             .ruleset = ruleset->ruleset,
                             .rights = WRITES & handled,
                             .terminals = ruleset->terminals,
                             .granted = &ruleset->writes};
    walk_begin(&w);
    grant_devices(&w);
    /* First what is named: a way down to it that cannot be listed does not matter then. */
    const struct words *roots = ruleset->all_writes ? NULL : policy_write_roots(policy);
    for (size_t i = 0; roots && i < roots->count; i++)
        start_at(&w, roots->items[i]);
    start_at(&w, "/");
    run_in_ruleset(&w);
    walk_end(&w);
}

static int create_ruleset(struct landlock_ruleset *ruleset, uint64_t fs, uint64_t scoped,
                          struct err *e)
{
    const struct landlock_wants wants = {.fs = fs, .scoped = scoped};
    ruleset->ruleset = landlock_create(&wants);
    if (ruleset->ruleset < 0)
        return err_set(e, -errno, "landlock_create_ruleset: %s", strerror(errno));
    return 0;
}

/* Rights that a ruleset takes away by being there. */
static void grant_everywhere(struct landlock_ruleset *ruleset, uint64_t rights)
{
    drop_fd int fd = open("/", O_PATH | O_CLOEXEC);
    if (rights && fd >= 0)
        (void)landlock_add_path(ruleset->ruleset, rights, fd);
}

static struct landlock_ruleset *new_floor(void)
{
    struct landlock_ruleset *ruleset = NEW(struct landlock_ruleset);
    ruleset->ruleset = -1;
    return ruleset;
}

/* A domain that forbids nothing in the file system. Where only such a rule can be had, it is one
 * about block devices, which nobody without capabilities makes. The first version of Landlock
 * refuses every rename across directories besides, so there it is left out. */
static int create_walls(struct landlock_ruleset *ruleset, const struct landlock_rights *rights,
                        struct err *e)
{
    if (rights->scoped)
        return create_ruleset(ruleset, 0, rights->scoped, e);
    if (!(rights->fs & LANDLOCK_REFER))
        return 0;
    const uint64_t fs = LANDLOCK_MAKE_BLOCK | LANDLOCK_REFER;
    int r = create_ruleset(ruleset, fs, 0, e);
    if (r == 0)
        grant_everywhere(ruleset, fs);
    return r;
}

/* policy: NULL, and it restricts nothing, for the walls. */
static int build(struct landlock_ruleset *ruleset, const struct policy *policy, struct err *e)
{
    const struct landlock_rights rights = landlock_rights_of(landlock_abi());
    if (!rights.fs)
        return 0;
    /* Walls that refuse every rename across directories would be worse than no wall there. */
    const bool some = ruleset->terminals && (policy || rights.fs & LANDLOCK_REFER);
    uint64_t handled = (ruleset->all_reads ? LANDLOCK_READ_FILE * some : READS) |
                       (ruleset->all_writes ? LANDLOCK_WRITE_FILE * some : WRITES);
    handled &= ~ruleset->left;
    if (!handled)
        return create_walls(ruleset, &rights, e);
    handled = (handled | LANDLOCK_REFER) & rights.fs; /* it is refused when it is not asked for */
    int r = create_ruleset(ruleset, handled, rights.scoped, e);
    if (r < 0)
        return r;
    if (ruleset->all_writes)
        grant_everywhere(ruleset, LANDLOCK_REFER & handled);
    if (!ruleset->all_writes || some)
        grant_writes(ruleset, policy, ruleset->all_writes ? handled & ~LANDLOCK_REFER : handled);
    if (!ruleset->all_reads || some)
        grant_reads(ruleset, policy, handled);
    ruleset->walked = some;
    return 0;
}

static int finish_ruleset(struct landlock_ruleset *ruleset, const struct policy *policy,
                          bool terminals, struct landlock_ruleset **ret, struct err *e)
{
    struct terminals where = {0};
    int r = terminals ? terminals_find(&where, e) : 0;
    ruleset->terminals = terminals ? &where : NULL;
    if (r == 0)
        r = build(ruleset, policy, e);
    ruleset->terminals = NULL;
    terminals_done(&where);
    if (r < 0)
        (void)ruleset_free(ruleset);
    else
        *ret = ruleset;
    return r;
}

int ruleset_build_walls(bool terminals, struct landlock_ruleset **ret, struct err *e)
{
    struct landlock_ruleset *ruleset = new_floor();
    ruleset->all_reads = ruleset->all_writes = true;
    return finish_ruleset(ruleset, NULL, terminals, ret, e);
}

int ruleset_build(const struct policy *policy, bool brokered, struct landlock_ruleset **ret,
                  struct err *e)
{
    struct landlock_ruleset *ruleset = new_floor();
    ruleset->brokered = brokered;
    ruleset->all_reads = !policy_denies_reads(policy);
    ruleset->all_writes = policy_writable(policy, "/") == COVER_ALL;
    return finish_ruleset(ruleset, policy, brokered, ret, e);
}

/* Behind the walls, nobody is asked about sockets; so what takes a broker to make a name, a socket
 * is bound without one. */
int ruleset_build_places(const struct policy *policy, const struct ruleset_walls *how,
                         struct landlock_ruleset **ret, struct err *e)
{
    struct landlock_ruleset *ruleset = new_floor();
    ruleset->brokered = how->brokered;
    ruleset->left = (how->lists ? 0 : LANDLOCK_READ_DIR) | (how->brokered ? LANDLOCK_MAKE_SOCK : 0);
    ruleset->all_reads = !policy_denies_reads(policy);
    ruleset->all_writes = policy_writable(policy, "/") == COVER_ALL;
    return finish_ruleset(ruleset, policy, how->terminals, ret, e);
}

struct landlock_ruleset *ruleset_free(struct landlock_ruleset *ruleset)
{
    if (!ruleset)
        return NULL;
    (void)fd_close(ruleset->ruleset);
    ruleset_paths_done(&ruleset->reads);
    ruleset_paths_done(&ruleset->writes);
    xfree(ruleset);
    return NULL;
}

int ruleset_fd(const struct landlock_ruleset *ruleset)
{
    return ruleset->ruleset;
}

bool ruleset_holds_reads(const struct landlock_ruleset *ruleset)
{
    return ruleset->all_reads || ruleset->ruleset >= 0;
}

bool ruleset_grants_read(const struct landlock_ruleset *ruleset, const char *path)
{
    return (ruleset->all_reads && !ruleset->walked) || ruleset_paths_cover(&ruleset->reads, path);
}

bool ruleset_grants_write(const struct landlock_ruleset *ruleset, const char *path)
{
    return (ruleset->all_writes && !ruleset->walked) || ruleset_paths_cover(&ruleset->writes, path);
}
