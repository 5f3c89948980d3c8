/* SPDX-License-Identifier: Apache-2.0 */
#include "files/listing.h"

#include <dirent.h>
#include <string.h>

#include "base/alloc.h"
#include "files/newfile.h"

struct listing {
    DIR *dir;
    char *after;
    size_t page, n;
    bool more;
    char *names[LISTING_PAGE_MAX]; /* in order */
};

int listing_open(int folder, const char *after, size_t page, struct listing **ret)
{
    DIR *dir = fdopendir(folder);
    if (!dir) {
        int r = -errno;
        (void)fd_close(folder);
        return r;
    }
    struct listing *l = NEW(struct listing);
    l->dir = dir;
    l->after = xstrdup(after);
    l->page = page < LISTING_PAGE_MAX ? page : LISTING_PAGE_MAX;
    *ret = l;
    return 0;
}

struct listing *listing_close(struct listing *l)
{
    if (!l)
        return NULL;
    for (size_t i = 0; i < l->n; i++)
        xfree(l->names[i]);
    xfree(l->after);
    (void)closedir(l->dir);
    xfree(l);
    return NULL;
}

/* The largest goes when the page is full. */
static void add_to_listing(struct listing *l, const char *name)
{
    size_t low = 0, high = l->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(l->names[middle], name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (l->n == l->page) {
        l->more = true;
        if (low == l->page)
            return;
        xfree(l->names[--l->n]);
    }
    memmove(l->names + low + 1, l->names + low, (l->n - low) * sizeof *l->names);
    l->names[low] = xstrdup(name);
    l->n++;
}

int listing_step(struct listing *l)
{
    for (int i = 0; i < LISTING_STEP; i++) {
        errno = 0;
        const struct dirent *d = readdir(l->dir);
        if (!d)
            return errno ? -errno : 1;
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
            newfile_is_temporary(d->d_name))
            continue;
        if (!l->after || strcmp(d->d_name, l->after) > 0)
            add_to_listing(l, d->d_name);
    }
    return 0;
}

size_t listing_count(const struct listing *l)
{
    return l->n;
}

const char *listing_name(const struct listing *l, size_t i)
{
    return l->names[i];
}

bool listing_has_more(const struct listing *l)
{
    return l->more;
}

int listing_folder(const struct listing *l)
{
    return dirfd(l->dir);
}
