/* SPDX-License-Identifier: Apache-2.0
 *
 * What is hidden and kept, whatever the settings say: as a policy, and around shells below a real
 * shim, with settings and without. Each script tries what must fail and what must go on working. */
#include "unit/guard.h"
#include "unit/sandbox/policytest.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "sandbox/confine/places.h"
#include "sandbox/confine/spec.h"
#include "sandbox/policy/mount_names.h"
#include "sandbox/shim/shim.h"

enum { ANOTHER_UID = 54321 };

static const char allows_all[] =
    "{\"network\": {\"allowedDomains\": [], \"deniedDomains\": [], \"allowAllUnixSockets\": true},"
    " \"filesystem\": {\"denyRead\": [], \"allowWrite\": [\"/\"], \"denyWrite\": []}}";

/* --- as a policy ------------------------------------------------------------------------------ */

static struct policy *policy_with(const char *hidden, const char *kept, const char *own)
{
    const char *const hides[] = {hidden ? full(hidden) : NULL, NULL};
    const char *const keeps[] = {kept ? full(kept) : NULL, NULL};
    const char *const owns[] = {own ? full(own) : NULL, NULL};
    const struct policy_place place = {.hidden = hides, .kept = keeps, .private_dirs = owns};
    return policy_of_place(&(struct lists){.allow_write = "[\"/\"]",
                                           .allow_read = "[\"secret\"]",
                                           .network = "\"allowedDomains\":[],\"deniedDomains\":[],"
                                                      "\"allowAllUnixSockets\":true,"
                                                      "\"allowUnixSockets\":[\"secret\"]"},
                           &place);
}

static void no_setting_opens_what_is_hidden(void)
{
    make_place();
    make_dir("@w/secret");
    struct policy *policy = policy_with("@w/secret", NULL, NULL);
    READS_NOT(policy, "@w/secret");
    READS_NOT(policy, "@w/secret/token");
    WRITES_NOT(policy, "@w/secret/token");
    TEST_CHECK(!policy_may_connect_unix(policy, full("@w/secret/s.sock")));
    TEST_CHECK(policy_may_connect_unix(policy, full("@w/s.sock")));
    PINS(policy, "@w");
    TEST_CHECK(policy_readable(policy, full("@w/secret")) == COVER_NONE);
    TEST_CHECK(policy_readable(policy, full("@w")) == COVER_SOME);
    TEST_CHECK(policy_writable(policy, full("@w")) == COVER_SOME);
    TEST_CHECK(policy_denies_reads(policy));
    READS(policy, "@w/secret2");
    WRITES(policy, "@w/secret2");
    (void)policy_free(policy);
}

static void no_setting_changes_what_is_kept(void)
{
    make_place();
    make_dir("@w/tools");
    struct policy *policy = policy_with(NULL, "@w/tools", NULL);
    READS(policy, "@w/tools/x");
    WRITES_NOT(policy, "@w/tools/x");
    WRITES_NOT(policy, "@w/tools");
    WRITES(policy, "@w/tools2");
    PINS(policy, "@w");
    TEST_CHECK(policy_readable(policy, full("@w/tools")) == COVER_ALL);
    TEST_CHECK(policy_writable(policy, full("@w/tools")) == COVER_NONE);
    TEST_CHECK(!policy_denies_reads(policy));
    (void)policy_free(policy);
}

static void what_is_the_childs_inside_of_it_stays_the_childs(void)
{
    make_place();
    make_dir("@w/run/k1");
    make_dir("@w/run/k2");
    struct policy *policy = policy_with("@w/run", NULL, "@w/run/k1");
    READS(policy, "@w/run/k1/x");
    WRITES(policy, "@w/run/k1/x");
    READS_NOT(policy, "@w/run/k2/x");
    READS_NOT(policy, "@w/run");
    TEST_CHECK(policy_readable(policy, full("@w/run")) == COVER_SOME);
    TEST_CHECK(policy_readable(policy, full("@w/run/k1")) == COVER_ALL);
    TEST_CHECK(policy_may_connect_unix(policy, full("@w/run/k1/s")));
    TEST_CHECK(!policy_may_connect_unix(policy, full("@w/run/k2/s")));
    (void)policy_free(policy);
    policy = policy_with("@w/run/k1", NULL, "@w/run/k1"); /* of two at one place, what hides */
    READS_NOT(policy, "@w/run/k1/x");
    (void)policy_free(policy);
}

static void a_given_socket_inside_of_it_may_be_connected_to(void)
{
    make_place();
    make_dir("@w/run");
    drop_str char *run = xstrdup(full("@w/run")), *tools = xstrdup(full("@w/run/tools.sock"));
    const char *const hidden[] = {run, NULL}, *const sockets[] = {tools, NULL};
    const struct policy_place place = {.hidden = hidden, .unix_sockets = sockets};
    struct policy *policy = policy_of_place(&(struct lists){0}, &place);
    TEST_CHECK(policy_may_connect_unix(policy, tools));
    TEST_CHECK(!policy_may_connect_unix(policy, full("@w/run/api.sock")));
    WRITES_NOT(policy, "@w/run/tools.sock");
    (void)policy_free(policy);
}

static void links_that_lead_there_stay_and_their_target_is_hidden(void)
{
    make_place();
    make_dir("@w/data");
    make_file("@w/data/token");
    make_link("@w/link", "@w/data");
    struct policy *policy = policy_with("@w/link/token", NULL, NULL);
    READS_NOT(policy, "@w/data/token");
    READS(policy, "@w/data/other");
    WRITES_NOT(policy, "@w/link");
    PINS(policy, "@w/link");
    PINS(policy, "@w/data");
    (void)policy_free(policy);
}

static void a_hidden_file_is_known_by_any_name(void)
{
    make_place();
    make_file("@w/token");
    TEST_ASSERT(link(full("@w/token"), full("@w/other")) == 0);
    make_file("@w/else");
    struct policy *policy = policy_with("@w/token", NULL, NULL);
    struct stat st;
    TEST_CHECK(lstat(full("@w/other"), &st) == 0 && policy_hides_object(policy, &st));
    TEST_CHECK(lstat(full("@w/else"), &st) == 0 && !policy_hides_object(policy, &st));
    (void)policy_free(policy);
}

/* --- around processes ------------------------------------------------------------------------- */

static void become(uid_t uid)
{
    if (uid != 0 &&
        (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0))
        _exit(98);
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static const char *read_all(int fd)
{
    static char text[8192];
    size_t n = 0;
    struct pollfd p = {fd, POLLIN, 0};
    while (poll(&p, 1, GUARD_MS) == 1) {
        ssize_t got = read(fd, text + n, sizeof text - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    text[n] = '\0';
    return text;
}

/* What a shell says below a shim of that user. */
static const char *run(const struct sandbox_spec *spec, uid_t uid, const char *script)
{
    int sockets[2], pipes[2], fd = -1, status = -1;
    struct err e = ERR_NONE;
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) == 0 && pipe(pipes) == 0);
    TEST_ASSERT_(sandbox_spec_write(spec, &fd, &e) == 0, "%s", e.msg);
    pid_t shim = fork();
    if (shim == 0) {
        become(uid);
        (void)dup2(pipes[1], STDOUT_FILENO);
        (void)dup2(pipes[1], STDERR_FILENO);
        for (int i = 3; i < 64; i++)
            if (i != sockets[1] && i != fd)
                (void)close(i);
        (void)fcntl(sockets[1], F_SETFD, FD_CLOEXEC);
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        drop_str char *control = xasprintf("%d", sockets[1]), *number = xasprintf("%d", fd);
        const char *words[] = {"shim",    control, "--sandbox", number, "--",
                               "/bin/sh", "-c",    script,      NULL};
        _exit(shim_main(8, (char **)(uintptr_t)words));
    }
    (void)close(sockets[1]);
    (void)close(pipes[1]);
    (void)close(fd);
    const char *text = read_all(pipes[0]);
    TEST_CHECK(waitpid(shim, &status, 0) == shim && WIFEXITED(status));
    TEST_CHECK_(WEXITSTATUS(status) == 0, "the shim's status is %d", WEXITSTATUS(status));
    (void)close(sockets[0]);
    (void)close(pipes[0]);
    return text;
}

/* One word for each that went through, small letters for what must not. */
static const char attacks[] =
    "t() { w=$1; shift; \"$@\" >/dev/null 2>&1 && echo $w; }\n"
    "t read cat hidden/token; t list ls hidden; t write sh -c 'echo x >hidden/new';\n"
    "t over sh -c 'echo x >hidden/token'; t append sh -c 'echo x >>hidden/token';\n"
    "t link ln hidden/token mine/token; t linkhere ln hidden/token token2; t cat2 cat token2;\n"
    "t out mv hidden/token mine/; t remove rm -f hidden/token; t moved mv hidden mine/;\n"
    "t renamed mv hidden hidden2; t parent mv ../top2 ../top3;\n"
    "t LINKS ln -s ../hidden mine/s; t through cat mine/s/token;\n"
    "t root cat /proc/self/root/$PWD/hidden/token; t cwd cat /proc/self/cwd/hidden/token;\n"
    "t dots cat mine/../hidden/token; t truncated truncate -s 0 hidden/token;\n"
    "t kept sh -c 'echo x >kept/new'; t keptover sh -c 'echo x >kept/f'; t keptrm rm -f kept/f;\n"
    "t keptmv mv kept kept2; t keptln ln mine/g kept/g; t keptin mv mine/g kept/;\n"
    "t keptout mv kept/f mine/; t keptdir mkdir kept/d; t keptfifo mkfifo kept/p;\n"
    "t keptlink ln kept/f mine/f; t keptsym ln -s x kept/s;\n"
    "t SEES cat kept/f; t LISTS ls kept; t RUNS kept/run; t TOP ls .; t ROOT ls /;\n"
    "t WRITES sh -c 'echo x >mine/new && cat mine/new && mkdir mine/d && mv mine/new mine/d/';\n"
    "t TMP sh -c 'f=$(mktemp -d) && echo x >$f/a && mv $f/a $f/b && rm -r $f';\n";

static const char beside[] = "t BESIDE sh -c 'echo x >made && cat made && mkdir sub && mv made "
                             "sub/ && cat sub/made && ln sub/made again && rm -r sub again';\n";

static const char good[] = "LINKS\nSEES\nLISTS\nRUNS\nTOP\nROOT\nWRITES\nTMP\n";
static const char good_beside[] = "LINKS\nSEES\nLISTS\nRUNS\nTOP\nROOT\nWRITES\nTMP\nBESIDE\n";

static void own(const char *name, uid_t uid)
{
    TEST_ASSERT(chown(full(name), uid, uid) == 0);
}

static void fill(const char *name, const char *text, mode_t mode)
{
    make_file(name);
    drop_fd int fd = open(full(name), O_WRONLY | O_CLOEXEC);
    TEST_ASSERT(fd >= 0 && fd_write(fd, text, strlen(text)) == 0 && fchmod(fd, mode) == 0);
}

/* "@/top2" has hidden/, kept/ and mine/; all of it is the user's, but maybe not the top. */
static void make_scene(uid_t uid, uid_t top_uid)
{
    static const char *const names[] = {"@/top2/hidden", "@/top2/kept", "@/top2/mine"};
    static const char *const files[] = {"@/top2/hidden/token", "@/top2/kept/f", "@/top2/kept/run",
                                        "@/top2/mine/g"};
    make_place();
    if (top_uid == 0 && uid != 0) { /* all may write in /tmp */
        char text[] = "/var/ipybox-places-XXXXXX";
        TEST_ASSERT(rmdir(full("@w")) == 0 && rmdir(full("@h")) == 0 && rmdir(top) == 0);
        TEST_ASSERT(mkdtemp(text) && realpath(text, top));
    }
    TEST_ASSERT(chmod(top, 0755) == 0);
    for (size_t i = 0; i < 3; i++)
        make_dir(names[i]);
    fill(files[0], "secret\n", 0600);
    fill(files[1], "text\n", 0644);
    fill(files[2], "#!/bin/sh\n", 0755);
    fill(files[3], "mine\n", 0644);
    for (size_t i = 0; i < 4; i++)
        own(files[i], uid);
    for (size_t i = 0; i < 3; i++)
        own(names[i], uid);
    own("@/top2", top_uid);
    own("@/", top_uid);
}

struct scene {
    char *cwd, *hidden, *kept;
    const char *hides[2], *keeps[2];
};

static struct sandbox_spec spec_of(struct scene *scene, const char *settings,
                                   enum sandbox_level level)
{
    *scene = (struct scene){.cwd = xstrdup(full("@/top2")),
                            .hidden = xstrdup(full("@/top2/hidden")),
                            .kept = xstrdup(full("@/top2/kept"))};
    scene->hides[0] = scene->hidden;
    scene->keeps[0] = scene->kept;
    return (struct sandbox_spec){.settings = settings,
                                 .cwd = scene->cwd,
                                 .home = scene->cwd,
                                 .hidden = scene->hides,
                                 .kept = scene->keeps,
                                 .level = level};
}

static void attack(const char *settings, enum sandbox_level level, uid_t uid, const char *more,
                   const char *want)
{
    struct scene scene;
    struct sandbox_spec spec = spec_of(&scene, settings, level);
    drop_str char *script = xasprintf("cd %s || exit\n%s%s", scene.cwd, attacks, more);
    const char *text = run(&spec, uid, script);
    TEST_CHECK_(strcmp(text, want) == 0, "level %d: %s", (int)level, text);
    drop_str char *look = xasprintf("grep -q secret %s/token && grep -q text %s/f && echo whole",
                                    scene.hidden, scene.kept);
    text = run(&sandbox_walls, uid, look); /* by itself all of this is the user's */
    TEST_CHECK_(strcmp(text, "whole\n") == 0, "%s", text);
    xfree(scene.cwd);
    xfree(scene.hidden);
    xfree(scene.kept);
}

static uid_t another(void)
{
    return geteuid() == 0 ? ANOTHER_UID : geteuid();
}

static void settings_that_allow_all_do_not_open_them(void)
{
    make_scene(another(), another());
    attack(allows_all, SANDBOX_FULL, another(), beside, good_beside);
}

static void the_walls_hold_them_beside_what_code_makes(void)
{
    make_scene(another(), another());
    attack(NULL, SANDBOX_FULL, another(), beside, good_beside);
}

static void the_walls_hold_them_by_landlock_alone_where_code_makes_nothing(void)
{
    if (geteuid() != 0)
        return; /* the only user that there is may write above every directory that it makes */
    make_scene(ANOTHER_UID, 0);
    /* names may be seen there */
    drop_str char *want = xasprintf("list\n%s", good);
    attack(NULL, SANDBOX_LANDLOCK, ANOTHER_UID, "", want);
    remove_place();
    make_scene(ANOTHER_UID, 0);
    attack(NULL, SANDBOX_FULL, ANOTHER_UID, "", good);
}

static void without_a_broker_what_takes_one_is_not_held_and_it_is_known(void)
{
    struct scene scene;
    const char *open = NULL;
    make_scene(geteuid(), geteuid());
    struct sandbox_spec spec = spec_of(&scene, NULL, SANDBOX_LANDLOCK);
    TEST_CHECK(!places_can_be_held(&spec, &open) && open == scene.hidden);
    spec.level = SANDBOX_NONE;
    TEST_CHECK(!places_can_be_held(&spec, &open));
    spec.level = SANDBOX_FULL;
    TEST_CHECK(places_can_be_held(&spec, &open) && !open && places_ask(&spec));
    spec.settings = allows_all;
    spec.level = SANDBOX_LANDLOCK;
    TEST_CHECK(places_can_be_held(&spec, &open));
    drop_str char *script = xasprintf("cat %s/token", scene.hidden);
    spec.settings = NULL;
    TEST_CHECK(strcmp(run(&spec, 0, script), "secret\n") == 0);
    xfree(scene.cwd);
    xfree(scene.hidden);
    xfree(scene.kept);
}

static void what_is_mounted_once_more_has_other_names(void)
{
    struct words names = {0};
    make_scene(geteuid(), geteuid());
    make_dir("@/there");
    if (mount(full("@/top2"), full("@/there"), NULL, MS_BIND, NULL) < 0) {
        TEST_CHECK(errno == EPERM); /* then nobody has mounted it here */
        return;
    }
    mount_names(full("@/top2/hidden/token"), &names);
    TEST_CHECK(names.count == 1 && strcmp(names.items[0], full("@/there/hidden/token")) == 0);
    words_done(&names);
    mount_names(full("@/there/hidden"), &names);
    TEST_CHECK(names.count == 1 && strcmp(names.items[0], full("@/top2/hidden")) == 0);
    words_done(&names);
    TEST_CHECK(umount2(full("@/there"), MNT_DETACH) == 0);
    mount_names(full("@/top2/hidden/token"), &names);
    TEST_CHECK(names.count == 0);
    words_done(&names);
}

TEST_LIST = {
    {"no_setting_opens_what_is_hidden", no_setting_opens_what_is_hidden},
    {"no_setting_changes_what_is_kept", no_setting_changes_what_is_kept},
    {"what_is_the_childs_inside_of_it_stays_the_childs",
     what_is_the_childs_inside_of_it_stays_the_childs},
    {"a_given_socket_inside_of_it_may_be_connected_to",
     a_given_socket_inside_of_it_may_be_connected_to},
    {"links_that_lead_there_stay_and_their_target_is_hidden",
     links_that_lead_there_stay_and_their_target_is_hidden},
    {"a_hidden_file_is_known_by_any_name", a_hidden_file_is_known_by_any_name},
    {"settings_that_allow_all_do_not_open_them", settings_that_allow_all_do_not_open_them},
    {"the_walls_hold_them_beside_what_code_makes", the_walls_hold_them_beside_what_code_makes},
    {"the_walls_hold_them_by_landlock_alone_where_code_makes_nothing",
     the_walls_hold_them_by_landlock_alone_where_code_makes_nothing},
    {"without_a_broker_what_takes_one_is_not_held_and_it_is_known",
     without_a_broker_what_takes_one_is_not_held_and_it_is_known},
    {"what_is_mounted_once_more_has_other_names", what_is_mounted_once_more_has_other_names},
    {NULL, NULL},
};
