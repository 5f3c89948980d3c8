/* SPDX-License-Identifier: Apache-2.0 */
#include "files/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/alloc.h"
#include "files/newfile.h"
#include "files/spot.h"

enum {
    MASK = IN_CREATE | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
           IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK,
    BYTES_MAX = 16 << 10,
    FD_PATH_MAX = 40,
};

struct folder {
    int number; /* inotify's */
    char *path;
};

struct watch {
    struct beneath top;
    int fd;
    bool below, ready, gone, limited;
    const struct spot_rules *rules;           /* NULL: everything may be read */
    struct folder folders[WATCH_FOLDERS_MAX]; /* by number */
    size_t n;
    char *waiting[WATCH_FOLDERS_MAX]; /* paths of folders that are to be watched, a ring */
    size_t first_waiting, n_waiting;
    size_t path_bytes; /* of both */
    DIR *dir;          /* of the folder that is being read */
    char dir_path[BENEATH_PATH_MAX];
    char path[BENEATH_PATH_MAX]; /* of the event that is lent */
    char bytes[BYTES_MAX] __attribute__((aligned(__alignof__(struct inotify_event))));
    size_t at, have;
};

static char *keep_change(struct watch *w, const char *path)
{
    w->path_bytes += strlen(path) + 1;
    return xstrdup(path);
}

static void let_go(struct watch *w, char *path)
{
    w->path_bytes -= strlen(path) + 1;
    xfree(path);
}

/* --- the table of folders --------------------------------------------------------------------- */

static size_t find_watched(const struct watch *w, int number)
{
    size_t low = 0, high = w->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (w->folders[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct folder *folder_of(struct watch *w, int number)
{
    size_t i = find_watched(w, number);
    return i < w->n && w->folders[i].number == number ? &w->folders[i] : NULL;
}

static void remember_watched(struct watch *w, int number, const char *path)
{
    struct folder *known = folder_of(w, number);
    if (known) { /* it was moved here before we heard of it */
        let_go(w, known->path);
        known->path = keep_change(w, path);
        return;
    }
    size_t i = find_watched(w, number);
    memmove(w->folders + i + 1, w->folders + i, (w->n - i) * sizeof *w->folders);
    w->folders[i] = (struct folder){number, keep_change(w, path)};
    w->n++;
}

static void forget_watched(struct watch *w, struct folder *f)
{
    let_go(w, f->path);
    size_t i = (size_t)(f - w->folders);
    memmove(f, f + 1, (--w->n - i) * sizeof *f);
}

static bool is_below_watched(const char *path, const char *top)
{
    size_t n = strlen(top);
    return strncmp(path, top, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* A folder has moved away, with what is below it. */
static void forget_below(struct watch *w, const char *path)
{
    for (size_t i = 0; i < w->n;) {
        if (!is_below_watched(w->folders[i].path, path)) {
            i++;
            continue;
        }
        (void)inotify_rm_watch(w->fd, w->folders[i].number);
        forget_watched(w, &w->folders[i]);
    }
}

/* --- new folders ------------------------------------------------------------------------------ */

static bool make_path(char ret[BENEATH_PATH_MAX], const char *folder, const char *name)
{
    int n = snprintf(ret, BENEATH_PATH_MAX, "%s%s%s", folder, folder[0] ? "/" : "", name);
    return n < BENEATH_PATH_MAX;
}

static bool queue_change(struct watch *w, const char *path)
{
    if (w->n_waiting == WATCH_FOLDERS_MAX || w->path_bytes > WATCH_PATHS_MAX)
        return false;
    w->waiting[(w->first_waiting + w->n_waiting++) % WATCH_FOLDERS_MAX] = keep_change(w, path);
    return true;
}

/* inotify wants a name: that of a descriptor is the folder that was opened, wherever it is now. */
static int add_watch(struct watch *w, int folder, const char *path)
{
    char self[FD_PATH_MAX];
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", folder);
    if (w->n == WATCH_FOLDERS_MAX)
        return -ENOSPC;
    int number = inotify_add_watch(w->fd, self, MASK);
    if (number < 0)
        return -errno;
    remember_watched(w, number, path);
    return 0;
}

static int notify_limit(struct watch *w, struct watch_event *ret)
{
    if (w->limited)
        return 0;
    w->limited = true;
    *ret = (struct watch_event){.kind = WATCH_LIMIT, .path = w->path, .folder = true};
    return 1;
}

/* Begins with the next folder that waits. 1: it cannot be watched, and *ret says so. */
static int start_next(struct watch *w, struct watch_event *ret)
{
    char path[BENEATH_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s", w->waiting[w->first_waiting]);
    let_go(w, w->waiting[w->first_waiting]);
    w->first_waiting = (w->first_waiting + 1) % WATCH_FOLDERS_MAX;
    w->n_waiting--;
    drop_fd int fd =
        spot_open(&w->top, path, O_RDONLY | O_DIRECTORY, BENEATH_NO_LINKS, w->rules, NULL);
    if (fd < 0)
        return 0; /* it has gone already, or is not to be read */
    (void)snprintf(w->path, sizeof w->path, "%s", path);
    if (add_watch(w, fd, path) < 0)
        return notify_limit(w, ret);
    (void)snprintf(w->dir_path, sizeof w->dir_path, "%s", path);
    w->dir = fdopendir(fd);
    if (w->dir)
        (void)fd_take(&fd);
    return 0;
}

static int read_names(struct watch *w, struct watch_event *ret)
{
    for (int i = 0; i < WATCH_STEP; i++) {
        const struct dirent *d = readdir(w->dir);
        if (!d) {
            (void)closedir(w->dir);
            w->dir = NULL;
            return 0;
        }
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
            newfile_is_temporary(d->d_name) || !make_path(w->path, w->dir_path, d->d_name))
            continue;
        struct stat st;
        bool folder = d->d_type == DT_DIR ||
                      (d->d_type == DT_UNKNOWN &&
                       spot_stat_at(dirfd(w->dir), d->d_name, &st) == 0 && S_ISDIR(st.st_mode));
        if (folder && w->below && !queue_change(w, w->path) && notify_limit(w, ret))
            return 1;
        if (w->ready) {
            *ret = (struct watch_event){.kind = WATCH_CREATED, .path = w->path, .folder = folder};
            return 1;
        }
    }
    return 0;
}

/* --- events ----------------------------------------------------------------------------------- */

static enum watch_kind change_kind_of(uint32_t mask)
{
    static const struct {
        uint32_t bit;
        enum watch_kind kind;
    } kinds[] = {
        {IN_CREATE, WATCH_CREATED},        {IN_CLOSE_WRITE, WATCH_WRITTEN},
        {IN_ATTRIB, WATCH_ATTRIBUTES},     {IN_DELETE, WATCH_DELETED},
        {IN_MOVED_FROM, WATCH_MOVED_FROM}, {IN_MOVED_TO, WATCH_MOVED_TO},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (mask & kinds[i].bit)
            return kinds[i].kind;
    }
    return WATCH__COUNT;
}

static int notify_watch_gone(struct watch *w, struct watch_event *ret)
{
    w->gone = true;
    *ret = (struct watch_event){.kind = WATCH_GONE, .path = "", .folder = true};
    return 1;
}

static int on_itself(struct watch *w, struct folder *f, const struct inotify_event *event,
                     struct watch_event *ret)
{
    bool over = event->mask & (IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED);
    bool is_top = f->path[0] == '\0';
    if (event->mask & IN_IGNORED)
        forget_watched(w, f);
    return over && is_top ? notify_watch_gone(w, ret)
                          : 0; /* the folder above tells of the others */
}

/* inotify tells of a folder's end when nobody has it open any more; here it is. */
static bool has_vanished(const struct watch *w)
{
    struct stat st;
    return fstat(w->top.root, &st) == 0 && st.st_nlink == 0;
}

static int on_watch_event(struct watch *w, const struct inotify_event *event,
                          struct watch_event *ret)
{
    if (event->mask & IN_Q_OVERFLOW) {
        *ret = (struct watch_event){.kind = WATCH_OVERFLOW, .path = ""};
        return 1;
    }
    struct folder *f = folder_of(w, event->wd);
    if (!f)
        return 0;
    if (event->len == 0)
        return on_itself(w, f, event, ret);
    if (newfile_is_temporary(event->name) || !make_path(w->path, f->path, event->name))
        return 0;
    *ret = (struct watch_event){.kind = change_kind_of(event->mask),
                                .path = w->path,
                                .folder = event->mask & IN_ISDIR,
                                .cookie = event->cookie};
    if (ret->folder && w->below && event->mask & IN_MOVED_FROM)
        forget_below(w, w->path);
    else if (ret->folder && w->below && event->mask & (IN_CREATE | IN_MOVED_TO) &&
             !queue_change(w, w->path))
        return notify_limit(w, ret);
    return ret->kind != WATCH__COUNT;
}

static bool fetch(struct watch *w)
{
    if (w->at < w->have)
        return true;
    ssize_t n = read(w->fd, w->bytes, sizeof w->bytes);
    w->at = 0;
    w->have = n > 0 ? (size_t)n : 0;
    return n > 0;
}

static int next_inotify_event(struct watch *w, struct watch_event *ret)
{
    int r = 0;
    while (r == 0 && fetch(w)) {
        const struct inotify_event *event =
            (const struct inotify_event *)(const void *)(w->bytes + w->at);
        w->at += sizeof *event + event->len;
        r = on_watch_event(w, event, ret);
    }
    return r;
}

bool watch_is_busy(const struct watch *w)
{
    return !w->gone && (!w->ready || w->dir || w->n_waiting > 0 || w->at < w->have);
}

int watch_next(struct watch *w, struct watch_event *ret)
{
    if (w->gone)
        return 0;
    if (w->dir)
        return read_names(w, ret);
    if (w->n_waiting > 0)
        return start_next(w, ret);
    if (!w->ready) {
        w->ready = true;
        *ret = (struct watch_event){.kind = WATCH_READY, .path = "", .folder = true};
        return 1;
    }
    int r = next_inotify_event(w, ret);
    return r == 0 && has_vanished(w) ? notify_watch_gone(w, ret) : r;
}

/* --- opening and closing ---------------------------------------------------------------------- */

int watch_open(int top, bool below, struct watch **ret)
{
    struct watch *w = NEW(struct watch);
    w->top = beneath_of(top);
    w->below = below;
    w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    int r = w->fd < 0 ? -errno : 0;
    drop_fd int folder = -1;
    if (r == 0)
        r = folder = beneath_at(&w->top, "", O_RDONLY | O_DIRECTORY, BENEATH_NO_LINKS);
    if (r >= 0)
        r = add_watch(w, folder, "");
    if (r == 0 && below) {
        w->dir = fdopendir(folder);
        if (w->dir)
            (void)fd_take(&folder);
    }
    if (r < 0) {
        (void)watch_close(w);
        return r;
    }
    *ret = w;
    return 0;
}

void watch_judge(struct watch *w, const struct spot_rules *rules)
{
    w->rules = rules;
}

struct watch *watch_close(struct watch *w)
{
    if (!w)
        return NULL;
    for (size_t i = 0; i < w->n; i++)
        xfree(w->folders[i].path);
    for (; w->n_waiting > 0; w->n_waiting--) {
        xfree(w->waiting[w->first_waiting]);
        w->first_waiting = (w->first_waiting + 1) % WATCH_FOLDERS_MAX;
    }
    if (w->dir)
        (void)closedir(w->dir);
    w->fd = fd_close(w->fd);
    beneath_close(&w->top);
    xfree(w);
    return NULL;
}

int watch_fd(const struct watch *w)
{
    return w->fd;
}

size_t watch_folders(const struct watch *w)
{
    return w->n;
}
