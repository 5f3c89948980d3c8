/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts are read and directories made; what only the identity itself can find out, by a child. */
#include "entrypoint/identity/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/service.h"
#include "entrypoint/sandbox/secret_files.h"

#define ROOM "identity"
#define USER_NAME "ipybox"
#define USER_HOME "/home/ipybox"

/* ---- what only the target identity can find out: done in a child that is it ---- */

/* Really tries: modes, ACLs, read-only mounts and network file systems each have their say. */
static int try_to_write(const char *dir)
{
    drop_fd int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return errno;
    drop_fd int unnamed = openat(at, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (unnamed >= 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT)
        return errno;
    char name[64];
    (void)snprintf(name, sizeof name, ".ipybox-can-write-%d", (int)getpid());
    drop_fd int named = openat(at, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (named < 0)
        return errno;
    return unlinkat(at, name, 0) < 0 ? errno : 0;
}

struct prepared_folder { /* what is looked at */
    const char *workspace;
    bool missing;            /* the workspace is to be made */
    const char *runtime_dir; /* of the service uid, and made; NULL: there is no such uid */
};

struct findings { /* small enough for one write to a pipe */
    int workspace_errno;
    char runtime_dir[IDENTITY_PATH_MAX];
    char home[IDENTITY_PATH_MAX + 16];
    struct err failure;
};

/* With all directories on the way; 0 or an errno. */
static int make_missing_workspace(const char *path)
{
    drop_str char *made = xstrdup(path);
    for (char *slash = made; slash; *slash = '/') {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = '\0';
        if (mkdir(made, 0777) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
            return errno;
        if (!slash)
            break;
    }
    return may_access(path, F_OK) ? 0 : errno;
}

static void look_at_workspace(const struct prepared_folder *ground, struct findings *ret)
{
    ret->workspace_errno = try_to_write(ground->workspace);
}

static void make_service_dir(const struct prepared_folder *ground, struct findings *ret)
{
    (void)ground;
    if (!service_possible())
        (void)err_set(&ret->failure, -ENOSYS, "setfsuid(2) is missing, as in gVisor");
    else if (identity_runtime_dir(true, ret->runtime_dir, &ret->failure) < 0)
        ret->runtime_dir[0] = '\0'; /* the failure says the rest */
}

static int find_runtime_dir(const struct prepared_folder *ground, struct findings *ret)
{
    if (!ground->runtime_dir)
        return identity_runtime_dir(false, ret->runtime_dir, &ret->failure);
    drop_str char *user = identity_user_dir(true, ground->runtime_dir);
    int code = try_to_write(user);
    (void)snprintf(ret->runtime_dir, sizeof ret->runtime_dir, "%s", ground->runtime_dir);
    return code ? err_set(&ret->failure, -code, "%s: %s", user, strerror(code)) : 0;
}

/* Where all have one uid, the runtime directory is hidden from code, which needs its home: beside
 * it then, unless nobody can make a directory there. */
static void find_other_home(bool service, struct findings *ret)
{
    struct err beside = ERR_NONE;
    drop_str char *user = identity_user_dir(service, ret->runtime_dir);
    (void)snprintf(ret->home, sizeof ret->home, "%s-home", ret->runtime_dir);
    if (!service && identity_private_dir(ret->home, &beside) == 0)
        return;
    (void)snprintf(ret->home, sizeof ret->home, "%s/home", user);
    if (identity_private_dir(ret->home, &ret->failure) < 0)
        ret->home[0] = '\0'; /* the failure says the rest */
}

static void find_out_identity(const struct prepared_folder *ground, struct findings *ret)
{
    ret->workspace_errno = ground->missing ? make_missing_workspace(ground->workspace) : 0;
    if (ret->workspace_errno == 0)
        ret->workspace_errno = try_to_write(ground->workspace);
    if (find_runtime_dir(ground, ret) < 0)
        return;
    (void)snprintf(ret->home, sizeof ret->home, "%s", USER_HOME);
    if (may_access(ret->home, W_OK | X_OK))
        return;
    find_other_home(ground->runtime_dir != NULL, ret);
}

/* Forks a child that becomes the user of `identity` and looks. */
static int ask_child(const struct identity *identity,
                     void (*look)(const struct prepared_folder *ground, struct findings *ret),
                     const struct prepared_folder *ground, struct findings *ret, struct err *e)
{
    struct identity who = *identity;
    who.service = 0;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set(e, -errno, "pipe2: %s", strerror(errno));
    drop_fd int in = ends[0], out = ends[1];
    pid_t pid = fork();
    if (pid < 0)
        return err_set(e, -errno, "fork: %s", strerror(errno));
    if (pid == 0) {
        struct findings found = {.failure = ERR_NONE};
        if (identity_apply_in_child(&who, &found.failure) < 0)
            found.workspace_errno = EPERM;
        else
            look(ground, &found);
        _exit(write(out, &found, sizeof found) == (ssize_t)sizeof found ? 0 : 1);
    }
    out = fd_close(out);
    ssize_t n;
    while ((n = read(in, ret, sizeof *ret)) < 0 && errno == EINTR)
        ;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (n != (ssize_t)sizeof *ret)
        return err_set(e, -EPIPE, "the process that looks at the workspace died");
    return 0;
}

static int bind_to(int fd, const char *path, mode_t mask)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof to.sun_path)
        return ENAMETOOLONG;
    (void)snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    drop_fd int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connect(probe, (const struct sockaddr *)&to, sizeof to) == 0 || errno == EAGAIN)
        return EADDRINUSE;
    (void)unlink(path);
    (void)umask(mask);
    return bind(fd, (const struct sockaddr *)&to, sizeof to) < 0 ? errno : 0;
}

/* Whose the server's directory and sockets are. */
static struct identity owner_of_sockets(const struct identity *identity)
{
    struct identity who = *identity;
    who.uid = identity->service ? identity->service : identity->uid;
    who.service = 0;
    return who;
}

int identity_bind(const struct identity *identity, int fd, const char *path, struct err *e)
{
    int status;
    pid_t pid = fork();
    if (pid < 0)
        return err_set(e, -errno, "fork: %s", strerror(errno));
    if (pid == 0) {
        const struct identity who = owner_of_sockets(identity);
        const mode_t mask = identity->service ? 0111 : 0177;
        _exit(identity_apply_in_child(&who, NULL) < 0 ? EPERM : bind_to(fd, path, mask));
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : EPIPE;
    return code == 0 ? 0 : err_set(e, -code, "%s: %s", path, strerror(code));
}

/* ---- facts ---- */

static void read_uid_map(char *ret)
{
    drop_fd int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, ret, IDENTITY_MAP_MAX - 1);
    ret[n > 0 ? n : 0] = '\0';
}

static int gather_groups(struct identity_facts *ret, struct err *e)
{
    int n = getgroups(IDENTITY_GROUPS_MAX, ret->groups);
    if (n < 0)
        return err_set(e, -errno, "more than %d supplementary groups", IDENTITY_GROUPS_MAX);
    ret->group_count = (size_t)n;
    return 0;
}

/* The nearest directory above a path that is there. */
static bool stat_above(const char *path, struct stat *ret)
{
    drop_str char *above = xstrdup(path);
    for (char *slash; (slash = strrchr(above, '/')) && slash != above;) {
        *slash = '\0';
        if (stat(above, ret) == 0)
            return S_ISDIR(ret->st_mode);
        if (errno != ENOENT)
            return false;
    }
    return false;
}

static void gather_workspace(struct identity_facts *ret)
{
    struct stat st;
    if (stat(ret->workspace, &st) < 0) {
        ret->workspace_errno = errno;
        ret->workspace_missing =
            errno == ENOENT && ret->euid == 0 && stat_above(ret->workspace, &st);
        if (!ret->workspace_missing)
            return;
        ret->workspace_errno = 0;
    }
    ret->workspace_uid = st.st_uid;
    ret->workspace_gid = st.st_gid;
    ret->workspace_mode = st.st_mode;
    if (ret->euid != 0 || st.st_uid != 0 || ret->workspace_missing)
        return;
    const struct identity root = {.uid = 0, .gid = ret->egid};
    const struct prepared_folder ground = {.workspace = ret->workspace};
    struct findings found;
    ret->workspace_open_to_root = ask_child(&root, look_at_workspace, &ground, &found, NULL) == 0 &&
                                  found.workspace_errno == 0;
}

int identity_gather(const char *workspace, struct identity_facts *ret, struct err *e)
{
    *ret = (struct identity_facts){
        .euid = geteuid(),
        .egid = getegid(),
        .workspace = workspace,
        .puid = getenv("PUID"),
        .pgid = getenv("PGID"),
        .default_uid = getenv("IPYBOX_DEFAULT_UID"),
        .default_gid = getenv("IPYBOX_DEFAULT_GID"),
        .umask = getenv("UMASK"),
    };
    int r = identity_capabilities(&ret->capabilities, e);
    if (r < 0)
        return r;
    read_uid_map(ret->uid_map);
    r = gather_groups(ret, e);
    if (r < 0)
        return r;
    gather_workspace(ret);
    return 0;
}

/* ---- all of it ---- */

/* The name in the image's /etc/passwd, or our own for a number that has none. */
static void find_user_name(uid_t uid, char *ret, size_t size)
{
    (void)snprintf(ret, size, "%s", USER_NAME);
    FILE *f = fopen("/etc/passwd", "re");
    if (!f)
        return;
    for (const struct passwd *pw; (pw = fgetpwent(f));) {
        if (pw->pw_uid == uid) {
            (void)snprintf(ret, size, "%s", pw->pw_name);
            break;
        }
    }
    (void)fclose(f);
}

static int set_environment(const struct identity *id, const struct findings *found, struct err *e)
{
    char name[64];
    find_user_name(id->uid, name, sizeof name);
    if (setenv("HOME", found->home, 1) < 0 || setenv("USER", name, 1) < 0 ||
        setenv("LOGNAME", name, 1) < 0 || setenv("IPYBOX_RUNTIME_DIR", found->runtime_dir, 1) < 0)
        return err_set(e, -errno, "setenv: %s", strerror(errno));
    return 0;
}

static int judge_workspace(const struct identity_facts *f, const struct identity *id, int code,
                           struct err *e)
{
    if (code == 0)
        return 0;
    if (f->workspace_missing)
        return err_set(e, -code,
                       "workspace %s: it is not there and cannot be made by uid %u gid %u (%s); "
                       "mount a directory there (-v DIR:%s)",
                       f->workspace, id->uid, id->gid, strerror(code), f->workspace);
    if (code == EROFS || id->source == IDENTITY_AS_STARTED) {
        log_warning(ROOM, "workspace %s cannot be written by uid %u gid %u: %s", f->workspace,
                    id->uid, id->gid, strerror(code));
        return 0;
    }
    return err_set(e, -code,
                   "workspace %s (owner %u:%u, mode %04o) cannot be written by uid %u gid %u (%s): "
                   "%s; on the host, `chown %u:%u` its directory, or start with -e PUID=UID or "
                   "--user UID:GID of who owns it",
                   f->workspace, f->workspace_uid, f->workspace_gid, f->workspace_mode & 07777,
                   id->uid, id->gid, identity_source_name(id->source), strerror(code), id->uid,
                   id->gid);
}

/* As the service uid its directory; then, as the user, what there is. */
static int prepare_service(const struct identity *id, const struct identity_facts *facts,
                           struct findings *ret, struct err *e)
{
    const struct identity own = owner_of_sockets(id);
    const struct prepared_folder nothing = {0};
    struct findings made;
    int r = ask_child(&own, make_service_dir, &nothing, &made, e);
    if (r == 0 && made.failure.code)
        r = err_set(e, made.failure.code, "%s", made.failure.msg);
    if (r < 0)
        return r;
    const struct prepared_folder ground = {facts->workspace, facts->workspace_missing,
                                           made.runtime_dir};
    r = ask_child(id, find_out_identity, &ground, ret, e);
    return r == 0 && ret->failure.code ? err_set(e, ret->failure.code, "%s", ret->failure.msg) : r;
}

static int prepare_user(const struct identity *id, const struct identity_facts *facts,
                        struct findings *ret, struct err *e)
{
    const struct prepared_folder ground = {.workspace = facts->workspace,
                                           .missing = facts->workspace_missing};
    int r = ask_child(id, find_out_identity, &ground, ret, e);
    if (r == 0 && ret->failure.code)
        r = err_set(e, ret->failure.code, "as uid %u gid %u: %s", id->uid, id->gid,
                    ret->failure.msg);
    return r;
}

/* With a service uid; else without one, and with the reason. */
static int prepare_folder(struct identity *id, const struct identity_facts *facts,
                          struct findings *ret, struct err *e)
{
    struct err why = ERR_NONE;
    if (id->service && prepare_service(id, facts, ret, &why) == 0)
        return 0;
    if (id->service)
        log_warning(ROOM, "the server has no uid of its own: as uid %u: %s", id->service, why.msg);
    id->service = 0;
    return prepare_user(id, facts, ret, e);
}

static void notify_preparation(const struct identity *id)
{
    if (id->service)
        log_info(ROOM, "the server has uid %u for itself; kernels have uid %u", id->service,
                 id->uid);
    else
        log_info(ROOM, "the server has the uid of kernels, %u%s%s", id->uid, id->lack ? ": " : "",
                 id->lack ? id->lack : "");
}

int identity_prepare(const char *workspace, bool server, struct identity *ret, struct err *e)
{
    struct identity_facts facts;
    struct findings found;
    (void)unsetenv(IDENTITY_VARIABLE);
    (void)unsetenv(SECRET_FILES_VARIABLE);
    int r = identity_gather(workspace, &facts, e);
    if (r == 0)
        r = identity_decide(&facts, ret, e);
    if (r == 0)
        r = identity_read_secrets(e);
    if (r < 0)
        return r;
    if (!server)
        ret->service = 0;
    if (*ret->notice)
        log_warning(ROOM, "%s", ret->notice);
    if (ret->set_umask)
        (void)umask(ret->umask);
    r = prepare_folder(ret, &facts, &found, e);
    if (r == 0)
        r = judge_workspace(&facts, ret, found.workspace_errno, e);
    if (r == 0)
        r = set_environment(ret, &found, e);
    if (r < 0)
        return r;
    log_debug(ROOM, "uid %u gid %u: %s", ret->uid, ret->gid, identity_source_name(ret->source));
    if (server)
        notify_preparation(ret);
    return 0;
}
