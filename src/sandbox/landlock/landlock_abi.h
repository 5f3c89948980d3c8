/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/landlock/landlock_abi.h - the kernel's side of Landlock, as the kernel documents it.
 * Why:    the libraries' headers differ in how much of it they know; what is asked for is decided
 *         by the kernel that runs, not by the one that was there at build time.
 * Source: Documentation/userspace-api/landlock.rst, include/uapi/linux/landlock.h.
 * Calls:  raw system calls, so that a child of a process with threads may use them. */
#ifndef SANDBOX_LANDLOCK_LANDLOCK_ABI_H
#define SANDBOX_LANDLOCK_LANDLOCK_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#define LANDLOCK_ABI_SCOPES 6 /* signals and abstract sockets stop at the edge */
#define LANDLOCK_ABI_KNOWN 7  /* what is newer adds nothing that is asked for here */

enum { /* the numbers are the same on every architecture */
       LANDLOCK_CALL_CREATE = 444,
       LANDLOCK_CALL_ADD_RULE = 445,
       LANDLOCK_CALL_RESTRICT = 446,
};

enum {
    LANDLOCK_ASK_VERSION = 1, /* flag of create */
    LANDLOCK_PATH_BENEATH = 1 /* kind of rule */
};

struct landlock_wants { /* struct landlock_ruleset_attr */
    uint64_t fs, net, scoped;
};

struct landlock_path_rule { /* struct landlock_path_beneath_attr */
    uint64_t access;
    int32_t fd;
} __attribute__((packed));

#define LANDLOCK_EXECUTE (1ULL << 0)
#define LANDLOCK_WRITE_FILE (1ULL << 1)
#define LANDLOCK_READ_FILE (1ULL << 2)
#define LANDLOCK_READ_DIR (1ULL << 3)
#define LANDLOCK_REMOVE_DIR (1ULL << 4)
#define LANDLOCK_REMOVE_FILE (1ULL << 5)
#define LANDLOCK_MAKE_CHAR (1ULL << 6)
#define LANDLOCK_MAKE_DIR (1ULL << 7)
#define LANDLOCK_MAKE_REG (1ULL << 8)
#define LANDLOCK_MAKE_SOCK (1ULL << 9)
#define LANDLOCK_MAKE_FIFO (1ULL << 10)
#define LANDLOCK_MAKE_BLOCK (1ULL << 11)
#define LANDLOCK_MAKE_SYM (1ULL << 12)
#define LANDLOCK_REFER (1ULL << 13)
#define LANDLOCK_TRUNCATE (1ULL << 14)
#define LANDLOCK_IOCTL_DEV (1ULL << 15)

#define LANDLOCK_SCOPE_ABSTRACT_UNIX (1ULL << 0)
#define LANDLOCK_SCOPE_SIGNAL (1ULL << 1)

/* Flags of restrict_self from ABI 7 on: what is refused is told by the broker, not to the audit
 * log of the host. */
#define LANDLOCK_QUIET ((1U << 0) | (1U << 2)) /* LOG_SAME_EXEC_OFF, LOG_SUBDOMAINS_OFF */

/* What each version of the interface added. */
static const struct landlock_rights {
    uint64_t fs, scoped;
    uint32_t restrict_flags;
} landlock_added[LANDLOCK_ABI_KNOWN + 1] = {
    [1] = {.fs = (LANDLOCK_MAKE_SYM << 1) - 1},
    [2] = {.fs = LANDLOCK_REFER},
    [3] = {.fs = LANDLOCK_TRUNCATE},
    [4] = {0}, /* TCP ports, which do not hold by themselves: they name no address */
    [5] = {.fs = LANDLOCK_IOCTL_DEV},
    [6] = {.scoped = LANDLOCK_SCOPE_ABSTRACT_UNIX | LANDLOCK_SCOPE_SIGNAL},
    [7] = {.restrict_flags = LANDLOCK_QUIET},
};

static inline struct landlock_rights landlock_rights_of(int abi)
{
    struct landlock_rights sum = {0};
    for (int i = 1; i <= abi && i <= LANDLOCK_ABI_KNOWN; i++) {
        sum.fs |= landlock_added[i].fs;
        sum.scoped |= landlock_added[i].scoped;
        sum.restrict_flags |= landlock_added[i].restrict_flags;
    }
    return sum;
}

/* A descriptor, or -1 with errno. Kernels know a struct as long as they grew it. */
static inline int landlock_create(const struct landlock_wants *wants)
{
    const size_t size = wants->scoped ? sizeof *wants : sizeof wants->fs;
    return (int)syscall(LANDLOCK_CALL_CREATE, wants, size, 0);
}

static inline int landlock_version(void)
{
    return (int)syscall(LANDLOCK_CALL_CREATE, NULL, 0, LANDLOCK_ASK_VERSION);
}

static inline int landlock_add_path(int ruleset, uint64_t access, int fd)
{
    const struct landlock_path_rule rule = {access, fd};
    return (int)syscall(LANDLOCK_CALL_ADD_RULE, ruleset, LANDLOCK_PATH_BENEATH, &rule, 0);
}

static inline int landlock_restrict(int ruleset, uint32_t flags)
{
    return (int)syscall(LANDLOCK_CALL_RESTRICT, ruleset, flags);
}

#endif
