/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/limits/shared.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/alloc.h"
#include "sandbox/limits/cgroup.h"
#include "sandbox/proc/procfile.h"

enum { TEXT_MAX = 8192, LINE_MAX_LEN = 4096 };

/* Those of the old hierarchy name what is below with them. */
static const char in_old[] = "\ntotal_shmem ", in_unified[] = "\nshmem ";

static bool number_in(const char *path, const char *label, uint64_t *ret)
{
    char text[TEXT_MAX];
    (void)procfile_read(AT_FDCWD, path, text, sizeof text);
    *ret = procfile_behind(text, label);
    return strstr(text, label) != NULL;
}

static void take_file(struct shared *s)
{
    struct cgroup cgroup;
    uint64_t bytes;
    if (!cgroup_find("", "memory", "memory.stat", "memory.stat", &cgroup))
        return;
    const int n = snprintf(s->file, sizeof s->file, "%s/memory.stat", cgroup.dir);
    s->label = cgroup.unified ? in_unified : in_old;
    if (n < 0 || (size_t)n >= sizeof s->file || !number_in(s->file, s->label, &bytes))
        s->file[0] = '\0';
}

/* One line of /proc/self/mounts: DEVICE PATH TYPE OPTIONS. */
static void take_mount(struct shared *s, size_t *count, char *line)
{
    char *path = line + strcspn(line, " ");
    path += *path == ' ';
    char *type = path + strcspn(path, " ");
    if (*count == SHARED_TMPFS_MAX || strncmp(type, " tmpfs ", 7) != 0)
        return;
    *type = '\0';
    s->tmpfs[(*count)++] = xstrdup(path);
}

void shared_open(struct shared *s)
{
    char line[LINE_MAX_LEN];
    size_t count = 0;
    *s = (struct shared){0};
    take_file(s);
    FILE *file = s->file[0] ? NULL : fopen("/proc/self/mounts", "re");
    while (file && fgets(line, sizeof line, file))
        take_mount(s, &count, line);
    if (file)
        (void)fclose(file);
}

void shared_done(struct shared *s)
{
    for (size_t i = 0; i < SHARED_TMPFS_MAX; i++)
        xfree(s->tmpfs[i]);
    *s = (struct shared){0};
}

/* A file system that is mounted twice counts once. */
static bool was_met(const unsigned long *ids, size_t n, unsigned long id)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

uint64_t shared_bytes(const struct shared *s)
{
    uint64_t bytes = 0;
    unsigned long ids[SHARED_TMPFS_MAX];
    if (s->file[0])
        return number_in(s->file, s->label, &bytes) ? bytes : 0;
    for (size_t i = 0; i < SHARED_TMPFS_MAX && s->tmpfs[i]; i++) {
        struct statvfs fs;
        struct stat st;
        ids[i] = 0;
        if (stat(s->tmpfs[i], &st) < 0 || was_met(ids, i, st.st_dev) ||
            statvfs(s->tmpfs[i], &fs) < 0)
            continue;
        ids[i] = st.st_dev;
        bytes += (fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
    }
    return bytes;
}
