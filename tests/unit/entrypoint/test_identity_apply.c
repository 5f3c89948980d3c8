/* SPDX-License-Identifier: Apache-2.0
 *
 * Carrying the decision out. What needs root, or user namespaces, says so and passes without. */
#include <acutest.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "entrypoint/identity/identity.h"

static bool root(void)
{
    if (geteuid() == 0)
        return true;
    TEST_MSG("needs root: passed over");
    return false;
}

static char *scratch(void)
{
    static char path[64];
    (void)snprintf(path, sizeof path, "/tmp/test-identity-XXXXXX");
    TEST_ASSERT(mkdtemp(path) != NULL);
    TEST_ASSERT(chmod(path, 0755) == 0);
    return path;
}

/* What a test left in the bases; others' are not empty and stay. */
static void remove_runtime_dirs(unsigned uid)
{
    char path[128];
    for (size_t i = 0; identity_runtime_base(i); i++) {
        static const char *const parts[] = {"/user/home", "/user", "/home", "-home"};
        for (size_t part = 0; part < sizeof parts / sizeof *parts; part++) {
            (void)snprintf(path, sizeof path, "%s/%u%s", identity_runtime_base(i), uid,
                           parts[part]);
            (void)rmdir(path);
        }
        (void)snprintf(path, sizeof path, "%s/%u", identity_runtime_base(i), uid);
        (void)rmdir(path);
        (void)rmdir(identity_runtime_base(i));
    }
}

/* Runs `body` in a child and returns its exit status. */
static int in_child(int (*body)(void *arg), void *arg)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(body(arg));
    int status = -1;
    TEST_CHECK(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int status_line(const char *name, char *into, size_t size)
{
    FILE *f = fopen("/proc/self/status", "re");
    int found = -1;
    while (f && found < 0 && fgets(into, (int)size, f))
        if (strncmp(into, name, strlen(name)) == 0)
            found = 0;
    if (f)
        (void)fclose(f);
    return found;
}

static bool without_capabilities(void)
{
    static const char *const names[] = {"CapPrm:", "CapEff:", "CapInh:", "CapAmb:"};
    char line[128];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (status_line(names[i], line, sizeof line) < 0 || !strstr(line, "\t0000000000000000"))
            return false;
    return true;
}

static int become_and_look(void *arg)
{
    const struct identity *id = arg;
    struct err e = ERR_NONE;
    if (identity_apply_in_child(id, &e) < 0) {
        (void)dprintf(2, "%s\n", e.msg);
        return 1;
    }
    gid_t groups[8];
    if (geteuid() != id->uid || getegid() != id->gid || getgroups(8, groups) != 1 ||
        groups[0] != 44)
        return 2;
    if (!without_capabilities())
        return 3;
    return setuid(0) == 0 && id->uid != 0 ? 4 : 0;
}

static void another_user_is_become_for_good(void)
{
    if (!root())
        return;
    struct identity id = {
        .uid = 4711, .gid = 4712, .groups = {44}, .group_count = 1, .change = true};
    TEST_CHECK(in_child(become_and_look, &id) == 0);
}

static void root_that_stays_root_has_no_capabilities_left(void)
{
    if (!root())
        return;
    struct identity id = {.groups = {44}, .group_count = 1, .change = true};
    TEST_CHECK(in_child(become_and_look, &id) == 0);
}

static int exec_and_look(void *arg)
{
    (void)arg;
    const struct identity id = {.uid = 0};
    if (identity_apply_in_child(&id, NULL) < 0)
        return 1;
    (void)execl("/bin/sh", "sh", "-c", "grep -qx 'CapEff:.0000000000000000' /proc/self/status",
                (char *)NULL);
    return 2;
}

static void roots_exec_brings_no_capability_back(void)
{
    if (root())
        TEST_CHECK(in_child(exec_and_look, NULL) == 0);
}

/* As `init` and the server do it, without the exec between. */
static int hand_over_and_look(void *arg)
{
    const struct identity *id = arg;
    struct err e = ERR_NONE;
    uid_t uid[3];
    char line[128];
    int sig = 0;
    if (identity_confine_init(id, false, &e) < 0 || identity_hand_over(id, getppid(), &e) < 0 ||
        status_line("CapPrm:", line, sizeof line) < 0 || !strstr(line, "\t00000000000001c0"))
        return 1; /* SETGID, SETUID, SETPCAP */
    if (identity_take_over(&e) < 0) {
        (void)dprintf(2, "%s\n", e.msg);
        return 2;
    }
    if (getresuid(&uid[0], &uid[1], &uid[2]) < 0 || uid[0] != id->service || uid[1] != id->uid ||
        uid[2] != id->service || getegid() != id->gid)
        return 3;
    gid_t groups[8];
    if (getgroups(8, groups) != 1 || groups[0] != 44 || !without_capabilities())
        return 4;
    if (prctl(PR_GET_PDEATHSIG, &sig, 0, 0, 0) < 0 || sig != SIGKILL || getenv("IPYBOX_IDENTITY"))
        return 5;
    return setuid(0) == 0 ? 6 : 0;
}

static void a_server_takes_over_two_uids_and_no_right(void)
{
    if (!root())
        return;
    struct identity id = {
        .uid = 4711, .gid = 4712, .service = 731, .groups = {44}, .group_count = 1, .change = true};
    int got = in_child(hand_over_and_look, &id);
    TEST_CHECK_(got == 0, "%d", got);
}

static int take_over(void *arg)
{
    struct err e = ERR_NONE;
    (void)setenv("IPYBOX_IDENTITY", arg, 1);
    return identity_take_over(&e) < 0 ? 0 : 1;
}

static void what_process_1_has_not_written_is_not_taken_over(void)
{
    static char *const texts[] = {"", "x", "1 2 3", "1 0 4711 4711", "1 731 0 0", "1 731 4711 9 -"};
    char stranger[64];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        TEST_CHECK_(in_child(take_over, texts[i]) == 0, "%s", texts[i]);
    (void)snprintf(stranger, sizeof stranger, "%d 731 4711 4711", (int)getpid() + 1);
    TEST_CHECK(in_child(take_over, stranger) == 0); /* it is not the parent */
}

static int claim_a_wrong_identity(void *arg)
{
    (void)arg;
    struct err e = ERR_NONE;
    const struct identity id = {.uid = geteuid() + 1, .gid = getegid(), .change = false};
    return identity_apply_in_child(&id, &e) == -EPERM && strstr(e.msg, "could not change to") ? 0
                                                                                              : 1;
}

static void an_identity_that_did_not_come_true_is_an_error(void)
{
    TEST_CHECK(in_child(claim_a_wrong_identity, NULL) == 0);
}

static int confine(void *arg)
{
    (void)arg;
    const struct identity id = {.uid = 1000, .gid = 1000, .change = true};
    char line[128];
    if (identity_confine_init(&id, false, NULL) < 0 ||
        status_line("CapEff:", line, sizeof line) < 0)
        return 1;
    if (!strstr(line, "\t00000000000000e0")) /* KILL, SETGID, SETUID */
        return 2;
    if (identity_confine_init(&id, true, NULL) < 0 || status_line("CapEff:", line, sizeof line) < 0)
        return 3;
    return strstr(line, "\t0000000000000020") ? 0 : 4;
}

static void the_init_keeps_the_right_to_kill_alone(void)
{
    if (root())
        TEST_CHECK(in_child(confine, NULL) == 0);
}

static int confined_then_become(void *arg)
{
    const struct identity *id = arg;
    return identity_confine_init(id, false, NULL) < 0 ? 9 : become_and_look(arg);
}

static void the_child_of_a_confined_init_still_becomes_the_user(void)
{
    if (!root())
        return;
    struct identity id = {
        .uid = 4711, .gid = 4712, .groups = {44}, .group_count = 1, .change = true};
    TEST_CHECK(in_child(confined_then_become, &id) == 0);
}

static int prepare(void *arg)
{
    struct identity id;
    struct err e = ERR_NONE;
    if (identity_prepare(arg, false, &id, &e) < 0) {
        TEST_MSG("%s", e.msg);
        return strstr(e.msg, "cannot be written by uid 1000 gid 1000") ? 10 : 1;
    }
    struct stat st;
    const char *dir = getenv("IPYBOX_RUNTIME_DIR");
    if (!dir || stat(dir, &st) < 0 || st.st_uid != id.uid || (st.st_mode & 07777) != 0700)
        return 2;
    const char *home = getenv("HOME");
    if (!home || stat(home, &st) < 0)
        return 3;
    if (id.uid == 4711 && (strcmp(getenv("USER"), "ipybox") != 0 || !getenv("LOGNAME")))
        return 4;
    return id.uid == 4711 ? 0 : 5;
}

static void the_owner_of_the_workspace_is_prepared_for(void)
{
    if (!root())
        return;
    char *dir = scratch();
    TEST_ASSERT(chown(dir, 4711, 4711) == 0);
    TEST_CHECK(in_child(prepare, dir) == 0);
    TEST_CHECK(rmdir(dir) == 0); /* nothing was left in it */
    remove_runtime_dirs(4711);
}

static void a_closed_workspace_is_refused_with_what_to_do(void)
{
    struct identity_facts f;
    if (!root() || identity_gather("/", &f, NULL) < 0 || strstr(f.uid_map, "4294967295") == NULL)
        return;
    char *dir = scratch();
    TEST_CHECK(in_child(prepare, dir) == 10);
    struct stat st;
    TEST_CHECK(stat(dir, &st) == 0 && st.st_uid == 0);
    TEST_CHECK(rmdir(dir) == 0);
    remove_runtime_dirs(1000);
}

static int user_acts(const char *runtime)
{
    char path[160];
    (void)snprintf(path, sizeof path, "%s/user/k", runtime);
    if (mkdir(path, 0700) < 0 || rmdir(path) < 0)
        return 21;
    (void)snprintf(path, sizeof path, "%s/mine", runtime);
    if (mkdir(path, 0700) == 0)
        return 22;
    (void)snprintf(path, sizeof path, "%s/sock", runtime);
    return unlink(path) == 0 || rename(path, "/tmp/sock") == 0 ? 23 : 0;
}

static int as_user(void *arg)
{
    const struct identity *id = arg;
    struct identity user = *id;
    user.service = 0;
    return identity_apply_in_child(&user, NULL) < 0 ? 20 : user_acts(getenv("IPYBOX_RUNTIME_DIR"));
}

static int prepare_server(void *arg)
{
    struct identity id;
    struct stat st;
    struct err e = ERR_NONE;
    char path[160];
    if (identity_prepare(arg, true, &id, &e) < 0 || id.uid != 4711 || id.service != 731)
        return 1;
    const char *dir = getenv("IPYBOX_RUNTIME_DIR");
    if (!dir || stat(dir, &st) < 0 || st.st_uid != 731 || (st.st_mode & 07777) != 0711)
        return 2;
    (void)snprintf(path, sizeof path, "%s/sock", dir);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (identity_bind(&id, fd, path, &e) < 0 || stat(path, &st) < 0 || st.st_uid != 731 ||
        (st.st_mode & 07777) != 0666)
        return 3;
    int r = in_child(as_user, &id);
    (void)unlink(path);
    return r;
}

static void a_server_has_a_directory_that_the_user_cannot_change(void)
{
    if (!root())
        return;
    char *dir = scratch();
    TEST_ASSERT(chown(dir, 4711, 4711) == 0);
    int got = in_child(prepare_server, dir);
    TEST_CHECK_(got == 0, "%d", got);
    TEST_CHECK(rmdir(dir) == 0);
    remove_runtime_dirs(731);
}

static int prepare_below_the_users(void *arg)
{
    struct identity id;
    struct err e = ERR_NONE;
    char path[128];
    (void)snprintf(path, sizeof path, "%s/run", (char *)arg);
    (void)setenv("IPYBOX_RUNTIME_DIR", path, 1);
    return identity_prepare(arg, true, &id, &e) == 0 && id.uid == 4711 ? (int)id.service : 255;
}

static void where_its_directory_cannot_be_made_a_server_has_no_uid_of_its_own(void)
{
    if (!root())
        return;
    char *dir = scratch(), path[128];
    struct stat st;
    TEST_ASSERT(chown(dir, 4711, 4711) == 0);
    TEST_CHECK(in_child(prepare_below_the_users, dir) == 0);
    (void)snprintf(path, sizeof path, "%s/run", dir);
    TEST_CHECK(stat(path, &st) == 0 && st.st_uid == 4711 && (st.st_mode & 07777) == 0700);
    (void)snprintf(path, sizeof path, "%s/run-home", dir);
    TEST_CHECK(stat(path, &st) == 0 && st.st_uid == 4711 && (st.st_mode & 07777) == 0700);
    (void)rmdir(path);
    (void)snprintf(path, sizeof path, "%s/run", dir);
    TEST_CHECK(rmdir(path) == 0 && rmdir(dir) == 0);
}

static bool write_proc(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    (void)close(fd);
    return ok;
}

static int in_user_namespace(void *arg)
{
    if (unshare(CLONE_NEWUSER) < 0)
        return 20;
    if (!write_proc("/proc/self/uid_map", "0 4711 1") ||
        !write_proc("/proc/self/setgroups", "deny") ||
        !write_proc("/proc/self/gid_map", "0 4711 1"))
        return 21;
    struct identity id;
    struct err e = ERR_NONE;
    if (identity_prepare(arg, true, &id, &e) < 0) {
        (void)dprintf(2, "%s\n", e.msg);
        return 1;
    }
    return id.uid == 0 && id.source == IDENTITY_ROOTLESS ? 0 : 2;
}

static int as_4711_in_user_namespace(void *arg)
{
    if (setgid(4711) < 0 || setuid(4711) < 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
        return 22;
    return in_user_namespace(arg);
}

static void rootless_root_stays_with_a_workspace_of_its_own(void)
{
    if (!root())
        return;
    char *dir = scratch();
    TEST_ASSERT(chown(dir, 4711, 4711) == 0);
    int got = in_child(as_4711_in_user_namespace, dir);
    if (got >= 20)
        TEST_MSG("no user namespaces here: passed over");
    else
        TEST_CHECK_(got == 0, "%d", got);
    TEST_CHECK(rmdir(dir) == 0);
    remove_runtime_dirs(0);
}

/* ---- the runtime directory ---- */

static void the_users_runtime_dir_is_made_and_must_be_ours(void)
{
    char *dir = scratch(), path[128], ret[IDENTITY_PATH_MAX];
    struct stat st;
    struct err e = ERR_NONE;
    (void)snprintf(path, sizeof path, "%s/run", dir);
    (void)setenv("IPYBOX_RUNTIME_DIR", path, 1);
    TEST_CHECK(identity_runtime_dir(false, ret, &e) == 0 && strcmp(ret, path) == 0);
    TEST_CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0700);
    TEST_CHECK(chmod(path, 0777) == 0 && identity_runtime_dir(false, ret, &e) == 0);
    TEST_CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0700);
    TEST_CHECK(rmdir(path) == 0 && symlink("/tmp", path) == 0);
    TEST_CHECK(identity_runtime_dir(false, ret, &e) == -ENOTDIR);
    TEST_CHECK(unlink(path) == 0);
    if (geteuid() == 0) {
        TEST_CHECK(mkdir(path, 0777) == 0 && chown(path, 4711, 4711) == 0);
        TEST_CHECK(identity_runtime_dir(false, ret, &e) == -EPERM);
        TEST_CHECK(rmdir(path) == 0);
    }
    TEST_CHECK(rmdir(dir) == 0);
    (void)setenv("IPYBOX_RUNTIME_DIR", "relative", 1);
    TEST_CHECK(identity_runtime_dir(false, ret, &e) == -EINVAL);
}

/* ---- secrets ---- */

#define TOKEN "IPYBOX_KERNEL_GATEWAY_TOKEN"

static void write_file(const char *path, const char *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    TEST_ASSERT(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && close(fd) == 0);
}

static int secret_of(const char *path, const char *bytes, size_t n, struct err *e)
{
    write_file(path, bytes, n);
    (void)unsetenv(TOKEN);
    (void)setenv(TOKEN "_FILE", path, 1);
    return identity_read_secrets(e);
}

static void a_secret_comes_out_of_its_file(void)
{
    static char large[IDENTITY_SECRET_MAX + 2];
    memset(large, 'x', sizeof large);
    char *dir = scratch(), path[128];
    struct err e = ERR_NONE;
    (void)snprintf(path, sizeof path, "%s/secret", dir);
    TEST_CHECK(secret_of(path, "s3cret\n", 7, &e) == 0);
    TEST_CHECK(strcmp(getenv(TOKEN), "s3cret") == 0 && !getenv(TOKEN "_FILE"));
    TEST_CHECK(secret_of(path, " two\n\n", 6, &e) == 0 && strcmp(getenv(TOKEN), " two\n") == 0);
    TEST_CHECK(secret_of(path, large, IDENTITY_SECRET_MAX, &e) == 0);
    TEST_CHECK(strlen(getenv(TOKEN)) == IDENTITY_SECRET_MAX);
    TEST_CHECK(secret_of(path, large, IDENTITY_SECRET_MAX + 1, &e) == -EMSGSIZE);
    TEST_CHECK(secret_of(path, "", 0, &e) == -EINVAL && secret_of(path, "\n", 1, &e) == -EINVAL);
    TEST_CHECK(secret_of(path, "a\0b", 3, &e) == -EINVAL);
    TEST_CHECK(strstr(e.msg, path) != NULL && strstr(e.msg, "NUL byte") != NULL);
    TEST_CHECK(unlink(path) == 0 && identity_read_secrets(&e) == -ENOENT);
    TEST_CHECK_(strstr(e.msg, path) && strstr(e.msg, TOKEN "_FILE"), "%s", e.msg);
    TEST_CHECK(mkfifo(path, 0600) == 0 && identity_read_secrets(&e) == -EINVAL);
    TEST_CHECK(unlink(path) == 0 && rmdir(dir) == 0);
}

static void a_secret_given_twice_is_refused(void)
{
    struct err e = ERR_NONE;
    (void)setenv(TOKEN, "a", 1);
    TEST_CHECK(identity_read_secrets(&e) == 0);
    (void)setenv(TOKEN "_FILE", "/etc/hostname", 1);
    TEST_CHECK(identity_read_secrets(&e) == -EINVAL);
    TEST_CHECK(strcmp(e.msg, TOKEN " and " TOKEN "_FILE are both set: give one of them") == 0);
}

#define TEST(name) {#name, name}

TEST_LIST = {
    TEST(another_user_is_become_for_good),
    TEST(root_that_stays_root_has_no_capabilities_left),
    TEST(roots_exec_brings_no_capability_back),
    TEST(a_server_takes_over_two_uids_and_no_right),
    TEST(what_process_1_has_not_written_is_not_taken_over),
    TEST(an_identity_that_did_not_come_true_is_an_error),
    TEST(the_init_keeps_the_right_to_kill_alone),
    TEST(the_child_of_a_confined_init_still_becomes_the_user),
    TEST(the_owner_of_the_workspace_is_prepared_for),
    TEST(a_server_has_a_directory_that_the_user_cannot_change),
    TEST(where_its_directory_cannot_be_made_a_server_has_no_uid_of_its_own),
    TEST(a_closed_workspace_is_refused_with_what_to_do),
    TEST(rootless_root_stays_with_a_workspace_of_its_own),
    TEST(the_users_runtime_dir_is_made_and_must_be_ours),
    TEST(a_secret_comes_out_of_its_file),
    TEST(a_secret_given_twice_is_refused),
    {NULL, NULL},
};
