/* SPDX-License-Identifier: Apache-2.0
 *
 * Becoming who was decided: capabilities are dropped, ids changed, on this side of an exec or on
 * the other. */
#include "entrypoint/identity/identity.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"

enum { HANDED_OVER_MAX = 12 * (IDENTITY_GROUPS_MAX + 4) };

/* What changing ids needs, and closing the ways back. */
#define TO_CHANGE (1ULL << CAP_SETUID | 1ULL << CAP_SETGID | 1ULL << CAP_SETPCAP)

/* ---- capabilities ---- */

struct capabilities {
    uint64_t effective, permitted, inheritable;
};

static int get_capabilities(struct capabilities *ret)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &head, data) < 0)
        return -errno;
    *ret = (struct capabilities){
        .effective = data[0].effective | (uint64_t)data[1].effective << 32,
        .permitted = data[0].permitted | (uint64_t)data[1].permitted << 32,
        .inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32,
    };
    return 0;
}

int identity_capabilities(uint64_t *ret, struct err *e)
{
    struct capabilities have;
    int r = get_capabilities(&have);
    if (r < 0)
        return err_set(e, r, "capget: %s", strerror(-r));
    *ret = have.effective;
    return 0;
}

/* Keeps of what we have what is in `keep`; nothing is inheritable. */
static int keep_capabilities(uint64_t keep)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct capabilities have;
    int r = get_capabilities(&have);
    if (r < 0)
        return r;
    keep &= have.permitted;
    const struct __user_cap_data_struct data[2] = {
        {.effective = (uint32_t)keep, .permitted = (uint32_t)keep},
        {.effective = (uint32_t)(keep >> 32), .permitted = (uint32_t)(keep >> 32)},
    };
    return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

/* The ways on which capabilities come back at exec. Each needs a right that we may not have; what
 * closes them for certain is PR_SET_NO_NEW_PRIVS, so failures do not matter. */
static void close_ways_back(void)
{
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        (void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    (void)prctl(PR_SET_SECUREBITS,
                SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                    SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
                0, 0, 0);
}

/* ---- becoming the identity ---- */

/* Whom signals, limits and traces have to do with. */
static uid_t service_or_user(const struct identity *id)
{
    return id->service ? id->service : id->uid;
}

static int change_ids(const struct identity *id, struct err *e)
{
    if (!id->change)
        return 0;
    /* Staying uid 0 of a namespace in which setgroups(2) is denied is no failure. */
    if (setgroups(id->group_count, id->groups) < 0 && id->uid != 0)
        return err_set(e, -errno, "setgroups: %s", strerror(errno));
    if (setresgid(id->gid, id->gid, id->gid) < 0)
        return err_set(e, -errno, "setresgid %u: %s", id->gid, strerror(errno));
    const uid_t own = service_or_user(id);
    if (setresuid(own, id->uid, own) < 0)
        return err_set(e, -errno, "setresuid %u %u: %s", own, id->uid, strerror(errno));
    return 0;
}

static int prove(const struct identity *id, struct err *e)
{
    uid_t uid[3];
    gid_t gid[3];
    struct capabilities have;
    if (getresuid(&uid[0], &uid[1], &uid[2]) < 0 || getresgid(&gid[0], &gid[1], &gid[2]) < 0)
        return err_set(e, -errno, "getresuid: %s", strerror(errno));
    const uid_t own = service_or_user(id), wanted[3] = {own, id->uid, own};
    for (int i = 0; i < 3; i++)
        if (uid[i] != wanted[i] || gid[i] != id->gid)
            return err_set(e, -EPERM, "could not change to uid %u gid %u", id->uid, id->gid);
    if (id->uid != 0 && (setresuid((uid_t)-1, 0, (uid_t)-1) == 0 || setuid(0) == 0))
        return err_set(e, -EPERM, "uid 0 can be had back");
    if (get_capabilities(&have) < 0 || have.effective || have.permitted || have.inheritable)
        return err_set(e, -EPERM, "capabilities are left");
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        return err_set(e, -EPERM, "PR_SET_NO_NEW_PRIVS did not hold");
    return 0;
}

int identity_apply_in_child(const struct identity *identity, struct err *e)
{
    close_ways_back();
    int r = change_ids(identity, e);
    if (r < 0)
        return r;
    r = keep_capabilities(0);
    if (r < 0)
        return err_set(e, r, "capset: %s", strerror(-r));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_set(e, -errno, "PR_SET_NO_NEW_PRIVS: %s", strerror(errno));
    return prove(identity, e);
}

/* ---- across an exec ---- */

int identity_hand_over(const struct identity *identity, pid_t init, struct err *e)
{
    drop_buf struct buf text = BUF_INIT(HANDED_OVER_MAX);
    (void)buf_addf(&text, "%d %u %u %u", (int)init, identity->service, identity->uid,
                   identity->gid);
    for (size_t i = 0; i < identity->group_count; i++)
        (void)buf_addf(&text, " %u", identity->groups[i]);
    if (text.failed || setenv(IDENTITY_VARIABLE, buf_text(&text), 1) < 0)
        return err_set(e, -ENOMEM, "no memory for the identity");
    int r = keep_capabilities(TO_CHANGE);
    if (r < 0)
        return err_set(e, r, "capset: %s", strerror(-r));
    /* Now already: root's exec has then no more than is permitted here. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_set(e, -errno, "PR_SET_NO_NEW_PRIVS: %s", strerror(errno));
    return 0;
}

static bool next_number(const char **text, uint32_t *ret)
{
    char *end;
    errno = 0;
    unsigned long n = strtoul(*text, &end, 10);
    if (end == *text || errno || n > UINT32_MAX)
        return false;
    *text = end;
    *ret = (uint32_t)n;
    return true;
}

static int read_handed_over(const char *text, struct identity *ret, pid_t *ret_init, struct err *e)
{
    uint32_t init, group;
    struct identity id = {.change = true};
    if (!next_number(&text, &init) || !next_number(&text, &id.service) ||
        !next_number(&text, &id.uid) || !next_number(&text, &id.gid) || !id.service || !id.uid)
        return err_set(e, -EINVAL, IDENTITY_VARIABLE ": process 1 has not written this");
    while (id.group_count < IDENTITY_GROUPS_MAX && next_number(&text, &group))
        id.groups[id.group_count++] = group;
    *ret = id;
    *ret_init = (pid_t)init;
    return 0;
}

int identity_take_over(struct err *e)
{
    struct identity id;
    pid_t init = 0;
    const char *text = getenv(IDENTITY_VARIABLE);
    if (!text)
        return 0;
    int r = read_handed_over(text, &id, &init, e);
    if (r == 0)
        r = identity_apply_in_child(&id, e);
    if (r < 0)
        return err_wrap(e, "cannot change to the user of the cells");
    /* After the change of ids, which clears it. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != init)
        return err_set(e, -ESRCH, "cannot change to the user of the cells: process 1 is gone");
    (void)unsetenv(IDENTITY_VARIABLE);
    return 0;
}

/* ---- process 1 ---- */

static bool may_signal_others(void)
{
    struct capabilities have;
    return get_capabilities(&have) == 0 && (have.permitted & 1ULL << CAP_KILL);
}

int identity_confine_init(const struct identity *identity, bool child_made, struct err *e)
{
    const bool handed = identity->service != 0; /* the child has an exec before it, as root */
    uint64_t keep = 1ULL << CAP_KILL;
    if (child_made && handed)
        close_ways_back();
    if (child_made && identity->change && !may_signal_others()) {
        int changed = change_ids(identity, e); /* nobody else may pass our signals on */
        if (changed < 0)
            return changed;
    }
    if (!child_made && !handed)
        close_ways_back();
    if (!child_made && identity->change)
        keep |= handed ? TO_CHANGE : 1ULL << CAP_SETUID | 1ULL << CAP_SETGID;
    int r = keep_capabilities(keep);
    if (r < 0)
        return err_set(e, r, "capset: %s", strerror(-r));
    return 0;
}

int identity_become_owner(bool with_service, struct err *e)
{
    struct identity identity;
    const char *workspace = getenv("IPYBOX_WORKSPACE");
    if (geteuid() != 0 || !workspace)
        return 0;
    int r = identity_prepare(workspace, with_service, &identity, e);
    return r == 0 ? identity_apply_in_child(&identity, e) : r;
}
