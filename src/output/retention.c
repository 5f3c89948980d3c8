/* SPDX-License-Identifier: Apache-2.0 */
#include "output/retention.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "files/spot.h"

enum { HEX_DIGITS = 8, NAME_SIZE = 32, FOLDERS = 2, SECOND_NS = 1000000000 };

static const char *const folders[FOLDERS] = {"images", "outputs"};

struct saved {
    char name[NAME_SIZE];
    int folder;
    bool is_new;     /* of the cell that has just ended */
    int64_t time_ns; /* since 1970 */
    uint64_t bytes;
};

struct saved_list {
    struct saved *all;
    size_t count, size;
    uint64_t bytes;
    int fds[FOLDERS];
};

bool retention_is_due(const struct retention *r, const struct output *o)
{
    return (r->files > 0 || r->bytes > 0 || r->age_s > 0) && (o->file_count > 0 || o->file);
}

/* --- what is there ---------------------------------------------------------------------------- */

static bool is_saved_name(const char *name)
{
    size_t n = strlen(name);
    return n > HEX_DIGITS + 1 && n < NAME_SIZE && strspn(name, "0123456789abcdef") == HEX_DIGITS &&
           name[HEX_DIGITS] == '.';
}

static bool has_path(const struct output *o, const char *folder, const char *name)
{
    char path[NAME_SIZE + NAME_SIZE];
    size_t n = (size_t)snprintf(path, sizeof path, "/%s/%s", folder, name);
    for (size_t i = 0; i <= o->file_count; i++) {
        const char *other = i < o->file_count ? o->files[i].path : o->file;
        size_t length = other ? strlen(other) : 0;
        if (length >= n && strcmp(other + length - n, path) == 0)
            return true;
    }
    return false;
}

static void add_saved(struct saved_list *list, const struct saved *one)
{
    if (list->count == list->size) {
        list->size = list->size ? 2 * list->size : 256;
        list->all = xrealloc(list->all, list->size * sizeof *list->all);
    }
    list->all[list->count++] = *one;
    list->bytes += one->bytes;
}

static void read_folder(struct saved_list *list, int folder, const struct output *o)
{
    struct stat st;
    const struct dirent *entry;
    size_t seen = 0;
    int copy = list->fds[folder] < 0 ? -1 : fcntl(list->fds[folder], F_DUPFD_CLOEXEC, 0);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    while (dir && seen < RETENTION_FILES_MAX && (entry = readdir(dir))) {
        if (!is_saved_name(entry->d_name))
            continue;
        seen++;
        if (spot_stat_at(copy, entry->d_name, &st) < 0 || !S_ISREG(st.st_mode))
            continue;
        struct saved one = {.folder = folder,
                            .is_new = has_path(o, folders[folder], entry->d_name),
                            .time_ns = (int64_t)st.st_mtim.tv_sec * SECOND_NS + st.st_mtim.tv_nsec,
                            .bytes = (uint64_t)st.st_size};
        memcpy(one.name, entry->d_name, strlen(entry->d_name) + 1);
        add_saved(list, &one);
    }
    if (dir)
        (void)closedir(dir);
    else
        (void)fd_close(copy);
}

static int by_age(const void *a, const void *b)
{
    const struct saved *x = a, *y = b;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void read_saved(struct saved_list *list, const struct output *o)
{
    struct beneath top = BENEATH_NONE;
    bool there = beneath_open(o->workspace, &top, NULL) == 0;
    for (int i = 0; i < FOLDERS; i++) {
        list->fds[i] = there ? spot_open(&top, folders[i], O_RDONLY | O_DIRECTORY, BENEATH_NO_LINKS,
                                         NULL, NULL)
                             : -1;
        read_folder(list, i, o);
    }
    beneath_close(&top);
    if (list->count > 0)
        qsort(list->all, list->count, sizeof *list->all, by_age);
}

/* --- what goes -------------------------------------------------------------------------------- */

struct retention_result retention_apply(const struct retention *r, const struct output *o)
{
    struct retention_result gone = {0};
    struct saved_list list = {.fds = {-1, -1}};
    read_saved(&list, o);
    const int64_t now_s = clock_real_ms() / 1000;
    size_t left = list.count;
    for (size_t i = 0; i < list.count; i++) {
        const struct saved *one = &list.all[i];
        bool too_many = r->files > 0 && left > r->files;
        bool too_large = r->bytes > 0 && list.bytes > r->bytes;
        bool too_old = r->age_s > 0 && now_s - one->time_ns / SECOND_NS > r->age_s;
        if (one->is_new || !(too_many || too_large || too_old) ||
            spot_remove_at(list.fds[one->folder], one->name, false, NULL) < 0)
            continue;
        left--;
        list.bytes -= one->bytes;
        gone.files++;
        gone.bytes += one->bytes;
    }
    for (int i = 0; i < FOLDERS; i++)
        (void)fd_close(list.fds[i]);
    xfree(list.all);
    return gone;
}
