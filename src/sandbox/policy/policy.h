/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/policy/policy.h - what the settings mean in one place: may this path be read, written,
 * moved; may this name be connected to.
 * Owns:    normalised copies; the settings may go after policy_new().
 * Paths:   every path that is asked about is absolute and canonical (what /proc/self/fd/N says),
 *          and need not exist. Names are judged at the time they are used, so rules hold for files
 *          that are made later, and globs too.
 * Thread:  a policy does not change; any thread may ask. */
#ifndef SANDBOX_POLICY_POLICY_H
#define SANDBOX_POLICY_POLICY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "sandbox/policy/settings.h"

struct policy_place { /* where the settings apply; borrowed for the call */
    const char *cwd, *home;
    /* Lists that end with NULL or 0; NULL: nothing. Private directories are read and written and
     * their sockets used, whatever the settings say: a kernel's own. */
    const char *const *private_dirs;
    const char *const *unix_sockets; /* may be connected to */
    const uint16_t *loopback_ports;  /* may be connected to */
    /* Whatever the settings say: hidden ones are neither read, listed, written, moved nor connected
     * to, kept ones not changed; nor what is below, nor the links that lead there. Private
     * directories and sockets of the above inside of them are as they would be elsewhere. */
    const char *const *hidden, *const *kept;
    bool distrusts_cwd; /* links in cwd are anybody's: no entry that allows goes through one */
};

struct policy;
/* Walks cwd for the paths that no sandbox may write (srt's mandatory deny paths). */
MUST_CHECK int policy_new(const struct sandbox_settings *settings, const struct policy_place *place,
                          struct policy **ret, struct err *e);
/* Without settings: files are free but for what the place hides and keeps, the network wholly. */
MUST_CHECK int policy_new_walls(const struct policy_place *place, struct policy **ret,
                                struct err *e);
/* policy_new() in steps of so many names, for callers with other work in between. 1: *ret is the
 * policy; 0: there are more. Then policy_give_up(). */
struct policy_making;
MUST_CHECK int policy_begin(const struct sandbox_settings *settings,
                            const struct policy_place *place, struct policy_making **ret,
                            struct err *e);
MUST_CHECK int policy_step(struct policy_making *making, long names, struct policy **ret,
                           struct err *e);
struct policy_making *policy_give_up(struct policy_making *making); /* NULL in, NULL out */
bool policy_is_walls(const struct policy *policy);                  /* made by policy_new_walls() */
struct policy *policy_free(struct policy *policy);                  /* NULL in, NULL out */

/* --- files ------------------------------------------------------------------------------------ */

bool policy_may_read(const struct policy *policy, const char *path);
bool policy_may_write(const struct policy *policy, const char *path); /* and may be read */
/* A path above one that is protected, a link that a denying entry goes through, or the working
 * directory: it must not be moved or removed. Of a pattern that denies: a directory in which it
 * matches something now; only then the disk is looked at, at most GLOBSEARCH_NAMES_MAX names. */
bool policy_pins(const struct policy *policy, const char *path);
/* One of the devices and directories that every sandbox may write. They belong to all: their names,
 * modes, owners and attributes stay. */
bool policy_gives(const struct policy *policy, const char *path);
bool policy_hides_dirs(const struct policy *policy); /* of those that were there */
/* A hidden file by another name: by what it was when the policy was made. */
bool policy_hides_object(const struct policy *policy, const struct stat *st);
/* Of a directory, besides the above: it would not bring names to where a pattern denies them. */
bool policy_may_move_dir(const struct policy *policy, const char *from, const char *to);

/* How a rule covers a directory and everything that is or will be below it. */
enum policy_cover { COVER_ALL, COVER_SOME, COVER_NONE };
enum policy_cover policy_readable(const struct policy *policy, const char *dir);
enum policy_cover policy_writable(const struct policy *policy, const char *dir);
bool policy_denies_reads(const struct policy *policy); /* false: everything may be read */
/* allowWrite without globs, what is always writable (devices too), private directories: canonical,
 * by no link at the time of policy_new(); directories, files, or not there yet. */
const struct words *policy_write_roots(const struct policy *policy);

/* 0: `next` allows of files all that `first` allows, now and later; so a ruleset that was made of
 * `first` grants nothing that `next` takes away. -EBUSY: it does not, or one cannot tell; the
 * message names the entry. Files that no settings allow to be written are left out of it. */
MUST_CHECK int policy_includes(const struct policy *next, const struct policy *first,
                               struct err *e);

/* --- network ---------------------------------------------------------------------------------- */

bool policy_has_network(const struct policy *policy); /* at least one domain is allowed */
bool policy_has_inet(const struct policy *policy);    /* that, or something of the loopback */
/* A name or a literal address, in any case; deny first. */
bool policy_may_connect(const struct policy *policy, const char *host, uint16_t port);
const struct words *policy_domains(const struct policy *policy); /* allowed, as written */
bool policy_may_connect_unix(const struct policy *policy, const char *path);
bool policy_has_unix(const struct policy *policy); /* at least one path */
bool policy_all_unix(const struct policy *policy); /* any that may be read, abstract names too */
bool policy_may_bind(const struct policy *policy); /* loopback addresses */
bool policy_loopback_port(const struct policy *policy, uint16_t port); /* the proxies' too */
void policy_proxy_ports(const struct policy *policy, uint16_t *ret_http, uint16_t *ret_socks);

/* --- people ----------------------------------------------------------------------------------- */

/* What the settings mean on this machine, as text of lines: `ipybox sandbox --check-config`. */
void policy_explain(const struct policy *policy, struct buf *text);
/* A refusal that ignoreViolations names. */
bool policy_has_ignored(const struct policy *policy); /* else no refusal is */
bool policy_ignores(const struct policy *policy, const char *command, const char *path);

#endif
