/* SPDX-License-Identifier: Apache-2.0
 *
 * A branch and its root, forked by a process of the test's own, whose parent the test is. The
 * root's program is a script that says on its descriptor 3 who it is. */
#include "sandbox/preload/forks.h"

#include <acutest.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE_BYTES = 200 };

static char folder[] = "/tmp/forks-XXXXXX", script[64];
static int said[2]; /* what is written to [1] is read from [0], a packet each */

static const char *steps[4];
static size_t step_count;

static void before(void)
{
    steps[step_count++] = "before";
}

static void after_parent(void)
{
    steps[step_count++] = "parent";
}

static void after_child(void)
{
    steps[step_count++] = "child";
}

static struct fork_order order_of(const char *program)
{
    return (struct fork_order){.fork = fork,
                               .before = before,
                               .after_parent = after_parent,
                               .after_child = after_child,
                               .program = program,
                               .null = open("/dev/null", O_RDWR | O_CLOEXEC),
                               .line = said[1]};
}

static void begin(void)
{
    TEST_ASSERT(mkdtemp(folder) != NULL);
    (void)snprintf(script, sizeof script, "%s/root", folder);
    FILE *file = fopen(script, "w");
    TEST_ASSERT(file != NULL);
    (void)fputs(
        "#!/bin/sh\nset -- $1 $2 $3 /proc/$$/fd/*\necho root $$ $PPID $1 $2 $3 $(($# - 3)) >&3\n",
        file);
    TEST_ASSERT(fclose(file) == 0 && chmod(script, S_IRWXU) == 0);
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, said) == 0);
    step_count = 0;
}

static void end(void)
{
    (void)close(said[0]);
    (void)close(said[1]);
    (void)unlink(script);
    (void)rmdir(folder);
    memcpy(strstr(folder, "forks-") + strlen("forks-"), "XXXXXX", strlen("XXXXXX"));
}

/* A packet of each of the three, in the order in which they come. */
static void hear_all(char root[LINE_BYTES], char branch[LINE_BYTES], char kernel[LINE_BYTES])
{
    *root = *branch = *kernel = '\0';
    for (int left = 3; left > 0; left--) {
        char text[LINE_BYTES];
        ssize_t n = recv(said[0], text, sizeof text - 1, 0);
        TEST_ASSERT(n > 0);
        text[n] = '\0';
        memcpy(*text == 'r' ? root : *text == 'b' ? branch : kernel, text, sizeof text);
    }
}

static void say(const char *text)
{
    TEST_ASSERT(write(said[1], text, strlen(text)) == (ssize_t)strlen(text));
}

static bool blocks_nothing(void)
{
    sigset_t set;
    return sigprocmask(SIG_BLOCK, NULL, &set) == 0 && sigismember(&set, SIGINT) == 0;
}

/* In a child of the test: what the kernel does. */
static void be_kernel(void)
{
    char text[LINE_BYTES], *memory = malloc(1);
    struct fork_order order = order_of(script);
    *memory = 'k';
    const bool branch = fork_branch(&order);
    if (branch)
        *memory = 'b';
    (void)snprintf(text, sizeof text, "%s %d %d %d %s %c %d", branch ? "branch" : "kernel",
                   getpid(), getppid(), order.root, steps[1], *memory, blocks_nothing());
    if (!branch)
        usleep(100000); /* what a branch writes would be seen by now */
    say(text);
    free(memory);
    if (branch)
        (void)pause();
    _exit(order.failed);
}

static void the_branch_is_the_roots_child_and_the_root_a_sibling(void)
{
    char of_root[LINE_BYTES], of_branch[LINE_BYTES], of_kernel[LINE_BYTES], step[LINE_BYTES];
    int root, parent, fds, pid, of, line, kernel, told, clear, status;
    char memory;
    begin();
    pid_t child = fork();
    if (child == 0)
        be_kernel();
    hear_all(of_root, of_branch, of_kernel);
    TEST_ASSERT_(sscanf(of_root, "root %d %d branch %d %d %d", &root, &parent, &line, &pid, &fds) ==
                     5,
                 "%s", of_root);
    TEST_CHECK(parent == getpid() && line == 3);
    TEST_CHECK_(fds == 6, "%s", of_root); /* 0 to 3, the script, and the folder that is read */
    TEST_ASSERT(sscanf(of_branch, "branch %d %d %d %s %c %d", &kernel, &of, &told, step, &memory,
                       &clear) == 6);
    TEST_CHECK(kernel == pid && told == root);
    TEST_CHECK(memory == 'b' && clear && strcmp(step, "child") == 0);
    TEST_CHECK(of == root || of == getpid()); /* the root has ended: its script is short */
    TEST_ASSERT(sscanf(of_kernel, "kernel %d %d %d %s %c %d", &kernel, &of, &told, step, &memory,
                       &clear) == 6);
    TEST_CHECK(kernel == child && of == getpid() && told == root);
    TEST_CHECK(memory == 'k' && clear && strcmp(step, "parent") == 0);
    TEST_CHECK(waitpid(child, &status, 0) == child && status == 0);
    TEST_CHECK(waitpid(root, &status, 0) == root && status == 0);
    TEST_CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
    end();
}

static void a_root_that_cannot_be_executed_leaves_no_branch(void)
{
    int status;
    begin();
    pid_t child = fork();
    if (child == 0) {
        struct fork_order order = order_of("/nowhere");
        if (fork_branch(&order))
            (void)pause(); /* until it is killed */
        _exit(order.failed == ENOENT && strcmp(steps[1], "parent") == 0 ? 0 : 1);
    }
    TEST_CHECK(waitpid(child, &status, 0) == child && status == 0);
    for (int left = 2; left > 0; left--) /* the root, and the branch that was its child */
        TEST_CHECK(waitpid(-1, &status, 0) > 0);
    TEST_CHECK(waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD);
    end();
}

static int no_fork(void)
{
    errno = EAGAIN;
    return -1;
}

static void where_no_branch_can_be_made_there_is_no_root(void)
{
    int status;
    begin();
    pid_t child = fork();
    if (child == 0) {
        struct fork_order order = order_of(script);
        order.fork = no_fork;
        _exit(!fork_branch(&order) && order.failed == EAGAIN ? 0 : 1);
    }
    TEST_CHECK(waitpid(child, &status, 0) == child && status == 0);
    TEST_CHECK(waitpid(-1, &status, 0) > 0);
    TEST_CHECK(waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD);
    end();
}

static void adopt(void)
{
    TEST_ASSERT(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
}

static void all_of_it(void)
{
    adopt();
    the_branch_is_the_roots_child_and_the_root_a_sibling();
}

static void without_a_program(void)
{
    adopt();
    a_root_that_cannot_be_executed_leaves_no_branch();
}

static void without_a_process(void)
{
    adopt();
    where_no_branch_can_be_made_there_is_no_root();
}

TEST_LIST = {{"the branch is the root's child, and the root the kernel's sibling", all_of_it},
             {"a root that cannot be executed leaves no branch", without_a_program},
             {"where no branch can be made there is no root", without_a_process},
             {NULL, NULL}};
