/* SPDX-License-Identifier: Apache-2.0 */
#include "files/untar.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "files/beneath.h"
#include "files/newfile.h"
#include "files/spot.h"
#include "wire/tar.h"

enum { FOLDER_MODE = 0700 }; /* at least: what follows goes into it */

struct untar {
    const struct spot_rules *rules; /* NULL: everything is allowed */
    struct beneath top;
    struct tar_reader reader;
    struct untar_counts counts;
    struct newfile file; /* of the member that is coming */
    struct spot place;   /* its own */
    char path[BENEATH_PATH_MAX];
    int64_t mtime;
};

struct untar *untar_open(int folder)
{
    struct untar *u = NEW(struct untar);
    u->top = beneath_of(folder);
    u->file = NEWFILE_NONE;
    u->place = SPOT_NONE;
    tar_reader_init(&u->reader);
    return u;
}

struct untar *untar_close(struct untar *u)
{
    if (!u)
        return NULL;
    newfile_drop(&u->file);
    spot_close(&u->place);
    tar_reader_done(&u->reader);
    beneath_close(&u->top);
    xfree(u);
    return NULL;
}

const struct untar_counts *untar_so_far(const struct untar *u)
{
    return &u->counts;
}

/* --- names ------------------------------------------------------------------------------------ */

static int refuse_member(const char *path, struct err *e, const char *why)
{
    return err_set(e, -EBADMSG, "%.200s: %s", path, why);
}

static bool is_member_name(const char *text, size_t n, const char *name)
{
    return strlen(name) == n && memcmp(text, name, n) == 0;
}

/* "./a//b/" is "a/b"; "./" is "". */
static int tidy(const char *path, char ret[BENEATH_PATH_MAX], struct err *e)
{
    size_t length = 0;
    if (path[0] == '/')
        return refuse_member(path, e, "an absolute path; members are relative to the folder");
    for (const char *at = path; *at;) {
        size_t n = strcspn(at, "/");
        if (is_member_name(at, n, ".."))
            return refuse_member(path, e, "a path with .. in it");
        if (n > BENEATH_NAME_MAX || length + n + 2 > BENEATH_PATH_MAX)
            return refuse_member(path, e, "a name that is too long");
        if (n > 0 && !is_member_name(at, n, ".")) {
            if (length > 0)
                ret[length++] = '/';
            memcpy(ret + length, at, n);
            length += n;
        }
        at += n + strspn(at + n, "/");
    }
    ret[length] = '\0';
    return 0;
}

/* path: tidy. As untar.h says under Links. */
static bool link_stays_inside(const char *path, const char *text)
{
    size_t depth = 0;
    bool named = false;
    for (const char *at = path; (at = strchr(at, '/')); at++)
        depth++;
    if (text[0] == '\0' || text[0] == '/')
        return false;
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "/");
        if (is_member_name(at, n, "..")) {
            if (named || depth-- == 0)
                return false;
        } else if (n > 0 && !is_member_name(at, n, ".")) {
            named = true;
        }
        at += n + strspn(at + n, "/");
    }
    return true;
}

/* --- members ---------------------------------------------------------------------------------- */

static int has_untar_failed(const char *path, int code, struct err *e)
{
    static const struct {
        int code;
        const char *text;
    } texts[] = {
        {EISDIR, "a folder is there; delete it first"},
        {EEXIST, "something that is not a folder is there; delete it first"},
        {ENOTDIR, "something that is not a folder is on the way; delete it first"},
        {ELOOP, "a symbolic link is on the way; delete it first"},
        {ENXIO, "no file to link to"},
        {ENOSPC, "no space is left"},
        {EDQUOT, "no space is left (quota)"},
        {EFBIG, "the file is larger than is allowed here"},
        {ESTALE, "its folder was moved meanwhile"},
    };
    if (code == SPOT_REFUSED)
        return err_set(e, -EACCES, "%.200s: the sender may not write this", path);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i].code == -code)
            return err_set(e, code, "%.200s: %s", path, texts[i].text);
    }
    return err_set(e, code, "%.200s: %s", path, strerror(-code));
}

static int begin_file(struct untar *u, const struct tar_member *m)
{
    u->mtime = m->mtime;
    return spot_new_file(&u->place, m->mode & 0777, &u->file);
}

static int make_member_folder(struct untar *u, const struct tar_member *m)
{
    struct stat st;
    int r = spot_make_folder(&u->place, (m->mode & 0777) | FOLDER_MODE);
    if (r == -EEXIST && spot_stat(&u->place, &st) == 0 && S_ISDIR(st.st_mode))
        r = 0;
    u->counts.folders += r == 0;
    return r;
}

static int make_hardlink(struct untar *u, const char *target, struct err *e)
{
    drop_held struct spot from = SPOT_NONE;
    int r = spot_find(&u->top, target, SPOT_NO_LINKS, u->rules, SPOT_WRITE, &from);
    if (r == 0)
        r = spot_hardlink(&u->place, &from);
    if (r == SPOT_REFUSED)
        return has_untar_failed(target, r, e);
    return r;
}

static int put_member(struct untar *u, const struct tar_member *m, struct err *e)
{
    char target[BENEATH_PATH_MAX];
    switch (m->type) {
    case TAR_FILE:
        return begin_file(u, m);
    case TAR_FOLDER:
        return make_member_folder(u, m);
    case TAR_SYMLINK:
        if (!link_stays_inside(u->path, m->link))
            return refuse_member(m->path, e, "a symbolic link that could lead out of the folder");
        u->counts.links++;
        return spot_symlink(&u->place, m->link);
    case TAR_HARDLINK:
        if (tidy(m->link, target, NULL) < 0 || target[0] == '\0')
            return refuse_member(m->path, e, "a hard link that leads out of the folder");
        u->counts.links++;
        return make_hardlink(u, target, e);
    case TAR_FIFO:
    case TAR_DEVICE:
        break;
    }
    return refuse_member(m->path, e, "a FIFO or a device; only files, folders and links are taken");
}

static int begin_untar_member(struct untar *u, const struct tar_member *m, struct err *e)
{
    struct err why = ERR_NONE;
    if (u->reader.members > UNTAR_MEMBERS_MAX)
        return refuse_member(m->path, e, "one member more than is allowed");
    int r = tidy(m->path, u->path, e);
    if (r < 0)
        return r;
    if (u->path[0] == '\0')
        return m->type == TAR_FOLDER ? 0 : refuse_member(m->path, e, "a member without a name");
    spot_close(&u->place);
    r = spot_find(&u->top, u->path, SPOT_MAKE_FOLDERS | SPOT_NO_LINKS, u->rules, SPOT_WRITE,
                  &u->place);
    if (r == 0)
        r = put_member(u, m, &why);
    if (r < 0 && why.code < 0 && e)
        *e = why;
    return r < 0 && why.code == 0 ? has_untar_failed(u->path, r, e) : r;
}

static int end_member(struct untar *u)
{
    if (u->file.fd < 0)
        return 0;
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = u->mtime}};
    u->counts.files++;
    u->counts.bytes += u->file.size;
    (void)futimens(u->file.fd, times);
    return spot_commit(&u->place, &u->file, NEWFILE_REPLACE, false);
}

static int take_member_bytes(struct untar *u, const struct tar_event *event, struct err *e)
{
    int r = 0;
    switch (event->what) {
    case TAR_MEMBER:
        return begin_untar_member(u, &event->member, e);
    case TAR_BYTES:
        r = newfile_write(&u->file, event->bytes, event->n);
        break;
    case TAR_MEMBER_END:
        r = end_member(u);
        break;
    case TAR_END:
        break;
    }
    return r < 0 ? has_untar_failed(u->path, r, e) : 0;
}

void untar_judge(struct untar *u, const struct spot_rules *rules)
{
    u->rules = rules;
}

int untar_feed(struct untar *u, const char *bytes, size_t n, struct err *e)
{
    struct tar_event event;
    int r;
    while ((r = tar_next(&u->reader, &bytes, &n, &event, e)) > 0) {
        r = take_member_bytes(u, &event, e);
        if (r < 0)
            return r;
    }
    return r;
}

int untar_end(struct untar *u, struct untar_counts *ret, struct err *e)
{
    int r = tar_ended(&u->reader, e);
    if (r == 0)
        *ret = u->counts;
    return r;
}
