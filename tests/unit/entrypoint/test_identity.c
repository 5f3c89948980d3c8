/* SPDX-License-Identifier: Apache-2.0
 *
 * The decision as a table of facts. */
#include <acutest.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "entrypoint/identity/identity.h"

#define ALL (~(uint64_t)0)
#define HOST "         0          0 4294967295\n"
#define ROOTLESS "         0       1000          1\n         1     100000      65536\n"
#define SINGLE "         0       1000          1\n"
#define REMAP "         0     100000      65536\n"

struct owner {
    int error;
    uid_t uid;
    gid_t gid;
    bool open_to_root;
};

static const struct {
    const char *name;
    uid_t euid;
    struct owner owner;
    const char *puid, *pgid, *default_uid, *default_gid, *uid_map;
    uint64_t capabilities;
    int result;
    uid_t uid;
    gid_t gid;
    enum identity_source source;
    bool change;
    const char *text; /* part of the error or the notice */
} cases[] = {
    {.name = "any uid stays as it was started",
     .euid = 12345,
     .owner = {0, 0, 0, 0},
     .uid = 12345,
     .source = IDENTITY_AS_STARTED},
    {.name = "a started uid does not look at the workspace",
     .euid = 12345,
     .owner = {ENOENT, 0, 0, 0},
     .uid = 12345,
     .source = IDENTITY_AS_STARTED},
    {.name = "PUID for a started uid is ignored aloud",
     .euid = 12345,
     .puid = "1000",
     .uid = 12345,
     .source = IDENTITY_AS_STARTED,
     .text = "PUID and PGID are ignored"},
    {.name = "PGID for a started uid is ignored aloud",
     .euid = 12345,
     .pgid = "1000",
     .uid = 12345,
     .source = IDENTITY_AS_STARTED,
     .text = "uid 12345"},
    {.name = "the owner of the workspace",
     .owner = {0, 1001, 1002, 0},
     .capabilities = ALL,
     .uid = 1001,
     .gid = 1002,
     .source = IDENTITY_OWNER,
     .change = true},
    {.name = "an owner with root's group gets the default group",
     .owner = {0, 1001, 0, 0},
     .capabilities = ALL,
     .uid = 1001,
     .gid = 1000,
     .source = IDENTITY_OWNER,
     .change = true},
    {.name = "a group without a number here is not taken",
     .owner = {0, 1001, 65534, 0},
     .capabilities = ALL,
     .uid = 1001,
     .gid = 1000,
     .source = IDENTITY_OWNER,
     .change = true},
    {.name = "PUID wins over the owner",
     .owner = {0, 1001, 1002, 0},
     .puid = "2000",
     .capabilities = ALL,
     .uid = 2000,
     .gid = 2000,
     .source = IDENTITY_ASKED,
     .change = true},
    {.name = "PUID of the owner keeps the owner's group",
     .owner = {0, 1001, 1002, 0},
     .puid = "1001",
     .capabilities = ALL,
     .uid = 1001,
     .gid = 1002,
     .source = IDENTITY_ASKED,
     .change = true},
    {.name = "PUID and PGID",
     .puid = "2000",
     .pgid = "3000",
     .capabilities = ALL,
     .uid = 2000,
     .gid = 3000,
     .source = IDENTITY_ASKED,
     .change = true},
    {.name = "PGID alone changes the group of the owner",
     .owner = {0, 1001, 1002, 0},
     .pgid = "3000",
     .capabilities = ALL,
     .uid = 1001,
     .gid = 3000,
     .source = IDENTITY_OWNER,
     .change = true},
    {.name = "empty variables count as absent",
     .owner = {0, 1001, 1002, 0},
     .puid = "",
     .pgid = "",
     .default_uid = "",
     .capabilities = ALL,
     .uid = 1001,
     .gid = 1002,
     .source = IDENTITY_OWNER,
     .change = true},
    {.name = "root's workspace on the host: the default user",
     .uid_map = HOST,
     .owner = {0, 0, 0, true},
     .capabilities = ALL,
     .uid = 1000,
     .gid = 1000,
     .source = IDENTITY_DEFAULT,
     .change = true},
    {.name = "without a uid_map: the default user",
     .uid_map = "",
     .owner = {0, 0, 0, true},
     .capabilities = ALL,
     .uid = 1000,
     .gid = 1000,
     .source = IDENTITY_DEFAULT,
     .change = true},
    {.name = "a default of the image's",
     .default_uid = "5000",
     .default_gid = "6000",
     .capabilities = ALL,
     .uid = 5000,
     .gid = 6000,
     .source = IDENTITY_DEFAULT,
     .change = true},
    {.name = "a default uid names the default gid",
     .default_uid = "5000",
     .capabilities = ALL,
     .uid = 5000,
     .gid = 5000,
     .source = IDENTITY_DEFAULT,
     .change = true},
    {.name = "an owner without a number here: the default user",
     .owner = {0, 65534, 65534, 0},
     .capabilities = ALL,
     .uid = 1000,
     .gid = 1000,
     .source = IDENTITY_DEFAULT,
     .change = true},
    {.name = "a workspace that cannot be looked at: the default user",
     .owner = {EACCES, 0, 0, 0},
     .capabilities = ALL,
     .uid = 1000,
     .gid = 1000,
     .source = IDENTITY_DEFAULT,
     .change = true},
    {.name = "rootless, the user's workspace: that root",
     .uid_map = ROOTLESS,
     .owner = {0, 0, 0, true},
     .capabilities = ALL,
     .source = IDENTITY_ROOTLESS},
    {.name = "rootless without capabilities",
     .uid_map = ROOTLESS,
     .owner = {0, 0, 0, true},
     .source = IDENTITY_ROOTLESS},
    {.name = "rootless, root's workspace that is closed to it",
     .uid_map = ROOTLESS,
     .owner = {0, 0, 0, false},
     .capabilities = ALL,
     .uid = 1000,
     .gid = 1000,
     .source = IDENTITY_DEFAULT,
     .change = true},
    {.name = "rootless, a workspace of another user inside",
     .uid_map = ROOTLESS,
     .owner = {0, 1000, 1000, 0},
     .capabilities = ALL,
     .uid = 1000,
     .gid = 1000,
     .source = IDENTITY_OWNER,
     .change = true},
    {.name = "a single user is mapped: that one",
     .uid_map = SINGLE,
     .owner = {0, 0, 0, false},
     .capabilities = ALL,
     .source = IDENTITY_ROOTLESS},
    {.name = "a single user and a workspace of somebody else's",
     .uid_map = SINGLE,
     .owner = {0, 65534, 65534, 0},
     .capabilities = ALL,
     .source = IDENTITY_ROOTLESS},
    {.name = "PUID=0 is right where root is nobody's root",
     .uid_map = ROOTLESS,
     .puid = "0",
     .pgid = "0",
     .owner = {0, 1000, 1000, 0},
     .capabilities = ALL,
     .source = IDENTITY_ASKED},
    {.name = "userns-remap, a workspace made for it",
     .uid_map = REMAP,
     .owner = {0, 0, 0, true},
     .capabilities = ALL,
     .source = IDENTITY_ROOTLESS},
    {.name = "userns-remap, a workspace of the host's",
     .uid_map = REMAP,
     .owner = {0, 65534, 65534, 0},
     .capabilities = ALL,
     .uid = 1000,
     .gid = 1000,
     .source = IDENTITY_DEFAULT,
     .change = true},
    {.name = "an owner that is not mapped is not taken",
     .uid_map = REMAP,
     .owner = {0, 70000, 70000, 0},
     .capabilities = ALL,
     .uid = 1000,
     .gid = 1000,
     .source = IDENTITY_DEFAULT,
     .change = true},
    {.name = "a uid_map that makes no sense maps nothing",
     .uid_map = "x y z\n",
     .owner = {0, 1001, 1001, 0},
     .capabilities = ALL,
     .uid = 1000,
     .gid = 1000,
     .source = IDENTITY_DEFAULT,
     .change = true},

    {.name = "PUID=0 on the host",
     .puid = "0",
     .capabilities = ALL,
     .result = -EPERM,
     .text = "PUID=0: nothing runs as root here"},
    {.name = "PGID=0 on the host",
     .puid = "5",
     .pgid = "0",
     .capabilities = ALL,
     .result = -EPERM,
     .text = "PGID=0: nothing runs in root's group"},
    {.name = "a PUID that is not mapped",
     .puid = "1000",
     .uid_map = SINGLE,
     .capabilities = ALL,
     .result = -EPERM,
     .text = "PUID=1000: there is no such user in this user namespace"},
    {.name = "a PUID that is no number",
     .puid = "me",
     .capabilities = ALL,
     .result = -EINVAL,
     .text = "PUID: a number, such as 1000, is needed, not 'me'"},
    {.name = "a PUID with a sign",
     .puid = "-1",
     .capabilities = ALL,
     .result = -EINVAL,
     .text = "PUID"},
    {.name = "a PUID with a space",
     .puid = " 1",
     .capabilities = ALL,
     .result = -EINVAL,
     .text = "PUID"},
    {.name = "a PUID with something behind",
     .puid = "1000:1000",
     .capabilities = ALL,
     .result = -EINVAL,
     .text = "PUID"},
    {.name = "the PUID that means unchanged",
     .puid = "4294967295",
     .capabilities = ALL,
     .result = -EINVAL,
     .text = "PUID"},
    {.name = "a PUID that wraps around",
     .puid = "4294968296",
     .capabilities = ALL,
     .result = -EINVAL,
     .text = "PUID"},
    {.name = "a PUID longer than any number",
     .puid = "99999999999999999999999",
     .capabilities = ALL,
     .result = -EINVAL,
     .text = "PUID"},
    {.name = "a bad PGID", .pgid = "staff", .capabilities = ALL, .result = -EINVAL, .text = "PGID"},
    {.name = "a bad default",
     .default_uid = "x",
     .capabilities = ALL,
     .result = -EINVAL,
     .text = "IPYBOX_DEFAULT_UID"},
    {.name = "a bad default group",
     .default_gid = "x",
     .capabilities = ALL,
     .result = -EINVAL,
     .text = "IPYBOX_DEFAULT_GID"},
    {.name = "root as the default",
     .default_uid = "0",
     .capabilities = ALL,
     .result = -EPERM,
     .text = "IPYBOX_DEFAULT_UID=0"},
    {.name = "no workspace",
     .owner = {ENOENT, 0, 0, 0},
     .capabilities = ALL,
     .result = -ENOENT,
     .text = "workspace /w: No such file or directory"},
    {.name = "root without capabilities",
     .owner = {0, 1001, 1002, 0},
     .result = -EPERM,
     .text = "start with --user 1001:1002"},
    {.name = "root without SETGID",
     .owner = {0, 1001, 1002, 0},
     .capabilities = 1 << 7,
     .result = -EPERM,
     .text = "--cap-add SETUID --cap-add SETGID"},
};

static void the_identity_is_decided_by_the_facts(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct identity_facts f = {
            .euid = cases[i].euid,
            .workspace = "/w",
            .workspace_errno = cases[i].owner.error,
            .workspace_uid = cases[i].owner.uid,
            .workspace_gid = cases[i].owner.gid,
            .workspace_mode = S_IFDIR | 0755,
            .workspace_open_to_root = cases[i].owner.open_to_root,
            .puid = cases[i].puid,
            .pgid = cases[i].pgid,
            .default_uid = cases[i].default_uid,
            .default_gid = cases[i].default_gid,
            .capabilities = cases[i].capabilities,
        };
        (void)snprintf(f.uid_map, sizeof f.uid_map, "%s",
                       cases[i].uid_map ? cases[i].uid_map : HOST);
        struct identity got = {.uid = 77, .gid = 77};
        struct err e = ERR_NONE;
        TEST_CASE(cases[i].name);
        TEST_CHECK(identity_decide(&f, &got, &e) == cases[i].result);
        const char *said = cases[i].result ? e.msg : got.notice;
        TEST_CHECK(cases[i].text ? strstr(said, cases[i].text) != NULL : *said == '\0');
        TEST_MSG("%s", said);
        if (cases[i].result) {
            TEST_CHECK(got.uid == 77 && got.gid == 77);
            continue;
        }
        TEST_CHECK_(got.uid == cases[i].uid && got.gid == cases[i].gid, "%u:%u", got.uid, got.gid);
        TEST_CHECK(got.source == cases[i].source && got.change == cases[i].change);
    }
}

static const struct {
    const char *name;
    uid_t euid, owner;
    const char *puid, *uid_map;
    uid_t service;
} services[] = {
    {"the server has a uid for itself", 0, 1001, NULL, "", 731},
    {"another one where the cells have that", 0, 731, NULL, HOST, 732},
    {"the same, as asked for", 0, 1001, "731", HOST, 732},
    {"none when it is not root's to give", 1001, 1001, NULL, "", 0},
    {"not as 731 either", 731, 731, NULL, "", 0},
    {"none for a namespace's root", 0, 0, NULL, SINGLE, 0},
    {"none that has no number in the namespace", 0, 5, NULL, "0 1000 1\n1 100000 700\n", 0},
    {"one that has", 0, 5, NULL, ROOTLESS, 731},
};

static void the_servers_own_uid_is_nobody_elses(void)
{
    for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
        struct identity_facts f = {.workspace = "/w",
                                   .euid = services[i].euid,
                                   .workspace_uid = services[i].owner,
                                   .workspace_gid = services[i].owner,
                                   .workspace_mode = S_IFDIR,
                                   .workspace_open_to_root = true,
                                   .puid = services[i].puid,
                                   .capabilities = ALL};
        (void)snprintf(f.uid_map, sizeof f.uid_map, "%s", services[i].uid_map);
        struct identity got;
        struct err e = ERR_NONE;
        TEST_CASE(services[i].name);
        TEST_CHECK_(identity_decide(&f, &got, &e) == 0, "%s", e.msg);
        TEST_CHECK_(got.service == services[i].service, "%u", got.service);
        TEST_CHECK((got.lack == NULL) == (got.service != 0));
        TEST_CHECK(!got.service || got.service != got.uid);
    }
}

static void supplementary_groups_are_kept_but_for_roots(void)
{
    struct identity_facts f = {.workspace = "/w",
                               .workspace_uid = 1001,
                               .workspace_gid = 1001,
                               .workspace_mode = S_IFDIR,
                               .capabilities = ALL,
                               .groups = {0, 44, 100},
                               .group_count = 3};
    struct identity got;
    TEST_CHECK(identity_decide(&f, &got, NULL) == 0);
    TEST_CHECK(got.group_count == 2 && got.groups[0] == 44 && got.groups[1] == 100);
    f.euid = 1001;
    TEST_CHECK(identity_decide(&f, &got, NULL) == 0);
    TEST_CHECK(got.group_count == 3 && !got.change);
}

static void a_workspace_that_is_no_directory_is_refused(void)
{
    struct identity_facts f = {.workspace = "/w",
                               .workspace_uid = 1001,
                               .workspace_mode = S_IFREG | 0644,
                               .capabilities = ALL};
    struct identity got;
    struct err e = ERR_NONE;
    TEST_CHECK(identity_decide(&f, &got, &e) == -ENOTDIR);
    TEST_CHECK(strcmp(e.msg, "workspace /w: not a directory") == 0);
}

static const struct {
    const char *text;
    int result;
    mode_t mask;
} masks[] = {
    {"002", 0, 002},      {"0027", 0, 027},      {"0", 0, 0},         {"777", 0, 0777},
    {"8", -EINVAL, 0},    {"1000", -EINVAL, 0},  {"rwx", -EINVAL, 0}, {"-2", -EINVAL, 0},
    {"022 ", -EINVAL, 0}, {"00022", -EINVAL, 0},
};

static void a_umask_is_octal(void)
{
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        struct identity_facts f = {.euid = 5, .umask = masks[i].text};
        struct identity got = {.uid = 0};
        struct err e = ERR_NONE;
        TEST_CASE(masks[i].text);
        TEST_CHECK(identity_decide(&f, &got, &e) == masks[i].result);
        if (masks[i].result)
            TEST_CHECK_(strncmp(e.msg, "UMASK: ", 7) == 0, "%s", e.msg);
        else
            TEST_CHECK(got.set_umask && got.umask == masks[i].mask);
    }
}

#define TEST(name) {#name, name}

TEST_LIST = {
    TEST(the_identity_is_decided_by_the_facts),
    TEST(the_servers_own_uid_is_nobody_elses),
    TEST(supplementary_groups_are_kept_but_for_roots),
    TEST(a_workspace_that_is_no_directory_is_refused),
    TEST(a_umask_is_octal),
    {NULL, NULL},
};
