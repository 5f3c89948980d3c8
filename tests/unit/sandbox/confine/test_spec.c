/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/confine/spec.h"

static struct sandbox_spec *there_and_back(const struct sandbox_spec *spec)
{
    struct sandbox_spec *ret = NULL;
    struct err e = ERR_NONE;
    drop_fd int fd = -1;
    TEST_ASSERT(sandbox_spec_write(spec, &fd, &e) == 0);
    TEST_ASSERT_(sandbox_spec_read(fd, &ret, &e) == 0, "%s", e.msg);
    return ret;
}

static void what_is_written_is_read(void)
{
    const char *const dirs[] = {"/run/k1", "/home/\"x\"\n", NULL}, *const sockets[] = {"/s", NULL};
    const uint16_t ports[] = {8900, 65535, 0};
    const struct sandbox_spec spec = {.settings = "{\"network\": {}}",
                                      .cwd = "/work",
                                      .home = "/home/x",
                                      .private_dirs = dirs,
                                      .unix_sockets = sockets,
                                      .ports = ports,
                                      .disk_places = dirs,
                                      .hidden = sockets,
                                      .kept = dirs,
                                      .options = "mcp",
                                      .level = SANDBOX_LANDLOCK,
                                      .distrusts_cwd = true,
                                      .terminals = true,
                                      .limits = {.tasks = 7,
                                                 .files = 9,
                                                 .file_size = 1 << 30,
                                                 .memory = 1ULL << 33,
                                                 .disk = 1ULL << 34,
                                                 .cpu = 3}};
    struct sandbox_spec *got = there_and_back(&spec);
    TEST_CHECK(strcmp(got->settings, spec.settings) == 0 && strcmp(got->cwd, "/work") == 0);
    TEST_CHECK(got->distrusts_cwd && got->terminals);
    TEST_CHECK(strcmp(got->home, "/home/x") == 0 && got->level == SANDBOX_LANDLOCK);
    TEST_CHECK(strcmp(got->private_dirs[1], dirs[1]) == 0 && !got->private_dirs[2]);
    TEST_CHECK(strcmp(got->unix_sockets[0], "/s") == 0 && !got->unix_sockets[1]);
    TEST_CHECK(got->ports[0] == 8900 && got->ports[1] == 65535 && got->ports[2] == 0);
    TEST_CHECK(got->limits.tasks == 7 && got->limits.files == 9 && got->limits.cpu == 3);
    TEST_CHECK(got->limits.file_size == 1 << 30 && got->limits.memory == 1ULL << 33);
    TEST_CHECK(strcmp(got->options, "mcp") == 0 && got->terminals);
    TEST_CHECK(got->limits.disk == 1ULL << 34 && strcmp(got->disk_places[1], dirs[1]) == 0);
    TEST_CHECK(strcmp(got->hidden[0], "/s") == 0 && !got->hidden[1]);
    TEST_CHECK(strcmp(got->kept[1], dirs[1]) == 0 && !got->kept[2]);
    TEST_CHECK(sandbox_spec_free(got) == NULL);
}

static void the_walls_alone_may_have_places(void)
{
    const char *const hidden[] = {"/run/secrets/token", NULL}, *const own[] = {"/run/k1", NULL};
    struct sandbox_spec spec = sandbox_walls;
    spec.hidden = hidden;
    spec.private_dirs = own;
    struct sandbox_spec *got = there_and_back(&spec);
    TEST_CHECK(!got->settings && strcmp(got->hidden[0], hidden[0]) == 0 && !got->kept);
    TEST_CHECK(strcmp(got->private_dirs[0], "/run/k1") == 0);
    (void)sandbox_spec_free(got);
}

static void more_places_than_are_read_are_not_written(void)
{
    const char *many[SANDBOX_SPEC_LIST_MAX + 2] = {NULL};
    struct sandbox_spec spec = sandbox_walls;
    struct err e = ERR_NONE;
    drop_fd int fd = -1;
    for (size_t i = 0; i < SANDBOX_SPEC_LIST_MAX; i++)
        many[i] = "/x";
    spec.hidden = many;
    TEST_CHECK(sandbox_spec_write(&spec, &fd, &e) == 0);
    many[SANDBOX_SPEC_LIST_MAX] = "/x";
    fd = fd_close(fd);
    TEST_CHECK(sandbox_spec_write(&spec, &fd, &e) == -E2BIG && *e.msg);
}

static void the_walls_alone_name_nothing(void)
{
    struct sandbox_spec *got = there_and_back(&sandbox_walls);
    TEST_CHECK(!got->settings && !got->cwd && !got->private_dirs && got->limits.tasks == 0);
    TEST_CHECK(!got->terminals);
    (void)sandbox_spec_free(got);
}

static void a_path_that_json_cannot_carry_is_refused(void)
{
    const struct sandbox_spec spec = {.settings = "{}", .cwd = "/\xff", .home = "/"};
    struct err e = ERR_NONE;
    int fd = -1;
    TEST_CHECK(sandbox_spec_write(&spec, &fd, &e) == -EILSEQ && fd == -1 && *e.msg);
}

static void nobody_changes_it_on_the_way(void)
{
    drop_fd int fd = -1;
    TEST_ASSERT(sandbox_spec_write(&sandbox_walls, &fd, NULL) == 0);
    TEST_CHECK(write(fd, "x", 1) < 0 && errno == EPERM);
    TEST_CHECK(ftruncate(fd, 0) < 0 && errno == EPERM);
    TEST_CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
}

static void what_is_not_whole_is_refused(void)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"walls\": false}",
        "{\"walls\": true}",
        "{\"walls\": true, \"level\": \"most\", \"limits\": {}}",
        "{\"walls\": true, \"level\": \"full\"}",
        "{\"settings\": \"{}\", \"cwd\": \"/\", \"level\": \"full\", \"limits\": {}}",
        "{\"settings\": \"{}\", \"cwd\": \"/\", \"home\": \"/\", \"private\": [1], "
        "\"sockets\": [], \"ports\": [], \"level\": \"full\", \"limits\": {}}",
        "{\"settings\": \"{}\", \"cwd\": \"/\", \"home\": \"/\", \"private\": [], \"sockets\": [], "
        "\"ports\": [70000], \"level\": \"full\", \"limits\": {}}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct sandbox_spec *spec = NULL;
        struct err e = ERR_NONE;
        drop_fd int fd = memfd_create("spec", MFD_CLOEXEC);
        TEST_CASE(texts[i]);
        TEST_ASSERT(fd_write(fd, texts[i], strlen(texts[i])) == 0);
        TEST_CHECK(sandbox_spec_read(fd, &spec, &e) < 0 && !spec && *e.msg);
    }
}

TEST_LIST = {
    {"what_is_written_is_read", what_is_written_is_read},
    {"the_walls_alone_name_nothing", the_walls_alone_name_nothing},
    {"the_walls_alone_may_have_places", the_walls_alone_may_have_places},
    {"more_places_than_are_read_are_not_written", more_places_than_are_read_are_not_written},
    {"a_path_that_json_cannot_carry_is_refused", a_path_that_json_cannot_carry_is_refused},
    {"nobody_changes_it_on_the_way", nobody_changes_it_on_the_way},
    {"what_is_not_whole_is_refused", what_is_not_whole_is_refused},
    {NULL, NULL},
};
