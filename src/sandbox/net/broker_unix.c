/* SPDX-License-Identifier: Apache-2.0
 *
 * Unix sockets: a name is resolved to a file, the file's canonical name is judged, and that very
 * file is connected to. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/net/net_internal.h"

enum { SOCKET_MODE = 0777, NAME_AT = offsetof(struct sockaddr_un, sun_path) };

#define ABSTRACT "an abstract Unix socket"

/* The path of an address, which need not end with a 0; false: it has none (unnamed, abstract). */
static bool path_of(const struct sockaddr_storage *raw, int len, char path[static PATH_MAX])
{
    size_t n = len > NAME_AT ? (size_t)(len - NAME_AT) : 0;
    const char *name = (const char *)raw + NAME_AT;
    if (raw->ss_family != AF_UNIX || n == 0 || name[0] == '\0')
        return false;
    memcpy(path, name, n);
    path[n] = '\0';
    return true;
}

static int abstract_allowed(struct notice *notice, const struct sockaddr_storage *raw, int len)
{
    if (raw->ss_family != AF_UNIX || len > (int)sizeof(struct sockaddr_un) || len <= NAME_AT)
        return -EINVAL;
    if (policy_all_unix(notice_policy(notice)))
        return 0;
    notice_refuse(notice, ABSTRACT);
    return -EPERM;
}

int unix_find(struct notice *notice, const struct sockaddr_storage *to, int len,
              struct unix_peer *ret)
{
    char path[PATH_MAX], full[PATH_MAX];
    struct unix_peer peer = {.fd = -1, .len = (socklen_t)len};
    int r;
    if (!path_of(to, len, path)) {
        r = abstract_allowed(notice, to, len);
        if (r == 0) {
            memcpy(&peer.address, to, (size_t)len);
            *ret = peer;
        }
        return r;
    }
    drop_fd int fd = path_look_at(notice, AT_FDCWD, path, 0);
    r = fd < 0 ? fd : path_canonical(fd, full);
    if (r != 0)
        return r < 0 ? r : -ECONNREFUSED; /* nothing that has a name */
    if (!policy_may_connect_unix(notice_policy(notice), full)) {
        notice_refuse(notice, full);
        return -EPERM;
    }
    peer.address.sun_family = AF_UNIX;
    (void)snprintf(peer.address.sun_path, sizeof peer.address.sun_path, "%s", fd_path(fd).text);
    peer.len = sizeof peer.address;
    peer.fd = fd_take(&fd);
    *ret = peer;
    return 0;
}

/* --- bind ------------------------------------------------------------------------------------- */

/* The broker's umask is 0; the mode of the socket itself becomes that of its name. */
static int bind_in(struct notice *notice, int fd, const struct place *place)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int n =
        snprintf(to.sun_path, sizeof to.sun_path, "%s/%s", fd_path(place->dir).text, place->name);
    if (n >= (int)sizeof to.sun_path)
        return -ENAMETOOLONG;
    if (fchmod(fd, SOCKET_MODE & ~target_umask(notice)) < 0)
        return -errno;
    return bind(fd, (const struct sockaddr *)&to, sizeof to) == 0 ? 0 : -errno;
}

/* Where the ruleset grants new files, the kernel binds by the caller's own name, which
 * getsockname() then tells; what it finds instead when the name was changed meanwhile, it checks by
 * the same rules. A socket of the internet put in its place gains nothing: on_listen() looks. */
static void bind_path(struct notice *notice, int fd, const char *path)
{
    struct place place;
    const struct policy *policy = notice_policy(notice);
    int r = place_find(notice, AT_FDCWD, path, &place);
    if (r < 0) {
        notice->error = -r;
        return;
    }
    if (!policy_may_write(policy, place.full) || !policy_may_connect_unix(policy, place.full)) {
        notice_refuse(notice, place.full);
    } else if (ruleset_grants_write(notice->broker->config.ruleset, place.full)) {
        notice->go_on = true;
    } else {
        r = bind_in(notice, fd, &place);
        notice->error = -r;
    }
    place_done(&place);
}

void unix_bind(struct notice *notice, int fd, const struct sockaddr_storage *to, int len)
{
    char path[PATH_MAX];
    if (path_of(to, len, path)) {
        bind_path(notice, fd, path);
        return;
    }
    bool autobind =
        to->ss_family == AF_UNIX && len == NAME_AT; /* an abstract name of the kernel's */
    int r =
        autobind && policy_all_unix(notice_policy(notice)) ? 0 : abstract_allowed(notice, to, len);
    if (r == 0 && bind(fd, (const struct sockaddr *)to, (socklen_t)len) < 0)
        r = -errno;
    notice->error = -r;
}
