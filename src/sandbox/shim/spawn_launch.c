/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/shim/spawn_launch.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/process/exec.h"
#include "base/service.h"

enum {
    LAUNCH_STACK = 64 * 1024,
    LAUNCH_FAILED = 127,
    KEPT_MAX = CHILD_FIRST_FD + CHILD_FDS_MAX - LAUNCH_CONTROL_FD,
    WORDS_MAX = 10, /* of the shim's own */
    NUMBER_MAX = 12
};

struct shim_launch {     /* what a process is started with */
    const char *program; /* without a slash it is looked up in our PATH */
    const char *cwd;     /* NULL: ours */
    const struct launch_ends *ends;
    const struct rlimit *files;
    char *const *argv, *const *envp;
    int error; /* of the step that failed */
};

/* Gives fd the number `number`, at which it survives exec. */
static bool put_spawn_word(int fd, int number)
{
    return fd == number ? fcntl(fd, F_SETFD, 0) == 0 : dup2(fd, number) == number;
}

static bool put_given(const struct launch_ends *ends)
{
    bool good = true;
    for (size_t i = 0; good && i < ends->fd_count; i++)
        good = put_spawn_word(ends->fds[i], CHILD_FIRST_FD + (int)i);
    return good;
}

static bool put_ends(const struct launch_ends *ends)
{
    int input = ends->input >= 0 ? ends->input
                : ends->terminal ? ends->output
                                 : open("/dev/null", O_RDONLY | O_CLOEXEC);
    return input >= 0 && put_spawn_word(input, STDIN_FILENO) &&
           put_spawn_word(ends->output, STDOUT_FILENO) &&
           put_spawn_word(ends->errors < 0 ? ends->output : ends->errors, STDERR_FILENO) &&
           put_spawn_word(ends->control, LAUNCH_CONTROL_FD) &&
           (ends->spec < 0 || put_spawn_word(ends->spec, LAUNCH_SPEC_FD)) && put_given(ends);
}

/* The numbers that put_ends() has given. */
static size_t list_kept(const struct launch_ends *ends, int *kept)
{
    size_t n = 0;
    kept[n++] = LAUNCH_CONTROL_FD;
    if (ends->spec >= 0)
        kept[n++] = LAUNCH_SPEC_FD;
    for (size_t i = 0; i < ends->fd_count; i++)
        kept[n++] = CHILD_FIRST_FD + (int)i;
    return n;
}

/* The new process, on a stack of its own in our memory, while we wait: system calls on prepared
 * data alone. The server's own uid protects it until the last moment, and does not go on. */
__attribute__((no_sanitize("address"))) static int become(void *ctx)
{
    struct shim_launch *launch = ctx;
    sigset_t none;
    sigemptyset(&none);
    bool ready = put_ends(launch->ends) && (!launch->cwd || chdir(launch->cwd) == 0) &&
                 setrlimit(RLIMIT_NOFILE, launch->files) == 0 && setpgid(0, 0) == 0 &&
                 sigprocmask(SIG_SETMASK, &none, NULL) == 0;
    int r = ready ? service_give_up() : -errno;
    int kept[KEPT_MAX];
    const struct exec_call exec = {.program = launch->program,
                                   .argv = launch->argv,
                                   .envp = launch->envp,
                                   .kept = kept,
                                   .kept_count = list_kept(launch->ends, kept)};
    launch->error = -(r < 0 ? r : exec_alone(&exec));
    _exit(LAUNCH_FAILED);
}

/* clone(2) as posix_spawn(3) has it, which cannot change ids. Not fork: libzmq's threads may hold
 * the allocator's lock at this moment. No signal may find us in two processes. */
static int launch_program(struct shim_launch *launch, pid_t *ret_pid)
{
    alignas(16) static char stack[LAUNCH_STACK];
    sigset_t all, before;
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = clone(become, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, launch);
    int r = pid < 0 ? -errno : -launch->error;
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    if (r == 0)
        *ret_pid = pid;
    while (r < 0 && pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return r;
}

int launch_shim(const struct child_spec *spec, const struct launch_ends *ends,
                const struct rlimit *files, pid_t *ret_pid)
{
    size_t n = 0;
    while (spec->argv[n])
        n++;
    char given[NUMBER_MAX];
    const char **argv = xcalloc(n + WORDS_MAX, sizeof *argv);
    size_t at = 0;
    argv[at++] = "ipybox";
    argv[at++] = "shim";
    argv[at++] = "3";
    if (spec->program)
        argv[at++] = "--program";
    if (ends->spec >= 0) {
        argv[at++] = "--sandbox";
        argv[at++] = "4";
    }
    if (ends->fd_count > 0) {
        (void)snprintf(given, sizeof given, "%u", (unsigned)ends->fd_count);
        argv[at++] = "--given";
        argv[at++] = given;
    }
    argv[at++] = "--";
    memcpy(&argv[at], spec->argv, n * sizeof *argv);
    struct shim_launch launch = {.program = "/proc/self/exe",
                                 .cwd = spec->cwd,
                                 .ends = ends,
                                 .files = files,
                                 .argv = (char *const *)(size_t)argv,
                                 .envp = (char *const *)(size_t)spec->envp};
    int r = launch_program(&launch, ret_pid);
    xfree(argv);
    return r;
}

int launch_helper(const struct child_spec *spec, const struct launch_ends *ends,
                  const struct rlimit *files, pid_t *ret_pid)
{
    struct shim_launch launch = {.program = spec->argv[0],
                                 .cwd = spec->cwd,
                                 .ends = ends,
                                 .files = files,
                                 .argv = (char *const *)(size_t)spec->argv,
                                 .envp = (char *const *)(size_t)spec->envp};
    return launch_program(&launch, ret_pid);
}
