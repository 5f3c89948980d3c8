/* SPDX-License-Identifier: Apache-2.0 */
#include "session/kernels/limits.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define BYTES_MAX ((int64_t)1 << 53) /* what a number of JSON holds exactly */

static const struct limit_member {
    const char *name, *option;
    size_t at;
    bool wide; /* uint64_t, and int otherwise */
} members[] = {
    {"memory", "--kernel-memory", offsetof(struct sandbox_limits, memory), true},
    {"disk", "--kernel-disk", offsetof(struct sandbox_limits, disk), true},
    {"tasks", "--kernel-tasks", offsetof(struct sandbox_limits, tasks), false},
    {"open_files", "--kernel-open-files", offsetof(struct sandbox_limits, files), false},
    {"file_size", "--kernel-file-size", offsetof(struct sandbox_limits, file_size), true},
    {"cpu", "--kernel-cpu", offsetof(struct sandbox_limits, cpu), false},
};

enum { MEMBERS = sizeof members / sizeof *members };

static int64_t get_limit(const struct sandbox_limits *limits, const struct limit_member *m)
{
    const char *at = (const char *)limits + m->at;
    uint64_t wide;
    int narrow;
    memcpy(&wide, at, m->wide ? sizeof wide : 0);
    memcpy(&narrow, at, m->wide ? 0 : sizeof narrow);
    return m->wide ? (int64_t)wide : narrow;
}

static void set_limit(struct sandbox_limits *limits, const struct limit_member *m, int64_t value)
{
    char *at = (char *)limits + m->at;
    const uint64_t wide = (uint64_t)value;
    const int narrow = (int)value;
    memcpy(at, m->wide ? (const void *)&wide : &narrow, m->wide ? sizeof wide : sizeof narrow);
}

static int read_one(const struct limit_member *m, const struct json *item,
                    const struct sandbox_spec *server, struct sandbox_limits *ret, struct err *e)
{
    const int64_t servers = get_limit(&server->limits, m), most = m->wide ? BYTES_MAX : INT_MAX;
    const double n = json_number(item);
    if (!json_is_number(item) || n < 1 || n > (double)most || (double)(int64_t)n != n)
        return err_set(e, -EINVAL, "limits.%s: a whole number from 1 to %lld is needed", m->name,
                       (long long)most);
    if (servers > 0 && n > (double)servers)
        return err_set(e, -EDOM, "limits.%s: must be at most %lld (%s)", m->name,
                       (long long)servers, m->option);
    if (m->at == offsetof(struct sandbox_limits, tasks) && server->level < SANDBOX_FULL)
        return err_set(
            e, -EDOM, "limits.tasks: needs the isolation level full, this machine has the level %s",
            sandbox_level_name(server->level));
    set_limit(ret, m, (int64_t)n);
    return 0;
}

static const struct limit_member *find_limit(const char *name)
{
    for (size_t i = 0; i < MEMBERS; i++)
        if (strcmp(members[i].name, name) == 0)
            return &members[i];
    return NULL;
}

int limits_read(const struct json *wanted, const struct sandbox_spec *server,
                struct sandbox_limits *ret, struct err *e)
{
    if (!json_is_object(wanted))
        return err_set(e, -EINVAL, "limits: an object is needed");
    if (!server)
        return err_set(e, -EDOM, "limits: this machine cannot enforce them (see ipybox doctor)");
    *ret = server->limits;
    for (const struct json *item = json_first(wanted); item; item = json_next(item)) {
        const struct limit_member *m = find_limit(json_name(item));
        if (!m)
            return err_set(e, -EINVAL, "limits.%.80s: there is no such member", json_name(item));
        int r = json_is_null(item) ? 0 : read_one(m, item, server, ret, e);
        if (r < 0)
            return r;
    }
    return 0;
}

void limits_put(struct jsonw *w, const char *name, const struct sandbox_limits *limits)
{
    jsonw_set_object(w, name);
    for (size_t i = 0; limits && i < MEMBERS; i++)
        if (get_limit(limits, &members[i]) > 0)
            jsonw_set_int(w, members[i].name, get_limit(limits, &members[i]));
    jsonw_end(w);
}
