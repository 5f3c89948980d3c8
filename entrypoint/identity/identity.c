/* SPDX-License-Identifier: Apache-2.0
 *
 * The decision alone; identity_prepare.c and identity_apply.c carry it out. */
#include "entrypoint/identity/identity.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    FALLBACK_ID = 1000,
    OVERFLOW_ID = 65534, /* how an owner shows that has no number in our namespace */
    UMASK_MOST = 0777,
};

static bool given_user(const char *text)
{
    return text && *text;
}

/* A number as ids are written: digits only. 2^32-1 means "unchanged" to the system, so it is no
 * id. */
static int parse_id(const char *name, const char *text, uint32_t fallback, uint32_t *ret,
                    struct err *e)
{
    if (!given_user(text)) {
        *ret = fallback;
        return 0;
    }
    char *end = NULL;
    errno = 0;
    unsigned long long n = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (!end || *end || errno || n >= UINT32_MAX)
        return err_set(e, -EINVAL, "%s: a number, such as 1000, is needed, not '%s'", name, text);
    *ret = (uint32_t)n;
    return 0;
}

static int parse_umask(const char *text, struct identity *ret, struct err *e)
{
    if (!given_user(text))
        return 0;
    char *end;
    unsigned long n = strtoul(text, &end, 8);
    if (*text < '0' || *text > '7' || *end || strlen(text) > 4 || n > UMASK_MOST)
        return err_set(e, -EINVAL, "UMASK: octal digits, such as 002 or 022, are needed, not '%s'",
                       text);
    ret->set_umask = true;
    ret->umask = (mode_t)n;
    return 0;
}

struct mapping {   /* what uid_map says */
    bool rootless; /* our 0 is not the 0 outside */
    bool mapped;   /* the uid that was asked for exists here */
};

static struct mapping look_up_user(const char *uid_map, uid_t uid)
{
    struct mapping m = {.mapped = !*uid_map};
    unsigned long inside, outside, count;
    int n;
    while (sscanf(uid_map, " %lu %lu %lu%n", &inside, &outside, &count, &n) == 3) {
        if (inside == 0 && count > 0)
            m.rootless = outside != 0;
        if (uid >= inside && uid - inside < count)
            m.mapped = true;
        uid_map += n;
    }
    return m;
}

static bool usable_owner(uint32_t id)
{
    return id != 0 && id != OVERFLOW_ID;
}

static void keep_groups(const struct identity_facts *f, struct identity *ret)
{
    for (size_t i = 0; i < f->group_count; i++)
        if (f->groups[i] != 0)
            ret->groups[ret->group_count++] = f->groups[i];
}

static void decide_as_started(const struct identity_facts *f, struct identity *ret)
{
    ret->uid = f->euid;
    ret->gid = f->egid;
    memcpy(ret->groups, f->groups, f->group_count * sizeof *f->groups);
    ret->group_count = f->group_count;
    ret->source = IDENTITY_AS_STARTED;
    if (given_user(f->puid) || given_user(f->pgid))
        (void)snprintf(ret->notice, sizeof ret->notice,
                       "PUID and PGID are ignored: started as uid %u, which cannot become another "
                       "one; leave out --user, or PUID and PGID",
                       (unsigned)f->euid);
}

static int check_workspace(const struct identity_facts *f, struct err *e)
{
    int code = f->workspace_errno;
    if (code == ENOENT || code == ENOTDIR)
        return err_set(e, -code, "workspace %s: %s; mount a directory there (-v DIR:%s)",
                       f->workspace, strerror(code), f->workspace);
    if (code == 0 && !S_ISDIR(f->workspace_mode))
        return err_set(e, -ENOTDIR, "workspace %s: not a directory", f->workspace);
    return 0;
}

/* Root, asked for in so many words: only where it is nobody's root. */
static int check_asked(const struct identity_facts *f, uid_t uid, gid_t gid, struct err *e)
{
    struct mapping m = look_up_user(f->uid_map, uid);
    if (given_user(f->puid) && !m.mapped)
        return err_set(e, -EPERM, "PUID=%s: there is no such user in this user namespace", f->puid);
    if (m.rootless)
        return 0;
    if (given_user(f->puid) && uid == 0)
        return err_set(e, -EPERM,
                       "PUID=0: nothing runs as root here; give the number of the user who owns "
                       "the files, or leave PUID out");
    if (given_user(f->pgid) && gid == 0)
        return err_set(e, -EPERM,
                       "PGID=0: nothing runs in root's group here; give the number of the group "
                       "that owns the files, or leave PGID out");
    return 0;
}

static bool stays_root(const struct identity_facts *f, uid_t fallback)
{
    if (!look_up_user(f->uid_map, 0).rootless)
        return false;
    if (!look_up_user(f->uid_map, fallback).mapped)
        return true; /* a single user is mapped: there is no other to be */
    return f->workspace_errno == 0 && f->workspace_uid == 0 && f->workspace_open_to_root;
}

/* Which uid, and the gid that goes with it. */
static void choose(const struct identity_facts *f, uid_t asked, uid_t fallback, gid_t fallback_gid,
                   struct identity *ret)
{
    bool owner = f->workspace_errno == 0 && usable_owner(f->workspace_uid) &&
                 look_up_user(f->uid_map, f->workspace_uid).mapped;
    bool group = f->workspace_errno == 0 && usable_owner(f->workspace_gid);
    if (given_user(f->puid)) {
        ret->uid = asked;
        ret->gid = group && owner && asked == f->workspace_uid ? f->workspace_gid : asked;
        ret->source = IDENTITY_ASKED;
    } else if (owner) {
        ret->uid = f->workspace_uid;
        ret->gid = group ? f->workspace_gid : fallback_gid;
        ret->source = IDENTITY_OWNER;
    } else if (stays_root(f, fallback)) {
        ret->uid = 0;
        ret->gid = 0;
        ret->source = IDENTITY_ROOTLESS;
    } else {
        ret->uid = fallback;
        ret->gid = fallback_gid;
        ret->source = IDENTITY_DEFAULT;
    }
}

static bool can_change(uint64_t capabilities)
{
    uint64_t need = 1ULL << CAP_SETUID | 1ULL << CAP_SETGID;
    return (capabilities & need) == need;
}

static void choose_service(const struct identity_facts *f, struct identity *ret)
{
    const uid_t uid = IDENTITY_SERVICE_UID + (ret->uid == IDENTITY_SERVICE_UID);
    if (f->euid != 0)
        ret->lack = "it was not started as root";
    else if (ret->uid == 0)
        ret->lack = "everything is the root of a user namespace";
    else if (!look_up_user(f->uid_map, uid).mapped)
        ret->lack = "this user namespace has no number for one";
    else
        ret->service = uid;
}

static int decide_as_root(const struct identity_facts *f, struct identity *ret, struct err *e)
{
    uint32_t asked = 0, asked_gid = 0, fallback = 0, fallback_gid = 0;
    int r = parse_id("PUID", f->puid, 0, &asked, e);
    if (r == 0)
        r = parse_id("PGID", f->pgid, 0, &asked_gid, e);
    if (r == 0)
        r = parse_id("IPYBOX_DEFAULT_UID", f->default_uid, FALLBACK_ID, &fallback, e);
    if (r == 0)
        r = parse_id("IPYBOX_DEFAULT_GID", f->default_gid, fallback, &fallback_gid, e);
    if (r == 0)
        r = check_workspace(f, e);
    if (r == 0)
        r = check_asked(f, asked, asked_gid, e);
    if (r < 0)
        return r;
    choose(f, asked, fallback, fallback_gid, ret);
    if (given_user(f->pgid))
        ret->gid = asked_gid;
    if (ret->uid == 0 && ret->source == IDENTITY_DEFAULT)
        return err_set(
            e, -EPERM,
            "IPYBOX_DEFAULT_UID=0: cells do not run as root; give the number of another user");
    keep_groups(f, ret);
    ret->change = ret->uid != 0 || ret->gid != f->egid || ret->group_count != f->group_count;
    if (ret->uid != 0 && !can_change(f->capabilities))
        return err_set(e, -EPERM,
                       "started as root without the capabilities SETUID and SETGID, so that no "
                       "other user can be taken: start with --user %u:%u, or with --cap-add SETUID "
                       "--cap-add SETGID",
                       ret->uid, ret->gid);
    return 0;
}

int identity_decide(const struct identity_facts *facts, struct identity *ret, struct err *e)
{
    struct identity decided = {.source = IDENTITY_AS_STARTED};
    int r = parse_umask(facts->umask, &decided, e);
    if (r < 0)
        return r;
    if (facts->euid == 0)
        r = decide_as_root(facts, &decided, e);
    else
        decide_as_started(facts, &decided);
    if (r < 0)
        return r;
    choose_service(facts, &decided);
    *ret = decided;
    return 0;
}

const char *identity_source_name(enum identity_source source)
{
    switch (source) {
    case IDENTITY_AS_STARTED:
        return "as started";
    case IDENTITY_ASKED:
        return "PUID and PGID";
    case IDENTITY_OWNER:
        return "owner of the workspace";
    case IDENTITY_ROOTLESS:
        return "root of a user namespace, without capabilities";
    case IDENTITY_DEFAULT:
        return "default";
    }
    return "unknown";
}
