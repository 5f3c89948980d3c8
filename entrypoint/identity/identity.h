/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/identity/identity.h - the user and groups that everything in the container runs as:
 * decided once, at start.
 * Rules:   not started as root: as started, whatever the number (--user).
 *          started as root: PUID/PGID, or the owner of the workspace; a workspace of root's own
 *          where root is no user of the host's root (rootless Docker, Podman): that root, without
 *          capabilities; else the default user, who must then be able to write the workspace.
 * Service: a server that is started as root has a uid of its own beside that one (base/service.h)
 *          where one is available; the log says so.
 * Never:   changes the owner or mode of anything that is the user's.
 * Process: single-threaded, before anything else was started. What touches the file system is done
 *          by a short-lived child that already is the target identity: root follows no link that
 *          someone else may have laid.
 * After:   no capability, PR_SET_NO_NEW_PRIVS, and proof that there is no way back; anything that
 *          fails here ends the start. */
#ifndef ENTRYPOINT_IDENTITY_IDENTITY_H
#define ENTRYPOINT_IDENTITY_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define IDENTITY_VARIABLE "IPYBOX_IDENTITY" /* in which it is handed over */

enum {
    IDENTITY_SERVICE_UID =
        731, /* ipybox-server in the image's passwd; the next where it is taken */
    IDENTITY_GROUPS_MAX = 256,
    IDENTITY_MAP_MAX = 4096, /* bytes of /proc/self/uid_map that are looked at */
    IDENTITY_PATH_MAX = 72,  /* of the runtime directory: sockets in it have 107 bytes in all */
    IDENTITY_SECRET_MAX = 64 * 1024,
};

struct identity_facts { /* all that the decision rests on */
    uid_t euid;
    gid_t egid;
    gid_t groups[IDENTITY_GROUPS_MAX];
    size_t group_count;
    const char *workspace;
    int workspace_errno; /* of stat(2) on it; 0: the next three are valid */
    uid_t workspace_uid;
    gid_t workspace_gid;
    mode_t workspace_mode;
    bool workspace_missing;      /* they are of the directory in which it is to be made */
    bool workspace_open_to_root; /* writable for uid 0 without capabilities */
    const char *puid, *pgid, *default_uid, *default_gid, *umask; /* NULL or "": not given */
    char uid_map[IDENTITY_MAP_MAX];                              /* "": no user namespace */
    uint64_t capabilities;                                       /* effective */
};

enum identity_source {
    IDENTITY_AS_STARTED,
    IDENTITY_ASKED,    /* PUID, PGID */
    IDENTITY_OWNER,    /* of the workspace */
    IDENTITY_ROOTLESS, /* uid 0 that is nobody's root outside */
    IDENTITY_DEFAULT,
};

struct identity {
    uid_t uid;
    gid_t gid;
    uid_t service;                     /* the server's own, real and saved; 0: it has none, */
    const char *lack;                  /* for this reason; or NULL */
    gid_t groups[IDENTITY_GROUPS_MAX]; /* supplementary */
    size_t group_count;
    bool change; /* uid, gid or groups differ from what we have */
    bool set_umask;
    mode_t umask;
    enum identity_source source;
    char notice[240]; /* "" or what the user should know */
};

/* Pure: looks at nothing but the facts. -EINVAL: a variable's value; -EPERM: what is asked for
 * cannot be had; -ENOENT, -ENOTDIR: the workspace. Messages say what to do. */
MUST_CHECK int identity_decide(const struct identity_facts *facts, struct identity *ret,
                               struct err *e);

/* What the source means, for the log: "owner of the workspace". */
const char *identity_source_name(enum identity_source source);

/* Reads the facts; texts are borrowed from the environment. */
MUST_CHECK int identity_gather(const char *workspace, struct identity_facts *ret, struct err *e);

/* The effective ones of this process. */
MUST_CHECK int identity_capabilities(uint64_t *ret, struct err *e);

/* Gather, decide, and set this process up for the child that will be it: umask, secrets out of
 * their files, HOME, USER, LOGNAME, IPYBOX_RUNTIME_DIR; tests that the workspace can be written.
 * Only a server gets a service uid. Warnings go to the log. Does not change who this process is. */
MUST_CHECK int identity_prepare(const char *workspace, bool server, struct identity *ret,
                                struct err *e);

/* In a forked child: becomes the identity, for good, and proves it. */
MUST_CHECK int identity_apply_in_child(const struct identity *identity, struct err *e);

/* An exec makes one uid of several, so who is to have a service uid becomes it behind the exec. In
 * a forked child of `init`, before it: keeps the rights for that alone, and tells the environment
 * what is to be become. */
MUST_CHECK int identity_hand_over(const struct identity *identity, pid_t init, struct err *e);

/* Behind the exec, before anything else: becomes what was handed over, if anything was, as by
 * identity_apply_in_child(), and ends when `init` does. */
MUST_CHECK int identity_take_over(struct err *e);

/* The same for `docker exec`, which makes us root and has no init in between. Outside of an image
 * no workspace is named, and there is no owner to become. */
MUST_CHECK int identity_become_owner(bool with_service, struct err *e);

/* In PID 1, which stays root (if it is) and keeps only what it needs for its work: KILL, because
 * its children are somebody else, and before the child is made SETUID and SETGID for it. With more
 * a flaw in PID 1 would be a flaw of the container's root. Where KILL was not given to the
 * container, PID 1 becomes who its child is: it could not pass a signal on otherwise. */
MUST_CHECK int identity_confine_init(const struct identity *identity, bool child_made,
                                     struct err *e);

/* The private directory for sockets of whoever calls: IPYBOX_RUNTIME_DIR, natively as
 * native_runtime.h says, or in the first usable
 * of the bases a directory named after the real uid. It is made and belongs to the caller; a base
 * may be shared (mode 1777, as the image ships /run/ipybox), must belong to root or the caller, and
 * is no symbolic link. Mode 0700. With `service` 0711, because others connect to what is in it, and
 * with a directory in it for those of our group. `ret` has IDENTITY_PATH_MAX bytes. */
MUST_CHECK int identity_runtime_dir(bool service, char *ret, struct err *e);

/* What only the server enters of it, and who was given a descriptor: a directory without anything
 * for others, with one in it whose own mode lets everybody connect to what is there. */
#define IDENTITY_PRIVATE_DIR "private"
MUST_CHECK int identity_channels_dir(const char *runtime_dir, char *ret, struct err *e);

/* Where in it kernels and other children have their files; the caller frees it with xfree(). */
char *identity_user_dir(bool service, const char *runtime_dir);

/* A directory at `path` of mode 0700 that belongs to the caller: made, or found to be so. */
MUST_CHECK int identity_private_dir(const char *path, struct err *e);

/* The bases, in order; NULL ends the list. */
const char *identity_runtime_base(size_t i);

/* Binds a Unix socket to a path as the identity would: its file is the identity's, mode 0600, or
 * its service uid's, mode 0666. What a server that is gone has left there makes room; -EADDRINUSE
 * when one is there. */
MUST_CHECK int identity_bind(const struct identity *identity, int fd, const char *path,
                             struct err *e);

/* Puts every secret that was given as NAME_FILE into the environment as NAME. */
MUST_CHECK int identity_read_secrets(struct err *e);

#endif
