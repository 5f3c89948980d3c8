/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/launch/program.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/service.h"

enum { LINKS_MAX = 40 };

/* --- where it is ------------------------------------------------------------------------------ */

char *program_find(const char *path, const char *name)
{
    for (const char *at = path; at && *at;) {
        size_t n = strcspn(at, ":");
        struct stat st;
        drop_str char *file = xasprintf("%.*s/%s", (int)n, at, name);
        if (*at == '/' && stat(file, &st) == 0 && S_ISREG(st.st_mode) && may_access(file, X_OK))
            return str_take(&file);
        at += n + (at[n] == ':');
    }
    return NULL;
}

/* --- who could change it ---------------------------------------------------------------------- */

static bool is_below_folder(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static bool is_closed_folder(const char *path, const char *kept)
{
    static const char *const image[] = {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt/ipybox"};
    for (size_t i = 0; i < sizeof image / sizeof *image; i++)
        if (is_below_folder(path, image[i]))
            return true;
    return kept && is_below_folder(path, kept);
}

static bool may_cells_change(const char *path, const struct stat *st)
{
    struct statvfs fs;
    if (may_access(path, W_OK))
        return true;
    if (statvfs(path, &fs) == 0 && (fs.f_flag & ST_RDONLY))
        return false;
    return st->st_uid == geteuid(); /* it may be made writable */
}

/* Whether the name in this folder could be given to something else. In a sticky one only the owners
 * of the folder and of the entry may. */
static bool may_replace(const char *folder, const struct stat *entry)
{
    struct stat st;
    if (stat(folder, &st) < 0 || !may_cells_change(folder, &st))
        return false;
    if (entry && entry->st_dev != st.st_dev) /* a mount: it is neither moved nor removed */
        return false;
    bool sticky = (st.st_mode & S_ISVTX) && st.st_uid != geteuid();
    return !entry || !sticky || entry->st_uid == geteuid();
}

struct program_walk {
    char at[PATH_MAX];
    char rest[PATH_MAX];
    int links;
};

static bool enter_folder(struct program_walk *w, const char *name, size_t n)
{
    size_t length = strcmp(w->at, "/") == 0 ? 0 : strlen(w->at);
    if (n == 1 && *name == '.')
        return true;
    if (n == 2 && strncmp(name, "..", 2) == 0) {
        char *slash = strrchr(w->at, '/');
        slash[slash == w->at] = '\0';
        return true;
    }
    if (length + n + 2 > sizeof w->at)
        return false;
    (void)snprintf(w->at + length, sizeof w->at - length, "/%.*s", (int)n, name);
    return true;
}

static bool follow_program_link(struct program_walk *w, const char *folder)
{
    char target[PATH_MAX], rest[PATH_MAX];
    ssize_t n = readlink(w->at, target, sizeof target - 1);
    if (n < 0 || ++w->links > LINKS_MAX)
        return false;
    target[n] = '\0';
    int length = snprintf(rest, sizeof rest, "%s/%s", target, w->rest);
    if (length < 0 || (size_t)length >= sizeof rest)
        return false;
    (void)snprintf(w->at, sizeof w->at, "%s", *target == '/' ? "/" : folder);
    (void)snprintf(w->rest, sizeof w->rest, "%s", rest);
    return true;
}

/* What cannot be followed is loose. */
bool program_is_loose(const char *path, const char *kept)
{
    struct program_walk w = {.at = "/"};
    struct stat st;
    if (strlen(path) >= sizeof w.rest)
        return true;
    (void)snprintf(w.rest, sizeof w.rest, "%s", path);
    for (;;) {
        char folder[PATH_MAX], name[PATH_MAX];
        size_t skip = strspn(w.rest, "/"), n = strcspn(w.rest + skip, "/");
        if (n == 0)
            return !is_closed_folder(w.at, kept) &&
                   (stat(w.at, &st) < 0 || may_cells_change(w.at, &st));
        (void)snprintf(folder, sizeof folder, "%s", w.at);
        (void)snprintf(name, sizeof name, "%.*s", (int)n, w.rest + skip);
        memmove(w.rest, w.rest + skip + n, strlen(w.rest + skip + n) + 1);
        if (!enter_folder(&w, name, n))
            return true;
        bool there = lstat(w.at, &st) == 0;
        if (!is_closed_folder(w.at, kept) && may_replace(folder, there ? &st : NULL))
            return true;
        if (!there)
            return false;
        if (S_ISLNK(st.st_mode) && !follow_program_link(&w, folder))
            return true;
    }
}

bool program_is_below(const char *path, const char *folder)
{
    char real[PATH_MAX];
    return !realpath(path, real) || is_below_folder(real, folder);
}

/* --- what it is told to run ------------------------------------------------------------------- */

static const char *last_part(const char *program)
{
    const char *slash = strrchr(program, '/');
    return slash ? slash + 1 : program;
}

static bool is_program_named(const char *program, const char *name)
{
    return strcmp(last_part(program), name) == 0;
}

bool program_is_python(const char *program)
{
    const char *name = last_part(program);
    size_t n = strlen("python");
    return strncmp(name, "python", n) == 0 && strspn(name + n, "0123456789.") == strlen(name + n);
}

static bool is_one_of_words(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

#define IS_ONE_OF(word, words) is_one_of_words((word), (words), sizeof(words) / sizeof *(words))

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

static bool is_uv_run(char *const *argv)
{
    for (int i = 1; is_program_named(argv[0], "uv") && argv[i]; i++)
        if (strcmp(argv[i], "run") == 0)
            return true;
    return false;
}

int program_script(char *const *argv)
{
    static const char *const interpreters[] = {"node", "bun", "sh", "bash", "dash", "perl", "ruby"};
    static const char *const inline_code[] = {"-c", "-m", "-e", "-p", "--eval", "--print"};
    static const char *const valued[] = {"-W", "-X", "-r", "--require", "--import", "-o"};
    bool python = program_is_python(argv[0]);
    for (int i = 1; is_uv_run(argv) && argv[i]; i++)
        if (ends_with(argv[i], ".py"))
            return i;
    if (!python && !IS_ONE_OF(last_part(argv[0]), interpreters))
        return 0;
    for (int i = 1; argv[i]; i++) {
        if (IS_ONE_OF(argv[i], inline_code))
            return 0;
        if (IS_ONE_OF(argv[i], valued) && argv[i + 1])
            i++;
        else if (strcmp(argv[i], "--") == 0)
            return argv[i + 1] ? i + 1 : 0;
        else if (argv[i][0] != '-')
            return i;
    }
    return 0;
}

int program_module(char *const *argv)
{
    static const char *const valued[] = {"-W", "-X"};
    for (int i = 1; program_is_python(argv[0]) && argv[i] && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "-m") == 0)
            return argv[i + 1] ? i + 1 : 0;
        if (strcmp(argv[i], "-c") == 0 || strcmp(argv[i], "--") == 0)
            return 0;
        i += IS_ONE_OF(argv[i], valued) && argv[i + 1];
    }
    return 0;
}

static bool is_path(const char *word)
{
    return *word == '.' || *word == '/';
}

int program_local_package(char *const *argv)
{
    static const char *const sources[] = {"--from",     "--with", "--with-editable",
                                          "--package",  "-p",     "--with-requirements",
                                          "--overrides"};
    int start = program_npx(argv);
    if (start == 0)
        start = is_program_named(argv[0], "uvx") ? 1 : 0;
    for (int i = start; start > 0 && argv[i]; i++) {
        if (IS_ONE_OF(argv[i], sources) && argv[i + 1]) {
            if (is_path(argv[++i]))
                return i;
        } else if (argv[i][0] != '-') {
            return is_path(argv[i]) ? i : 0;
        }
    }
    return 0;
}

const char *program_project(char *const *argv)
{
    static const char *const options[] = {"--directory", "--project"};
    if (!is_uv_run(argv))
        return NULL;
    for (int i = 1; argv[i]; i++) {
        for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
            size_t n = strlen(options[k]);
            if (strcmp(argv[i], options[k]) == 0 && argv[i + 1])
                return argv[i + 1];
            if (strncmp(argv[i], options[k], n) == 0 && argv[i][n] == '=')
                return argv[i] + n + 1;
        }
    }
    return "";
}

int program_npx(char *const *argv)
{
    static const char *const names[] = {"exec", "x"};
    if (is_program_named(argv[0], "npx"))
        return 1;
    return is_program_named(argv[0], "npm") && argv[1] && IS_ONE_OF(argv[1], names) ? 2 : 0;
}
