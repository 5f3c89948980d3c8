/* SPDX-License-Identifier: Apache-2.0 */
#include "output/savefile.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/random.h"
#include "files/spot.h"

enum { NAME_BYTES = 4, TRIES = 16 };

/* --- names ------------------------------------------------------------------------------------ */

static int fail_save(const char *workspace, const char *folder, int code, struct err *e)
{
    if (code == -ELOOP || code == -ENOTDIR)
        return err_set(e, code,
                       "%s/%s: it is a link or a file, and the server saves nothing through links; "
                       "make it a folder",
                       workspace, folder);
    return err_set(e, code, "make a file in %s/%s: %s", workspace, folder, strerror(-code));
}

/* `below` is FOLDER/NAME, by no link. */
static int find_saved(const char *workspace, const char *below, unsigned way, struct spot *ret,
                      struct err *e)
{
    struct beneath top;
    int r = beneath_open(workspace, &top, e);
    if (r < 0)
        return r;
    r = spot_find(&top, below, SPOT_NO_LINKS | way, NULL, SPOT_WRITE, ret);
    beneath_close(&top);
    return r;
}

/* A path that savefile_open() returned. */
static int find_by_path(const char *path, struct spot *ret)
{
    const char *name = strrchr(path, '/'), *folder = name;
    while (folder && folder > path && *--folder != '/')
        ;
    if (!folder || *folder != '/')
        return -EINVAL;
    drop_str char *workspace =
        folder == path ? xstrdup("/") : xstrndup(path, (size_t)(folder - path));
    return find_saved(workspace, folder + 1, SPOT_AS_IT_IS, ret, NULL);
}

/* --- files ------------------------------------------------------------------------------------ */

int savefile_open(const char *workspace, const char *folder, const char *extension, char **ret_path,
                  int *ret_fd, struct err *e)
{
    int r = -EEXIST;
    for (int i = 0; i < TRIES && r == -EEXIST; i++) {
        char hex[2 * NAME_BYTES + 1];
        struct err why = ERR_NONE;
        drop_held struct spot spot = SPOT_NONE;
        random_hex(hex, NAME_BYTES);
        drop_str char *below = xasprintf("%s/%s.%s", folder, hex, extension);
        r = find_saved(workspace, below, SPOT_MAKE_FOLDERS, &spot, &why);
        if (why.code < 0)
            return err_set(e, why.code, "%s", why.msg);
        if (r == 0)
            r = spot_create(&spot, 0666);
        if (r >= 0) {
            *ret_path = xasprintf("%s/%s", workspace, below);
            *ret_fd = r;
            return 0;
        }
    }
    return fail_save(workspace, folder, r, e);
}

int savefile_write(const char *workspace, const char *folder, const char *extension,
                   const char *bytes, size_t n, char **ret_path, struct err *e)
{
    drop_str char *path = NULL;
    drop_fd int fd = -1;
    int r = savefile_open(workspace, folder, extension, &path, &fd, e);
    if (r < 0)
        return r;
    r = fd_write(fd, bytes, n);
    if (r < 0) {
        savefile_remove(path);
        return err_set(e, r, "write %s: %s", path, strerror(-r));
    }
    *ret_path = str_take(&path);
    return 0;
}

int savefile_read(const char *path, struct stat *ret_st)
{
    drop_held struct spot spot = SPOT_NONE;
    int r = find_by_path(path, &spot);
    return r < 0 ? r : spot_open_at(spot.dir, spot.name, O_RDONLY, NULL, ret_st);
}

void savefile_remove(const char *path)
{
    drop_held struct spot spot = SPOT_NONE;
    if (find_by_path(path, &spot) == 0)
        (void)!spot_remove(&spot, false);
}
