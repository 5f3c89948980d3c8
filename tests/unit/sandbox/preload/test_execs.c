/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that are made beside a denied file, behind ruleset and broker: execve() and its kind are
 * those of src/sandbox/preload/execs.c here. What they start does not have the library. */
#include "unit/sandbox/brokertest.h"

#include <dlfcn.h>
#include <elf.h>
#include <spawn.h>

enum { ALL_WELL = 7, MANY = 3000, TEXT = 1024 };

static const struct lists lists = {.deny_read = "[\".env\"]", .deny_write = "[]"};
static char here[TEXT / 2]; /* the workspace */

static void make_workspace(void)
{
    make_place_anew();
    write_file("@w/.env", "#!/bin/sh\nexit 7\n");
    TEST_ASSERT(chmod(full("@w/.env"), 0755) == 0);
    (void)snprintf(here, sizeof here, "%s", full("@w"));
}

/* --- inside: programs that are new ------------------------------------------------------------ */

static void make_program(const char *name, const void *bytes, size_t n, mode_t mode)
{
    drop_fd int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    HOLDS(fd >= 0 && fd_write(fd, bytes, n) == 0 && fchmod(fd, mode) == 0);
}

static void make_script(const char *name, const char *text)
{
    make_program(name, text, strlen(text), 0755);
}

static void copy_program(const char *from, const char *name)
{
    char bytes[4096];
    drop_fd int in = open(from, O_RDONLY | O_CLOEXEC);
    drop_fd int out = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    ssize_t n;
    while ((n = read(in, bytes, sizeof bytes)) > 0)
        HOLDS(fd_write(out, bytes, (size_t)n) == 0);
    HOLDS(n == 0);
}

/* The least that is a static program: it ends with ALL_WELL. */
static void make_static(const char *name)
{
#if defined __x86_64__
    static const unsigned char code[] = {0xb8, 60, 0, 0, 0, 0xbf, ALL_WELL, 0, 0, 0, 0x0f, 0x05};
    enum { MACHINE = EM_X86_64 };
#else
    static const uint32_t code[] = {0xd2800ba8, 0xd2800000 | ALL_WELL << 5, 0xd4000001};
    enum { MACHINE = EM_AARCH64 };
#endif
    struct {
        Elf64_Ehdr head;
        Elf64_Phdr part;
        unsigned char code[sizeof code];
    } image = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                        .e_type = ET_EXEC,
                        .e_machine = MACHINE,
                        .e_version = EV_CURRENT,
                        .e_entry = 0x400000 + sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
                        .e_phoff = sizeof(Elf64_Ehdr),
                        .e_ehsize = sizeof(Elf64_Ehdr),
                        .e_phentsize = sizeof(Elf64_Phdr),
                        .e_phnum = 1},
               .part = {.p_type = PT_LOAD,
                        .p_flags = PF_R | PF_X,
                        .p_vaddr = 0x400000,
                        .p_paddr = 0x400000,
                        .p_filesz = sizeof image,
                        .p_memsz = sizeof image,
                        .p_align = 0x1000}};
    memcpy(image.code, code, sizeof code);
    make_program(name, &image, sizeof image, 0755);
}

/* --- inside: how it ends ---------------------------------------------------------------------- */

static const char *program;
static char *const *words;

/* In a child: its status, or 100 and the errno of the call. */
static int status_of(int (*start)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        (void)start();
        _exit(100 + errno);
    }
    HOLDS(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int plainly(void)
{
    return (int)syscall(SYS_execve, program, words, environ);
}

static int by_execve(void)
{
    return execve(program, words, environ);
}

static int by_execv(void)
{
    return execv(program, words);
}

static int by_execvp(void)
{
    return execvp(program, words);
}

static int by_execvpe(void)
{
    return execvpe(program, words, environ);
}

static int by_execl(void)
{
    return execl(program, words[0], words[1], words[2], (char *)NULL);
}

static int by_execlp(void)
{
    return execlp(program, words[0], words[1], words[2], (char *)NULL);
}

static int by_execle(void)
{
    return execle(program, words[0], words[1], words[2], (char *)NULL, environ);
}

typedef int spawn_fn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                     const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]);

static int spawned(spawn_fn *spawn)
{
    int status;
    pid_t pid;
    errno = spawn(&pid, program, NULL, NULL, words, environ);
    if (errno == 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    return -1;
}

static int by_spawn(void)
{
    return spawned(posix_spawn);
}

static int by_spawnp(void)
{
    return spawned(posix_spawnp);
}

static int (*const ways[])(void) = {by_execve, by_execv,  by_execvp, by_execvpe, by_execl,
                                    by_execlp, by_execle, by_spawn,  by_spawnp};

/* A static program has no other posix_spawn() behind this one. */
static size_t count_ways(void)
{
    const size_t n = sizeof ways / sizeof *ways;
    return dlsym(RTLD_NEXT, "posix_spawn") ? n : n - 2;
}

static int run_as(const char *path, char *const *argv)
{
    program = path;
    words = argv;
    return status_of(by_execve);
}

/* --- the tests -------------------------------------------------------------------------------- */

static void use_every_way(void)
{
    char *const given[] = {"zero", "one", "two", NULL};
    make_script("script", "#!/bin/sh\n[ $# = 2 ] && [ $1 = one ] && [ $2 = two ] && exit 7\n");
    HOLDS(setenv("PATH", here, 1) == 0);
    program = "./script";
    words = given;
    HOLDS(status_of(plainly) == 100 + EACCES);
    for (size_t i = 0; i < count_ways(); i++)
        if (status_of(ways[i]) != ALL_WELL)
            complain("way %zu: %d", i, status_of(ways[i]));
    program = "script"; /* by the search path, where there is one */
    for (size_t i = 0; i < count_ways(); i++)
        if (status_of(ways[i]) != ALL_WELL)
            complain("way %zu by name: %d", i, status_of(ways[i]));
}

static void new_programs_are_executed_by_every_function(void)
{
    make_workspace();
    act(&lists, use_every_way);
}

static void use_kinds(void)
{
    char *const given[] = {"name", "one", NULL};
    char *const to_shell[] = {"name", "-c", "[ \"$0\" = name ] && exit 7", NULL};
    char text[TEXT];
    make_script("named", "#!/bin/sh\n[ \"$0\" = ./named ] && [ \"$1\" = one ] && exit 7\n");
    HOLDS(run_as("./named", given) == ALL_WELL);
    make_script("blanks", "#! \t/bin/sh \t-e \t\nfalse\nexit 7\n");
    HOLDS(run_as("./blanks", given) == 1);
    (void)snprintf(text, sizeof text, "#!%s/named word\n", here);
    make_script("second", text); /* named, word, ./second, one */
    (void)snprintf(text, sizeof text,
                   "#!/bin/sh\n[ \"$1 $2 $3\" = 'word ./second one' ] && exit 7\n");
    make_script("named", text);
    HOLDS(run_as("./second", given) == ALL_WELL);
    copy_program("/bin/sh", "shell");
    HOLDS(run_as("./shell", to_shell) == ALL_WELL);
    HOLDS(run_as("shell", to_shell) == ALL_WELL);
    make_script("by-shell", "#!shell\nexit 7\n");
    HOLDS(run_as("./by-shell", given) == ALL_WELL);
    make_static("static");
    HOLDS(run_as("./static", given) == ALL_WELL);
    make_script("by-static", "#!./static\n");
    HOLDS(run_as("./by-static", given) == ALL_WELL);
    HOLDS(run_as("/bin/sh", to_shell) == ALL_WELL);
}

static void scripts_and_programs_of_both_kinds_run_with_their_words(void)
{
    make_workspace();
    act(&lists, use_kinds);
}

static void use_what_is_none(void)
{
    char *const given[] = {"name", "one", NULL};
    HOLDS(run_as("./.env", given) == 100 + EACCES);
    HOLDS(run_as("missing", given) == 100 + ENOENT);
    HOLDS(run_as((const char *)16, given) == 100 + EFAULT);
    HOLDS(run_as(".", given) == 100 + EACCES);
    make_program("data", "#!/bin/sh\nexit 7\n", 17, 0644);
    HOLDS(run_as("./data", given) == 100 + EACCES);
    HOLDS(run_as("./data/x", given) == 100 + ENOTDIR);
    make_script("empty", "");
    HOLDS(run_as("./empty", given) == 100 + ENOEXEC);
    make_script("bare", "exit 7\n");
    HOLDS(run_as("./bare", given) == 100 + ENOEXEC);
    program = "./bare";
    HOLDS(status_of(by_execvp) == ALL_WELL); /* by sh, as its page has it */
    make_script("lost", "#!/missing\n");
    HOLDS(run_as("./lost", given) == 100 + ENOENT);
    make_script("round", "#!./round\n");
    HOLDS(run_as("./round", given) == 100 + ELOOP);
    make_script("broken", "\177ELF\2\1\1");
    HOLDS(run_as("./broken", given) == 100 + ENOEXEC);
    program = "nowhere";
    HOLDS(status_of(by_execvp) == 100 + ENOENT);
    HOLDS(status_of(by_spawnp) == 100 + (dlsym(RTLD_NEXT, "posix_spawn") ? ENOENT : ENOSYS));
}

static void what_is_no_program_or_denied_is_the_error_that_it_was(void)
{
    make_workspace();
    act(&lists, use_what_is_none);
    TEST_CHECK(was_refused("openat", "@w/.env"));
}

static void use_many_words(void)
{
    char *given[MANY + 1];
    for (int i = 0; i < MANY; i++)
        given[i] = "word";
    given[MANY] = NULL;
    make_script("count", "#!/bin/sh\n[ $# = 2999 ] && exit 7\n");
    HOLDS(run_as("./count", given) == ALL_WELL);
    given[0] = NULL;
    HOLDS(run_as("./count", given) == 1);
}

static void any_number_of_words_goes_along(void)
{
    make_workspace();
    act(&lists, use_many_words);
}

TEST_LIST = {
    {"new programs are executed by every function", new_programs_are_executed_by_every_function},
    {"scripts and programs of both kinds run with their words",
     scripts_and_programs_of_both_kinds_run_with_their_words},
    {"what is no program, or denied, is the error that it was",
     what_is_no_program_or_denied_is_the_error_that_it_was},
    {"any number of words goes along", any_number_of_words_goes_along},
    {NULL, NULL},
};
