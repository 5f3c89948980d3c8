/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/limits/diskuse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text/utf8.h"

enum { BLOCK = 512, SYSTEMS_MAX = 32 };

/* Of younger headers than some. */
#define MQUEUE_MAGIC 0x19800202

enum kind { ON_DISK, IN_MEMORY, NO_FILES /* what is there are views of the machine */ };

struct system { /* a file system */
    dev_t dev;
    enum kind kind;
    uint64_t blocks, files; /* the same of both: one disk that is seen twice */
};

struct disk_walk {
    struct diskuse use;
    struct system systems[SYSTEMS_MAX];
    size_t system_count;
    char **found; /* places; room for DISKUSE_PLACES_MAX and one NULL */
    size_t found_count;
};

static enum kind disk_kind_of(const struct statfs *fs)
{
    static const unsigned views[] = {PROC_SUPER_MAGIC,    SYSFS_MAGIC,        CGROUP_SUPER_MAGIC,
                                     CGROUP2_SUPER_MAGIC, DEVPTS_SUPER_MAGIC, MQUEUE_MAGIC,
                                     SECURITYFS_MAGIC,    DEBUGFS_MAGIC,      TRACEFS_MAGIC,
                                     BPF_FS_MAGIC,        NSFS_MAGIC,         PIPEFS_MAGIC};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if ((unsigned)fs->f_type == views[i])
            return NO_FILES;
    return (unsigned)fs->f_type == TMPFS_MAGIC || (unsigned)fs->f_type == RAMFS_MAGIC ? IN_MEMORY
                                                                                      : ON_DISK;
}

static void add_filled(struct disk_walk *w, const struct statfs *fs, const struct system *system)
{
    for (size_t i = 0; i < w->system_count; i++)
        if (w->systems[i].blocks == system->blocks && w->systems[i].files == system->files)
            return;
    w->use.filled += (fs->f_blocks - fs->f_bfree) * (uint64_t)fs->f_bsize;
}

static enum kind enter_system(struct disk_walk *w, int fd, dev_t dev)
{
    struct statfs fs;
    for (size_t i = 0; i < w->system_count; i++)
        if (w->systems[i].dev == dev)
            return w->systems[i].kind;
    if (fstatfs(fd, &fs) < 0)
        return ON_DISK;
    const struct system system = {dev, disk_kind_of(&fs), fs.f_blocks, fs.f_files};
    if (system.kind == ON_DISK)
        add_filled(w, &fs, &system);
    if (w->system_count < SYSTEMS_MAX)
        w->systems[w->system_count++] = system;
    return system.kind;
}

static void count_disk_use(struct disk_walk *w, const struct stat *st, enum kind kind)
{
    uint64_t bytes = (uint64_t)st->st_blocks * BLOCK;
    bytes = bytes > DISKUSE_NAME_LEAST ? bytes : DISKUSE_NAME_LEAST;
    if (!S_ISDIR(st->st_mode) && st->st_nlink > 1)
        bytes /= st->st_nlink;
    *(kind == IN_MEMORY ? &w->use.memory : &w->use.disk) += bytes;
}

static bool is_dots_entry(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* The user's to write, or to make so. A file system that is mounted read-only is not. */
static bool is_open_to_us(int dir, const struct stat *st)
{
    return faccessat(dir, ".", W_OK, AT_EACCESS) == 0 ||
           (errno == EACCES && st->st_uid == geteuid());
}

static int open_dir(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* --- measuring -------------------------------------------------------------------------------- */

static void measure_dir(struct disk_walk *w, int fd, int depth);

static void measure_entry(struct disk_walk *w, int dir, const struct dirent *entry, enum kind kind,
                          int depth)
{
    struct stat st;
    if (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) {
        int fd = open_dir(dir, entry->d_name);
        if (fd >= 0) {
            measure_dir(w, fd, depth + 1);
            return;
        }
        w->use.unseen += errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
    }
    if (fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0)
        count_disk_use(w, &st, kind);
}

/* Takes fd. */
static void measure_dir(struct disk_walk *w, int fd, int depth)
{
    struct stat st;
    const struct dirent *entry;
    DIR *dir = fstat(fd, &st) == 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        w->use.unseen++;
        (void)close(fd);
        return;
    }
    const enum kind kind = enter_system(w, fd, st.st_dev);
    if (kind != NO_FILES) {
        count_disk_use(w, &st, kind);
        w->use.unseen += depth >= DISKUSE_DEPTH_MAX;
        while (depth < DISKUSE_DEPTH_MAX && (entry = readdir(dir)))
            if (!is_dots_entry(entry->d_name))
                measure_entry(w, fd, entry, kind, depth);
    }
    (void)closedir(dir);
}

static void measure_place(struct disk_walk *w, const char *path)
{
    struct stat st;
    int fd = open_dir(AT_FDCWD, path);
    if (fd >= 0) {
        measure_dir(w, fd, 0);
        return;
    }
    w->use.unseen += errno == EACCES;
    if (stat(path, &st) == 0)
        count_disk_use(w, &st, ON_DISK);
}

void diskuse_take(const char *const *places, struct diskuse *ret)
{
    struct disk_walk w = {0};
    for (; *places; places++)
        measure_place(&w, *places);
    *ret = w.use;
}

uint64_t diskuse_filled(const char *const *places)
{
    struct disk_walk w = {0};
    struct stat st;
    for (; *places; places++) {
        drop_fd int fd = open(*places, O_PATH | O_CLOEXEC);
        if (fd >= 0 && fstat(fd, &st) == 0)
            (void)enter_system(&w, fd, st.st_dev);
    }
    return w.use.filled;
}

/* --- finding ---------------------------------------------------------------------------------- */

static void add_disk_place(struct disk_walk *w, const char *path)
{
    if (!utf8_valid(path, strlen(path))) /* no spec can carry it */
        w->found_count = DISKUSE_PLACES_MAX;
    if (w->found_count < DISKUSE_PLACES_MAX)
        w->found[w->found_count] = xstrdup(path);
    w->found_count++;
}

static void find_below(struct disk_walk *w, int fd, const char *path, int depth);

static void find_at(struct disk_walk *w, int dir, const struct dirent *entry, const char *path,
                    int depth)
{
    struct stat st;
    if (is_dots_entry(entry->d_name) || (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
        return;
    drop_str char *below = xasprintf("%s/%s", path, entry->d_name);
    int fd = open_dir(dir, entry->d_name);
    if (fd >= 0)
        find_below(w, fd, below, depth + 1);
    else if (errno == EACCES && stat(below, &st) == 0 && st.st_uid == geteuid())
        add_disk_place(w, below); /* ours to make readable */
}

/* Takes fd. `path` is "" for the root. */
static void find_below(struct disk_walk *w, int fd, const char *path, int depth)
{
    struct stat st;
    const struct dirent *entry;
    DIR *dir = fstat(fd, &st) == 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        (void)close(fd);
        return;
    }
    const bool files = enter_system(w, fd, st.st_dev) != NO_FILES;
    if (files && is_open_to_us(fd, &st))
        add_disk_place(w, *path ? path : "/");
    else if (files && depth < DISKUSE_DEPTH_MAX)
        while ((entry = readdir(dir)))
            find_at(w, fd, entry, path, depth);
    (void)closedir(dir);
}

char **diskuse_places(void)
{
    struct disk_walk w = {.found = xcalloc(DISKUSE_PLACES_MAX + 1, sizeof *w.found)};
    int fd = open_dir(AT_FDCWD, "/");
    if (fd >= 0)
        find_below(&w, fd, "", 0);
    if (fd >= 0 && w.found_count <= DISKUSE_PLACES_MAX)
        return w.found;
    (void)diskuse_places_free(w.found);
    w.found = xcalloc(2, sizeof *w.found);
    w.found[0] = xstrdup("/");
    return w.found;
}

char **diskuse_places_free(char **places)
{
    for (size_t i = 0; places && places[i]; i++)
        xfree(places[i]);
    xfree(places);
    return NULL;
}
