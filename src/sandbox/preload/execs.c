/* SPDX-License-Identifier: Apache-2.0
 *
 * The other half of the library that sandboxed programs are given (opens.c): programs that were
 * made beside a denied file. The kernel reads a program to execute it, the ruleset has no rule for
 * a file that is new, and the broker cannot execute for another process. So what the ruleset
 * refuses and the broker opens is started by what the kernel would have started it with: a script
 * by its interpreter, a dynamic program by its dynamic linker, a static one as a copy in memory.
 * Limits: calls by a path; not fexecve(), nor programs without this library. The dynamic linker is
 *         what /proc/self/exe leads to then.
 * Calls:  on the stack of the caller, who may share its memory with its parent (vfork(2)); more
 *         than ARGS_SHORT arguments take a mapping, which such a parent keeps. */
#include <elf.h>
#include <errno.h>
#include <linux/fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "sandbox/preload/opens_mark.h"

enum {
    LEVELS = 5,  /* of interpreters, as the kernel has it */
    LINE = 256,  /* of a script, as the kernel has it */
    PATH = 4096, /* a path with its 0 */
    PREFIX_MAX = 4 * LEVELS + 4,
    ARGS_SHORT = 1024,
    HEADERS_MAX = 64,
    MAY_EXECUTE = 1,  /* X_OK */
    PROT_BOTH = 3,    /* PROT_READ | PROT_WRITE */
    MAP_OWN = 0x22,   /* MAP_PRIVATE | MAP_ANONYMOUS */
    CLOSE_ON_EXEC = 1 /* MFD_CLOEXEC */
};

long syscall(long number, ...);
void *dlsym(void *handle, const char *name);
extern char **environ;

/* What is to be executed in the place of what was asked for. */
struct plan {
    const char *path;
    const char *prefix[PREFIX_MAX]; /* in the place of argv[0] */
    int count;
    int copy; /* a program in memory, or -1 */
    char lines[LEVELS][LINE], here[PATH], fd_path[32];
};

/* --- text, without a C library ---------------------------------------------------------------- */

static size_t text_length(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

static bool has_prefix(const char *text, char c)
{
    for (; *text; text++)
        if (*text == c)
            return true;
    return false;
}

static size_t put_word(char *to, size_t at, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[at + i] = text[i];
    to[at + n] = '\0';
    return at + n;
}

/* --- what the ruleset says ----------------------------------------------------------------------
 * */

static bool ruleset_refuses(const char *path)
{
    const int before = errno;
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0,
                      OPENS_MARK_5TH, OPENS_MARK_6TH);
    const bool refused = fd < 0 && errno == EACCES;
    if (fd >= 0)
        (void)syscall(SYS_close, fd);
    errno = before;
    return refused;
}

/* A program that may be executed, opened by the broker; -1 where it may not. */
static int open_program(const char *path)
{
    if (syscall(SYS_faccessat, AT_FDCWD, path, MAY_EXECUTE) < 0)
        return -1;
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0,
                        0L, 0L);
}

/* --- plans ------------------------------------------------------------------------------------ */

/* Puts n words before what follows the present first one, which is gone. */
static bool push(struct plan *plan, const char *const *words, int n)
{
    if (plan->count + n - 1 > PREFIX_MAX)
        return false;
    for (int i = plan->count - 1; i > 0; i--)
        plan->prefix[i + n - 1] = plan->prefix[i];
    for (int i = 0; i < n; i++)
        plan->prefix[i] = words[i];
    plan->count += n - 1;
    return true;
}

static char *skip_script_blanks(char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

/* line: "#! interpreter argument", of which the argument may be missing, and is one word. */
static int plan_script(struct plan *plan, char *line)
{
    char *name = skip_script_blanks(line + 2), *end = name;
    while (*end && *end != ' ' && *end != '\t')
        end++;
    char *argument = skip_script_blanks(end), *last = argument + text_length(argument);
    *end = '\0';
    while (last > argument && (last[-1] == ' ' || last[-1] == '\t'))
        *--last = '\0';
    if (*name == '\0')
        return ENOEXEC;
    const char *const words[] = {name, *argument ? argument : plan->path, plan->path};
    if (!push(plan, words, *argument ? 3 : 2))
        return ELOOP;
    plan->path = name;
    return 0;
}

/* The name of the dynamic linker; "" without one. */
static int find_linker(int fd, const Elf64_Ehdr *head, char *name)
{
    Elf64_Phdr at;
    *name = '\0';
    for (int i = 0; i < head->e_phnum && i < HEADERS_MAX; i++) {
        const uint64_t offset = head->e_phoff + (uint64_t)i * sizeof at;
        if (syscall(SYS_pread64, fd, &at, sizeof at, offset) != sizeof at)
            return ENOEXEC;
        if (at.p_type != PT_INTERP)
            continue;
        if (at.p_filesz == 0 || at.p_filesz >= LINE ||
            syscall(SYS_pread64, fd, name, at.p_filesz, at.p_offset) != (long)at.p_filesz)
            return ENOEXEC;
        name[at.p_filesz] = '\0';
        return 0;
    }
    return 0;
}

static int plan_copy(struct plan *plan, int fd)
{
    static const char digits[] = "0123456789";
    const char *name = plan->path;
    for (const char *at = plan->path; *at; at++)
        if (*at == '/')
            name = at + 1;
    int copy = (int)syscall(SYS_memfd_create, name, CLOSE_ON_EXEC);
    long moved = 1;
    while (copy >= 0 && moved > 0)
        moved = syscall(SYS_sendfile, copy, fd, NULL, (size_t)1 << 30);
    if (copy < 0 || moved < 0) {
        const int code = errno;
        if (copy >= 0)
            (void)syscall(SYS_close, copy);
        return code;
    }
    size_t at = put_word(plan->fd_path, 0, "/proc/self/fd/", sizeof "/proc/self/fd/" - 1);
    unsigned scale = 1;
    while ((unsigned)copy / scale >= 10)
        scale *= 10;
    for (; scale > 0; scale /= 10)
        at = put_word(plan->fd_path, at, &digits[(unsigned)copy / scale % 10], 1);
    plan->copy = copy;
    plan->path = plan->fd_path;
    return 0;
}

static int plan_elf(struct plan *plan, int fd, const char *line, char *name)
{
    Elf64_Ehdr head;
    for (size_t i = 0; i < sizeof head; i++)
        ((char *)&head)[i] = line[i];
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr))
        return ENOEXEC;
    int code = find_linker(fd, &head, name);
    if (code != 0 || *name == '\0')
        return code ? code : plan_copy(plan, fd);
    if (!has_prefix(plan->path, '/')) { /* else it is looked for among the libraries */
        if (text_length(plan->path) + 3 > sizeof plan->here)
            return ENAMETOOLONG;
        (void)put_word(plan->here, put_word(plan->here, 0, "./", 2), plan->path,
                       text_length(plan->path));
        plan->path = plan->here;
    }
    const char *const words[] = {name, "--argv0", plan->prefix[0], plan->path};
    if (!push(plan, words, 4))
        return ELOOP;
    plan->path = name;
    return 0;
}

/* One step, by what the file begins with. */
static int plan_file(struct plan *plan, int fd, char *line, char *name)
{
    static const char elf[] = ELFMAG;
    long n = syscall(SYS_pread64, fd, line, LINE - 1, 0L);
    if (n < 0)
        return EACCES;
    for (long i = n; i < LINE; i++)
        line[i] = '\0';
    if (line[0] == '#' && line[1] == '!') {
        for (char *at = line; *at; at++)
            if (*at == '\n')
                *at = '\0';
        return plan_script(plan, line);
    }
    for (int i = 0; i < SELFMAG; i++)
        if (line[i] != elf[i])
            return ENOEXEC;
    return plan_elf(plan, fd, line, name);
}

/* How to execute it, if the ruleset refuses it: 1. Else 0: as it was asked for; or -errno. */
static int make_plan(struct plan *plan, const char *path, char *const *argv)
{
    char line[LINE];
    plan->path = path;
    plan->count = 1;
    plan->prefix[0] = argv && argv[0] ? argv[0] : path;
    plan->copy = -1;
    for (int level = 0; ruleset_refuses(plan->path); level++) {
        if (level == LEVELS)
            return -ELOOP;
        int fd = open_program(plan->path);
        if (fd < 0) /* one that nobody may read can be executed all the same (mode 0711) */
            return plan->path != path;
        char *kept = plan->lines[level];
        int code = plan_file(plan, fd, kept, line);
        if (code == 0 && plan->path == line) { /* the name of a dynamic linker */
            (void)put_word(kept, 0, line, text_length(line));
            plan->path = plan->prefix[0] = kept;
        }
        (void)syscall(SYS_close, fd);
        if (code != 0)
            return -code;
        if (plan->copy >= 0)
            return 1;
    }
    return plan->path != path;
}

/* The arguments of a plan, in `room` or in a mapping; NULL: there is no memory. */
static char **all_arguments(const struct plan *plan, char *const *argv, char **room,
                            size_t *ret_size)
{
    size_t n = 0;
    while (argv && argv[n])
        n++;
    const size_t rest = n ? n - 1 : 0, count = (size_t)plan->count + rest + 1;
    char **all = room;
    *ret_size = 0;
    if (count > ARGS_SHORT) {
        *ret_size = count * sizeof *all;
        long at = syscall(SYS_mmap, 0L, *ret_size, PROT_BOTH, MAP_OWN, -1, 0L);
        if (at == -1)
            return NULL;
        all = (char **)at;
    }
    for (int i = 0; i < plan->count; i++)
        all[i] = (char *)(uintptr_t)plan->prefix[i];
    for (size_t i = 0; i < rest; i++)
        all[(size_t)plan->count + i] = argv[i + 1];
    all[count - 1] = NULL;
    return all;
}

static void forget_script(const struct plan *plan, char **all, size_t size)
{
    const int before = errno;
    if (plan->copy >= 0)
        (void)syscall(SYS_close, plan->copy);
    if (size > 0)
        (void)syscall(SYS_munmap, all, size);
    errno = before;
}

static int execute_program(const char *path, char *const *argv, char *const *envp)
{
    struct plan plan;
    char *room[ARGS_SHORT];
    size_t size = 0;
    int planned = make_plan(&plan, path, argv);
    if (planned == 0)
        return (int)syscall(SYS_execve, path, argv, envp);
    if (planned < 0) {
        errno = -planned;
        return -1;
    }
    char **all = all_arguments(&plan, argv, room, &size);
    if (all)
        (void)syscall(SYS_execve, plan.path, all, envp);
    forget_script(&plan, all, size);
    return -1;
}

/* --- by name ---------------------------------------------------------------------------------- */

static const char *search_path(void)
{
    for (char **at = environ; at && *at; at++)
        if ((*at)[0] == 'P' && (*at)[1] == 'A' && (*at)[2] == 'T' && (*at)[3] == 'H' &&
            (*at)[4] == '=')
            return *at + 5;
    return "/bin:/usr/bin";
}

/* The next directory of the list with the name; false: it does not fit. *list is behind it then, or
 * NULL at the end. */
static bool next_path(const char **list, const char *name, char *to)
{
    const char *dir = *list;
    size_t n = 0;
    while (dir[n] && dir[n] != ':')
        n++;
    *list = dir[n] ? dir + n + 1 : NULL;
    if (n + text_length(name) + 2 > PATH)
        return false;
    size_t at = put_word(to, 0, dir, n);
    if (n > 0)
        at = put_word(to, at, "/", 1);
    (void)put_word(to, at, name, text_length(name));
    return true;
}

/* What is no program and no script of its own is one for sh, as execvp(3) has it. */
static int execute_or_sh(const char *path, char *const *argv, char *const *envp)
{
    (void)execute_program(path, argv, envp);
    if (errno != ENOEXEC)
        return -1;
    struct plan plan = {.prefix = {"/bin/sh", path}, .count = 2, .copy = -1};
    char *room[ARGS_SHORT];
    size_t size = 0;
    char **all = all_arguments(&plan, argv, room, &size);
    if (all)
        (void)syscall(SYS_execve, "/bin/sh", all, envp);
    forget_script(&plan, all, size);
    return -1;
}

static bool goes_on(int code)
{
    return code == EACCES || code == ENOENT || code == ENOTDIR || code == ESTALE ||
           code == ENODEV || code == ETIMEDOUT;
}

static int search(const char *name, char *const *argv, char *const *envp)
{
    char path[PATH];
    bool refused = false;
    if (*name == '\0') {
        errno = ENOENT;
        return -1;
    }
    if (has_prefix(name, '/'))
        return execute_or_sh(name, argv, envp);
    for (const char *list = search_path(); list;) {
        if (!next_path(&list, name, path))
            continue;
        (void)execute_or_sh(path, argv, envp);
        refused = refused || errno == EACCES;
        if (!goes_on(errno))
            return -1;
    }
    errno = refused ? EACCES : ENOENT;
    return -1;
}

/* --- what programs call ----------------------------------------------------------------------- */

int execve(const char *path, char *const argv[], char *const envp[]);
int execv(const char *path, char *const argv[]);
int execvp(const char *name, char *const argv[]);
int execvpe(const char *name, char *const argv[], char *const envp[]);
int execl(const char *path, const char *first, ...);
int execlp(const char *name, const char *first, ...);
int execle(const char *path, const char *first, ...);

int execve(const char *path, char *const argv[], char *const envp[])
{
    return execute_program(path, argv, envp);
}

int execv(const char *path, char *const argv[])
{
    return execute_program(path, argv, environ);
}

int execvp(const char *name, char *const argv[])
{
    return search(name, argv, environ);
}

int execvpe(const char *name, char *const argv[], char *const envp[])
{
    return search(name, argv, envp);
}

/* The words of a list, whose end is NULL; false: too many. */
static bool collect_arguments(const char *first, va_list *words, char **room)
{
    size_t n = 0;
    for (const char *word = first; word; word = va_arg(*words, const char *)) {
        if (n + 1 == ARGS_SHORT) {
            errno = E2BIG;
            return false;
        }
        room[n++] = (char *)(uintptr_t)word;
    }
    room[n] = NULL;
    return true;
}

int execl(const char *path, const char *first, ...)
{
    char *room[ARGS_SHORT];
    va_list words;
    va_start(words, first);
    const bool fits = collect_arguments(first, &words, room);
    va_end(words);
    return fits ? execute_program(path, room, environ) : -1;
}

int execlp(const char *name, const char *first, ...)
{
    char *room[ARGS_SHORT];
    va_list words;
    va_start(words, first);
    const bool fits = collect_arguments(first, &words, room);
    va_end(words);
    return fits ? search(name, room, environ) : -1;
}

int execle(const char *path, const char *first, ...)
{
    char *room[ARGS_SHORT];
    va_list words;
    va_start(words, first);
    const bool fits = collect_arguments(first, &words, room);
    char *const *envp = fits ? va_arg(words, char *const *) : NULL;
    va_end(words);
    return fits ? execute_program(path, room, envp) : -1;
}

/* --- posix_spawn(3): the C library's, with what the plan says --------------------------------- */

typedef int spawn_fn(int *pid, const char *path, const void *actions, const void *attributes,
                     char *const argv[], char *const envp[]);

spawn_fn posix_spawn, posix_spawnp;

static int has_no_spawn(int *pid, const char *path, const void *actions, const void *attributes,
                        char *const argv[], char *const envp[])
{
    (void)pid, (void)path, (void)actions, (void)attributes, (void)argv, (void)envp;
    return ENOSYS;
}

static spawn_fn *next_word(const char *name)
{
    void *found = dlsym((void *)-1L, name); /* RTLD_NEXT */
    return found ? (spawn_fn *)(uintptr_t)found : has_no_spawn;
}

static int spawn_program(spawn_fn *as_asked, int *pid, const char *asked, const char *path,
                         const void *actions, const void *attributes, char *const *argv,
                         char *const *envp)
{
    struct plan plan;
    char *room[ARGS_SHORT];
    size_t size = 0;
    int planned = make_plan(&plan, path, argv);
    if (planned == 0)
        return as_asked(pid, asked, actions, attributes, argv, envp);
    if (planned < 0)
        return -planned;
    char **all = all_arguments(&plan, argv, room, &size);
    int code =
        all ? next_word("posix_spawn")(pid, plan.path, actions, attributes, all, envp) : ENOMEM;
    forget_script(&plan, all, size);
    return code;
}

int posix_spawn(int *pid, const char *path, const void *actions, const void *attributes,
                char *const argv[], char *const envp[])
{
    return spawn_program(next_word("posix_spawn"), pid, path, path, actions, attributes, argv,
                         envp);
}

int posix_spawnp(int *pid, const char *name, const void *actions, const void *attributes,
                 char *const argv[], char *const envp[])
{
    char path[PATH];
    const char *found = has_prefix(name, '/') ? name : NULL;
    for (const char *list = search_path(); !found && list;)
        if (next_path(&list, name, path) &&
            syscall(SYS_faccessat, AT_FDCWD, path, MAY_EXECUTE) == 0)
            found = path;
    return spawn_program(next_word("posix_spawnp"), pid, name, found ? found : name, actions,
                         attributes, argv, envp);
}
