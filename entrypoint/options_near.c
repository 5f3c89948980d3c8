/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that are almost right: of options, commands and variables. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "entrypoint/options.h"

#define PREFIX "IPYBOX_"

enum {
    NAME_MAX_LEN = 40, /* of a name that is compared */
    HINT_DISTANCE = 3, /* edits between a wrong name and the one that is offered */
};

static size_t least_of(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Levenshtein's distance; names that are too long to be a slip are far from everything. */
static size_t option_distance(const char *a, const char *b)
{
    size_t line[NAME_MAX_LEN + 1];
    size_t n = strlen(a), m = strlen(b);
    if (n > NAME_MAX_LEN || m > NAME_MAX_LEN)
        return SIZE_MAX;
    for (size_t j = 0; j <= m; j++)
        line[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = line[0];
        line[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = line[j];
            line[j] = least_of(line[j] + 1, line[j - 1] + 1, change);
        }
    }
    return line[m];
}

static void note_near(struct options_hint *hint, const char *word, const char *name, size_t d)
{
    size_t most = hint->name ? hint->distance : HINT_DISTANCE + 1;
    if (d * 2 <= strlen(word) && d < most)
        *hint = (struct options_hint){name, d};
}

void options_nearer(struct options_hint *hint, const char *word, const char *name)
{
    bool begins = strncmp(word, name, strlen(word)) == 0;
    note_near(hint, word, name, begins ? 1 : option_distance(word, name));
}

/* --- variables -------------------------------------------------------------------------------- */

/* What Kubernetes and Docker's links set for a service whose name begins with ipybox: PORT,
 * PORT_8080_TCP and others that begin so, SERVICE_HOST, SERVICE_PORT and others that begin so. */
static bool is_of_a_service(const char *rest, const char *value)
{
    static const char *const parts[] = {"SERVICE_HOST", "SERVICE_PORT", "_TCP", "_UDP", "_SCTP"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(rest, parts[i]))
            return true;
    return strstr(value, "://") != NULL;
}

struct variable_hint {
    char name[2 * NAME_MAX_LEN]; /* behind the prefix; "": none is near */
    struct options_hint hint;
};

/* Compares what is behind the prefix. True: it is this one. */
static bool look_at_variable(struct variable_hint *near, const char *rest, const char *name,
                             const char *suffix)
{
    char whole[sizeof near->name];
    struct options_hint hint = near->hint;
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0)
        return false;
    (void)snprintf(whole, sizeof whole, "%s%s", name + sizeof PREFIX - 1, suffix);
    note_near(&hint, rest, whole, option_distance(rest, whole));
    if (hint.name == whole) {
        (void)snprintf(near->name, sizeof near->name, "%s", whole);
        near->hint = (struct options_hint){near->name, hint.distance};
    }
    return strcmp(rest, whole) == 0;
}

/* A secret may also come as a file. */
static bool look_at_row(struct variable_hint *near, const char *rest, const struct options_row *row)
{
    bool is_one = look_at_variable(near, rest, row->env, "");
    return (row->flags & OPTION_SECRET && look_at_variable(near, rest, row->env, "_FILE")) ||
           is_one;
}

static bool is_known_variable(struct variable_hint *near, const char *rest)
{
    size_t n_rows, n_variables;
    const struct options_row *rows = options_rows(&n_rows);
    const struct options_variable *variables = options_variables(&n_variables);
    bool known = false;
    for (size_t i = 0; i < n_rows; i++)
        known |= rows[i].env && look_at_row(near, rest, &rows[i]);
    for (size_t i = 0; i < n_variables; i++) {
        drop_str char *all = xstrdup(variables[i].name); /* "A, B" */
        for (char *names = all, *name; (name = strsep(&names, ", ")) != NULL;)
            known |= look_at_variable(near, rest, name, "");
    }
    return known;
}

static int check_variable(const char *variable, struct err *e)
{
    const char *equals = strchr(variable, '='), *rest = variable + sizeof PREFIX - 1;
    if (strncmp(variable, PREFIX, sizeof PREFIX - 1) != 0 || !equals)
        return 0;
    drop_str char *name = xstrndup(rest, (size_t)(equals - rest));
    struct variable_hint near = {0};
    if (is_of_a_service(name, equals + 1) || is_known_variable(&near, name) || !near.name[0])
        return 0;
    return err_set(e, -EINVAL, "unknown variable " PREFIX "%s (did you mean " PREFIX "%s?)", name,
                   near.name);
}

int options_check_variables(struct err *e)
{
    int r = 0;
    for (size_t i = 0; environ && environ[i] && r == 0; i++)
        r = check_variable(environ[i], e);
    return r;
}
