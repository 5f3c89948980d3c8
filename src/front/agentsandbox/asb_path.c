/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>

#include "base/alloc.h"
#include "front/agentsandbox/agentsandbox_internal.h"

int asb_path(const char *text, char ret[BENEATH_PATH_MAX], struct err *e)
{
    char room[BENEATH_PATH_MAX];
    size_t n = 0;
    for (const char *at = text; *at;) {
        size_t part = strcspn(at, "/");
        bool nothing = part == 0 || (part == 1 && *at == '.');
        if (part == 2 && memcmp(at, "..", 2) == 0)
            return err_set(e, -EACCES, "Access denied: '%.*s' leads out of the workspace",
                           ASB_SHOWN_MAX, text);
        if (n + part + 2 > sizeof room || part > BENEATH_NAME_MAX)
            return err_set(e, -ENAMETOOLONG, "the path '%.*s' is too long", ASB_SHOWN_MAX, text);
        if (!nothing && n > 0)
            room[n++] = '/';
        if (!nothing) {
            memcpy(room + n, at, part);
            n += part;
        }
        at += part + (at[part] == '/');
    }
    room[n] = '\0';
    memcpy(ret, room, n + 1);
    return 0;
}

int asb_path_of(const struct http_request *r, char ret[BENEATH_PATH_MAX], struct err *e)
{
    const char *text = http_param(r, "path");
    return asb_path(text ? text : "", ret, e);
}

static int asb_refuse(const struct agentsandbox *a, const char *path, struct err *e)
{
    if (!judge_is_ready(a->judge))
        return err_set(e, -EAGAIN, "the workspace is still looked through; try again in a second");
    return err_set(e, -EACCES, "'%.*s': code in the sandbox may not do this, nor may you",
                   ASB_SHOWN_MAX, path);
}

int asb_path_error(const struct agentsandbox *a, struct err *e, int code, const char *path)
{
    if (code == SPOT_REFUSED)
        return asb_refuse(a, path, e);
    switch (-code) {
    case ENOENT:
    case ENOTDIR:
        return err_set(e, -ENOENT, "'%.*s' is not there", ASB_SHOWN_MAX, path);
    case EISDIR:
        return err_set(e, code, "'%.*s' is a folder", ASB_SHOWN_MAX, path);
    case ESTALE:
        return err_set(e, code, "'%.*s': its folder was moved meanwhile; send it again",
                       ASB_SHOWN_MAX, path);
    case EXDEV:
    case ELOOP:
        return err_set(e, -EACCES, "Access denied: '%.*s' leads out of the workspace",
                       ASB_SHOWN_MAX, path);
    default:
        return err_set(e, code, "'%.*s': %s", ASB_SHOWN_MAX, path, strerror(-code));
    }
}

int asb_open_path(const struct agentsandbox *a, const char *path, int flags, int *ret_fd,
                  struct stat *ret_st, struct err *e)
{
    int fd = spot_open(&a->top, path, flags, BENEATH_FOLLOW, a->rules, ret_st);
    if (fd < 0)
        return asb_path_error(a, e, fd, path);
    *ret_fd = fd;
    return 0;
}

void asb_tell(const struct agentsandbox *a, const struct http_request *r,
              const struct audit_event *event)
{
    struct audit_event told = *event;
    told.request_id = http_id(r);
    (void)audit_add(a->config.audit, &told);
}
