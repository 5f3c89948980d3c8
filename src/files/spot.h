/* SPDX-License-Identifier: Apache-2.0
 *
 * files/spot.h - the one way for a client to a file: a folder that is held, a name in it, and the
 * rules that say what may be done there.
 * Why:     code in a cell renames folders and swaps them for links at any moment. Who judges a path
 *          and then walks it again acts where nobody has judged. So a path is walked once; the
 *          rules are asked of what came out of it, by its real name; the act goes through the same
 *          descriptor, and a change asks once more just before it.
 * Holds:   a folder that code may move leads, wherever it is moved, to where code may move it. So
 *          what the rules allow of a folder that is held stays allowed.
 * Rules:   a struct spot_rules, or NULL: everything is allowed. Whose they are: session/kernels/
 *          judge.h.
 * Errors:  negative errno. SPOT_REFUSED: the rules. -ESTALE: the folder was moved meanwhile. */
#ifndef FILES_SPOT_H
#define FILES_SPOT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"
#include "files/beneath.h"
#include "files/newfile.h"

#define SPOT_REFUSED (-EKEYREJECTED) /* no call on a file has this errno */

enum spot_act {
    SPOT_READ,
    SPOT_WRITE,  /* or make */
    SPOT_REMOVE, /* or move away; what is protected below it stays */
    SPOT_EMPTY,  /* what is in a folder that may be removed goes */
};

struct spot_rules {
    /* path: real and absolute; it need not exist. */
    bool (*allows)(void *ctx, enum spot_act act, const char *path);
    bool (*allows_move)(void *ctx, const char *from, const char *to, bool is_dir);
    /* Content that is hidden by whatever name; NULL: none is. */
    bool (*hides)(void *ctx, const struct stat *st);
    void *ctx;
};

struct spot { /* SPOT_NONE: none */
    const struct spot_rules *rules;
    int dir;                         /* owned: the folder that is held */
    char *folder;                    /* its real name when it was opened; owned */
    char name[BENEATH_NAME_MAX + 1]; /* in it; "": the folder itself */
};
#define SPOT_NONE (struct spot){.dir = -1}

enum spot_way {
    SPOT_AS_IT_IS = 0,
    SPOT_MAKE_FOLDERS = 1, /* those that are missing on the way */
    SPOT_NO_LINKS = 2,     /* on the way */
};

/* The place of a clean path that is not "", if this may be done there. Of what is missing on the
 * way the rules are asked, too: -ENOENT is only told of what is allowed. */
MUST_CHECK int spot_find(const struct beneath *top, const char *path, unsigned way,
                         const struct spot_rules *rules, enum spot_act act, struct spot *ret);
/* A folder (O_PATH) for things to be made in it; it is made with SPOT_MAKE_FOLDERS. */
MUST_CHECK int spot_folder(const struct beneath *top, const char *path, unsigned way,
                           const struct spot_rules *rules);
void spot_close(struct spot *p);
struct spot spot_take(struct spot *p);
#define drop_held __attribute__((cleanup(spot_close)))

/* By what is held, now. */
MUST_CHECK int spot_may(const struct spot *p, enum spot_act act);
/* What is there, should it be a link: itself. */
MUST_CHECK int spot_stat(const struct spot *p, struct stat *ret);

/* Opens what may be read, wherever the path leads; flags as of beneath_at(), ret_st may be NULL. */
MUST_CHECK int spot_open(const struct beneath *top, const char *path, int flags,
                         enum beneath_links links, const struct spot_rules *rules,
                         struct stat *ret_st);
/* The same of a name in a folder that is open; no link is followed. */
MUST_CHECK int spot_open_at(int dir, const char *name, int flags, const struct spot_rules *rules,
                            struct stat *ret_st);
/* What a name in an open folder is, should it be a link: itself; and the link's text, which is cut
 * to fit. Its length, or -EINVAL: it is no link. */
MUST_CHECK int spot_stat_at(int dir, const char *name, struct stat *ret);
MUST_CHECK ssize_t spot_link_text(int dir, const char *name, char *ret, size_t size);
/* Its extended attributes as llistxattr(2) and lgetxattr(2) have them. */
MUST_CHECK ssize_t spot_attributes(int dir, const char *name, char *ret, size_t size);
MUST_CHECK ssize_t spot_attribute(int dir, const char *name, const char *attribute, char *ret,
                                  size_t size);
/* Something open: may it be read? */
MUST_CHECK int spot_admits(int fd, const struct spot_rules *rules);

/* --- changes ---------------------------------------------------------------------------------- */

/* A new file for this place; the folder is held by it as well. */
MUST_CHECK int spot_new_file(const struct spot *p, mode_t mode, struct newfile *ret);
/* It takes the name. f is dropped in any case. */
MUST_CHECK int spot_commit(const struct spot *p, struct newfile *f, enum newfile_how how,
                           bool sync);
/* The same without waiting for the whole of it: open for writing. -EEXIST: the name is taken. */
MUST_CHECK int spot_create(const struct spot *p, mode_t mode);
MUST_CHECK int spot_make_folder(const struct spot *p, mode_t mode);
MUST_CHECK int spot_symlink(const struct spot *p, const char *target);
/* Another name for the file at `from`, which must be one that may be read and written. */
MUST_CHECK int spot_hardlink(const struct spot *p, const struct spot *from);
/* A file, a link; folder: an empty folder. */
MUST_CHECK int spot_remove(const struct spot *p, bool folder);
/* The folder that is there, for tree_open(); what is in it may go. */
MUST_CHECK int spot_open_tree(const struct spot *p);
MUST_CHECK int spot_move(const struct spot *from, const struct spot *to, bool replaces);
/* What is in an open folder that goes: a name of it does; a folder moves to another. */
MUST_CHECK int spot_remove_at(int dir, const char *name, bool folder,
                              const struct spot_rules *rules);
MUST_CHECK int spot_move_at(int dir, const char *name, int to_dir, const char *to_name,
                            const struct spot_rules *rules);

#endif
