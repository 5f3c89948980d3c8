/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine that runs these tests has everything; what is missing elsewhere is taken away by a
 * filter that refuses the call as such a machine would. */
#include "unit/sandbox/wallstest.h"

#include "unit/as_service.h"

#include <linux/filter.h>
#include <stddef.h>

#include "sandbox/confine/level.h"
#include "sandbox/landlock/ruleset.h"

/* One call is refused to a child, which answers whether the probe says what is expected. */
struct lack {
    const char *name;
    int call;
    int code;
    enum sandbox_level level;
    const char *text; /* a part of it */
};

static const struct lack lacks[] = {
    {"no Landlock", LANDLOCK_CALL_CREATE, ENOSYS, SANDBOX_NONE, "(the kernel was built without it"},
    {"Landlock switched off", LANDLOCK_CALL_CREATE, EOPNOTSUPP, SANDBOX_NONE,
     "it is not among the security modules"},
    {"Landlock without rules", LANDLOCK_CALL_ADD_RULE, EPERM, SANDBOX_NONE,
     "no Landlock: Operation not permitted (a seccomp profile refuses it)"},
    {"Landlock not to be entered", LANDLOCK_CALL_RESTRICT, EPERM, SANDBOX_NONE,
     "no Landlock: Operation not permitted (a seccomp profile refuses it)"},
    {"no filters", SYS_seccomp, EPERM, SANDBOX_NONE,
     "no seccomp filter: Operation not permitted (a seccomp profile refuses it)"},
    {"no openat2 by an old profile", SYS_openat2, EPERM, SANDBOX_LANDLOCK,
     "no openat2: Operation not permitted "
     "(a seccomp profile refuses it: one that allows openat2 gives the level full)"},
    {"no openat2 by systemd", SYS_openat2, ENOSYS, SANDBOX_LANDLOCK,
     "no openat2: Function not implemented (the kernel is older than 5.6, or systemd's "
     "RestrictSUIDSGID= (with DynamicUser=, too)"},
    {"no fast reads", SYS_process_vm_readv, EPERM, SANDBOX_FULL, "memory by /proc/PID/mem"},
};

static const struct lack *lack;

static int take_away(const struct lack *what)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)what->call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)what->code),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return errno;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? errno : 0;
}

static int says(enum sandbox_level level, const char *part)
{
    struct sandbox_probe probe;
    sandbox_probe(&probe);
    drop_buf struct buf text = BUF_INIT(4096);
    sandbox_probe_text(&probe, &text);
    if (probe.level == level && strstr(buf_text(&text), part))
        return 0;
    (void)fprintf(stderr, "# %s\n", buf_text(&text));
    return EDOM;
}

static int probe_with_a_lack(void)
{
    int code = take_away(lack);
    return code ? code : says(lack->level, lack->text);
}

static void what_is_missing_is_named_with_its_reason(void)
{
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++) {
        TEST_CASE(lacks[i].name);
        lack = &lacks[i];
        TEST_CHECK(run(probe_with_a_lack, &no_wall) == 0);
    }
}

static int probe_here(void)
{
    return says(SANDBOX_FULL, "level full; Landlock ABI ");
}

/* The listener stays open, as that of a broker would. */
static int probe_inside(void)
{
    const struct filter_wants wants = {.listener = true, .open_network = true};
    if (enter_wall(&(struct wall){&wants, -1}) <= 0)
        return NO_WALL;
    return says(SANDBOX_LANDLOCK, "(another sandbox has one above this process)");
}

static void this_machine_has_everything(void)
{
    TEST_CHECK(run(probe_here, &no_wall) == 0);
    struct sandbox_probe probe;
    sandbox_probe(&probe);
    TEST_CHECK(probe.scopes == (probe.landlock_abi >= 6));
    TEST_CHECK(probe.listener_errno == 0 && probe.memory_errno == 0 && probe.open_errno == 0);
}

static void inside_another_sandbox_the_listener_is_taken(void)
{
    struct landlock_ruleset *walls = NULL;
    TEST_ASSERT(ruleset_build_walls(false, &walls, NULL) == 0);
    const struct wall wall = {NULL, ruleset_fd(walls)};
    TEST_CHECK(run(probe_inside, &wall) == 0);
    walls = ruleset_free(walls);
}

static int probe_while_not_dumpable(void)
{
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? errno : probe_here();
}

static void a_server_that_hides_its_memory_finds_out_the_same(void)
{
    TEST_CHECK(run(probe_while_not_dumpable, &no_wall) == 0);
}

static void probe_as_service(const char *dir)
{
    (void)dir;
    struct sandbox_probe probe;
    sandbox_probe(&probe);
    HOLDS(probe.level == SANDBOX_FULL && probe.memory_errno == 0);
}

static void a_server_with_a_uid_of_its_own_finds_what_its_children_will(void)
{
    as_service(probe_as_service);
}

static void levels_have_names_and_order(void)
{
    for (int i = 0; i < SANDBOX_LEVEL__COUNT; i++)
        TEST_CHECK(sandbox_level_of(sandbox_level_name((enum sandbox_level)i)) == i);
    TEST_CHECK(sandbox_level_of("fuller") == -EINVAL);
    TEST_CHECK(sandbox_level_of("") == -EINVAL);
    TEST_CHECK(SANDBOX_NONE < SANDBOX_LANDLOCK && SANDBOX_LANDLOCK < SANDBOX_FULL);
}

static void old_kernels_are_told_apart(void)
{
    const struct sandbox_probe old = {.level = SANDBOX_FULL, .landlock_abi = 3, .read_fast = true};
    drop_buf struct buf text = BUF_INIT(4096);
    sandbox_probe_text(&old, &text);
    TEST_CHECK(strcmp(buf_text(&text),
                      "level full; Landlock ABI 3 (before 6: no scope for signals and abstract "
                      "sockets); seccomp filter and listener; memory by process_vm_readv") == 0);
    TEST_MSG("%s", buf_text(&text));
}

#define NAMED(function) {#function, function}

TEST_LIST = {NAMED(this_machine_has_everything),
             NAMED(what_is_missing_is_named_with_its_reason),
             NAMED(inside_another_sandbox_the_listener_is_taken),
             NAMED(a_server_that_hides_its_memory_finds_out_the_same),
             NAMED(a_server_with_a_uid_of_its_own_finds_what_its_children_will),
             NAMED(levels_have_names_and_order),
             NAMED(old_kernels_are_told_apart),
             {NULL, NULL}};
