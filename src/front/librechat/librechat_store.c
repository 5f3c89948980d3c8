/* SPDX-License-Identifier: Apache-2.0
 *
 * The folders of sessions. What is known of a file is what the folder says, so nothing is lost with
 * the server. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hmac.h"
#include "files/newfile.h"
#include "files/tree.h"
#include "front/librechat/librechat_internal.h"

enum { ENTRIES_MAX = 4000 };

bool librechat_is_id(const char *id)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t n = strlen(id);
    return n > 0 && n <= LIBRECHAT_ID_MAX && strspn(id, letters) == n;
}

void librechat_file_id(const char *name, char ret[LIBRECHAT_FILE_ID + 1])
{
    char hex[HMAC_HEX + 1];
    sha256_hex(name, strlen(name), hex);
    (void)snprintf(ret, LIBRECHAT_FILE_ID + 1, "%.*s", LIBRECHAT_FILE_ID, hex);
}

int librechat_folder(const struct librechat *l, const char *space, const char *id, bool make,
                     struct beneath *ret, struct err *e)
{
    char path[sizeof LIBRECHAT_FOLDER + LIBRECHAT_SPACE_MAX + LIBRECHAT_ID_MAX + 1];
    if (!librechat_is_id(id))
        return err_set(e, -ENOENT, "there is no session %.60s", id);
    (void)snprintf(path, sizeof path, LIBRECHAT_FOLDER "/%s%s", space, id);
    /* Its name is the server's, and it is made whatever settings say; what is in it is judged. */
    drop_fd int held = spot_folder(
        &l->top, path, SPOT_NO_LINKS | (make ? SPOT_MAKE_FOLDERS : SPOT_AS_IT_IS), NULL);
    int fd = held < 0 ? held : spot_open_at(held, ".", O_RDONLY | O_DIRECTORY, NULL, NULL);
    if (fd == -ENOENT)
        return err_set(e, fd, "there is no session %s", id);
    if (fd < 0)
        return err_set(e, fd, "the folder of session %s: %s", id, strerror(-fd));
    *ret = beneath_of(fd);
    return 0;
}

/* --- listing ---------------------------------------------------------------------------------- */

void librechat_files_done(struct librechat_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        xfree(files->items[i].name);
    xfree(files->items);
    *files = (struct librechat_files){0};
}

static void add_stored_file(struct librechat_files *files, const struct tree_entry *entry)
{
    files->items = xrealloc(files->items, (files->n + 1) * sizeof *files->items);
    struct librechat_file *file = &files->items[files->n++];
    *file = (struct librechat_file){.name = xstrdup(entry->path), .st = entry->st};
    librechat_file_id(entry->path, file->id);
}

static bool is_listed(const struct tree_entry *entry)
{
    return entry->name[0] != '.' && strcmp(entry->name, "__pycache__") != 0 &&
           !newfile_is_temporary(entry->name);
}

static int walk_folder(struct tree *tree, struct librechat_files *files)
{
    struct tree_entry entry;
    int r, seen = 0;
    while ((r = tree_next(tree, &entry)) == 1) {
        if (++seen > ENTRIES_MAX || files->n > LIBRECHAT_FILES_MAX)
            return -EOVERFLOW;
        if (entry.leaving || !is_listed(&entry))
            continue;
        if (S_ISDIR(entry.st.st_mode))
            r = tree_enter(tree);
        if (r == SPOT_REFUSED)
            r = 0;
        if (S_ISREG(entry.st.st_mode))
            add_stored_file(files, &entry);
        if (r < 0)
            return r;
    }
    return r;
}

int librechat_list(const struct librechat *l, const struct beneath *folder,
                   struct librechat_files *ret, struct err *e)
{
    struct tree *tree = NULL;
    int fd = spot_open_at(folder->root, ".", O_RDONLY | O_DIRECTORY, l->rules, NULL);
    int r = fd < 0 ? fd : tree_open(fd, &tree);
    if (r == 0) {
        tree_judge(tree, l->rules);
        r = walk_folder(tree, ret);
    }
    if (r == SPOT_REFUSED)
        return librechat_refuse(l, "the session's folder", e);
    (void)tree_close(tree);
    if (r == -EOVERFLOW)
        return err_set(e, r, "the session has more than %d files, or too many folders",
                       LIBRECHAT_FILES_MAX);
    return r < 0 ? err_set(e, r, "the files of the session: %s", strerror(-r)) : 0;
}

const struct librechat_file *librechat_find(const struct librechat_files *files, const char *id)
{
    for (size_t i = 0; i < files->n; i++)
        if (strcmp(files->items[i].id, id) == 0)
            return &files->items[i];
    return NULL;
}

const struct librechat_file *librechat_find_name(const struct librechat_files *files,
                                                 const char *name)
{
    for (size_t i = 0; i < files->n; i++)
        if (strcmp(files->items[i].name, name) == 0)
            return &files->items[i];
    return NULL;
}

bool librechat_same(const struct librechat_file *a, const struct librechat_file *b)
{
    return a->st.st_ino == b->st.st_ino && a->st.st_size == b->st.st_size &&
           a->st.st_mtim.tv_sec == b->st.st_mtim.tv_sec &&
           a->st.st_mtim.tv_nsec == b->st.st_mtim.tv_nsec &&
           a->st.st_ctim.tv_sec == b->st.st_ctim.tv_sec &&
           a->st.st_ctim.tv_nsec == b->st.st_ctim.tv_nsec;
}
