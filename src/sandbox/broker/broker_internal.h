/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/broker/broker_internal.h - one notified call, and what the parts of the broker share.
 * Private to broker*.c. */
#ifndef SANDBOX_BROKER_BROKER_INTERNAL_H
#define SANDBOX_BROKER_BROKER_INTERNAL_H

#include <limits.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <sys/stat.h>
#include <sys/syscall.h>

#include "sandbox/broker/broker.h"

#ifndef SYS_fchmodat2 /* the same number everywhere; younger than some headers */
#define SYS_fchmodat2 452
#endif

struct net; /* broker_net.c: sockets that were handed out, names, the DNS stub, the proxies */
struct policy_reference; /* broker_policy.c: a policy, and how many calls are judged by it */

struct broker {
    struct broker_config config;
    int listener;
    pthread_mutex_t policy_reference_lock;
    struct policy_reference *reference; /* the one in force */
    struct net *net;                    /* NULL: the filter notifies no socket */
    struct tasks *tasks;                /* NULL: no limit */
    struct waiting_syscall *waiting;    /* broker_wait.c: the calls that may block */
    pthread_t threads[BROKER_THREADS];
    bool gives_at_once; /* SECCOMP_ADDFD_FLAG_SEND is known */
    bool reads_memory;  /* process_vm_readv() is permitted */
    int landlock_abi;
};

struct notice { /* one call that waits for its answer */
    struct broker *broker;
    struct policy_reference *reference; /* it is judged by this one, to its end */
    uint64_t id;
    pid_t pid; /* the thread that calls, as we see it */
    int call;  /* SYS_* */
    uint64_t args[6];
    /* The answer. Nothing set: 0. */
    int error; /* positive errno */
    int64_t value;
    bool go_on;    /* the kernel carries the call out: only what the ruleset checks again */
    bool answered; /* it was sent already, or another thread will send it */
    bool deferred; /* it has a thread of its own, which may block */
};

/* As error: the call starts over after the signal, or fails with EINTR if the signal's handler
 * says so. The kernel's own ERESTARTSYS, which its headers keep to themselves. */
#define NOTICE_RESTART 512

typedef void (*notice_fn)(struct notice *notice);

/* True in tests that want to see an attack succeed: Linux carries out the call that was checked. */
static inline bool notice_naive(struct notice *notice)
{
#ifdef IPYBOX_TESTS
    if (notice->broker->config.naive)
        notice->go_on = true;
    return notice->broker->config.naive;
#else
    (void)notice;
    return false;
#endif
}

/* broker.c */
const struct policy *notice_policy(const struct notice *notice);
bool notice_alive(const struct notice *notice); /* the arguments that were read are this call's */
void notice_answer(struct notice *notice);      /* once; nothing when it was answered */
/* The descriptor becomes the caller's, and the answer. Closes fd. */
void notice_give(struct notice *notice, int fd, bool cloexec);
/* Refused by the policy: EPERM, and reported. */
void notice_refuse(struct notice *notice, const char *what);
/* A change of files, refused by the policy: the error is the configuration's. */
void notice_refuse_write(struct notice *notice, const char *what);
/* Runs fn with a copy of the notice on a thread of its own; `notice` counts as answered. A call
 * that blocks there fails with EINTR, again and again, as soon as the caller is dead or a signal
 * waits for it: answer NOTICE_RESTART then. */
void notice_defer(struct notice *notice, notice_fn fn);

/* broker_policy.c. Who takes or keeps one drops it; any thread. */
struct policy_reference *policy_reference_take(struct broker *broker); /* the one in force */
void policy_reference_keep(struct broker *broker, struct policy_reference *reference);
void policy_reference_drop(struct broker *broker, struct policy_reference *reference);
const struct policy *policy_reference_policy(const struct policy_reference *reference);
void policy_reference_first(struct broker *broker, const struct policy *policy); /* lent */
void policy_reference_last(struct broker *broker); /* no call comes any more */

/* broker_wait.c */
MUST_CHECK int waiting_open(struct broker *broker, struct err *e);
void waiting_free(struct broker *broker); /* when no notice comes any more */

/* target.c: reading the caller. 0 or more, or a negative errno. -ESRCH: the caller is gone, and
 * what was read may be another's; so nobody needs notice_alive() after these. */
int target_text(const struct notice *notice, uint64_t address, char *text, size_t size);
int target_bytes(const struct notice *notice, uint64_t address, void *bytes, size_t n);
int target_base(const struct notice *notice, int dirfd); /* O_PATH, owned; AT_FDCWD too */
int target_base_path(const struct notice *notice, int dirfd, char path[static PATH_MAX]);
int target_descriptor(const struct notice *notice, int fd,
                      char link[static PATH_MAX]); /* "socket:[17]" */
unsigned target_umask(const struct notice *notice);
int target_proc(const struct notice *notice, const char *what); /* /proc/THREAD/what, O_PATH */
dev_t target_terminal(const struct notice *notice);             /* that controls it; 0: none */
pid_t target_process(const struct notice *notice);              /* whose thread calls; 0: gone */
bool target_interrupted(const struct notice *notice);           /* a signal waits for it */

/* paths.c: names to descriptors. */
struct place {               /* the parent directory of a name, and the name */
    int dir;                 /* O_PATH, owned */
    char name[NAME_MAX + 2]; /* with a slash at its end if the path had one */
    char full[PATH_MAX];     /* canonical parent + name */
    bool special;            /* ".", "..", "/": the kernel refuses to make or remove it */
};
int place_find(const struct notice *notice, int dirfd, const char *path, struct place *ret);
/* The same from a descriptor of ours; AT_FDCWD with an absolute path. */
int place_find_from(const struct notice *notice, int base, const char *path, uint64_t resolve,
                    struct place *ret);
void place_done(struct place *place);

/* Where the object is now: 0 and its path, or PATH_NAMELESS for what no directory has ever held (a
 * pipe, a socket, a memfd). A deleted file has the path that it had. */
#define PATH_NAMELESS 1
int path_canonical(int fd, char full[static PATH_MAX]);

/* "/proc/self/fd/N": the object of a descriptor of ours, for calls that take only a path. */
struct fd_path {
    char text[32];
};
struct fd_path fd_path(int fd);

/* The object that a path leads the caller to, as O_PATH descriptor (owned). base as above;
 * resolve: RESOLVE_* of openat2(2). */
#define LOOK_NOFOLLOW 1 /* a symbolic link at the end is the object */
#define LOOK_DIRECTORY 2
int path_look(const struct notice *notice, int base, const char *path, unsigned how,
              uint64_t resolve);
/* The same from a dirfd of the caller; LOOK_EMPTY: an empty path is dirfd itself. */
#define LOOK_EMPTY 4
int path_look_at(const struct notice *notice, int dirfd, const char *path, unsigned how);

/* A guess at the absolute path, see lexical.h. */
int path_lexical(const struct notice *notice, int dirfd, const char *path,
                 char clean[static PATH_MAX]);
/* No symbolic link stands on this path now, so the guess was right. */
bool path_is_plain(const char *path);

/* The calls, by room: broker_open.c, broker_change.c, broker_net.c, broker_tasks.c. */
notice_fn broker_open_call(int call);
notice_fn broker_change_call(int call); /* names */
notice_fn broker_attr_call(int call);   /* what a file says of itself */
notice_fn broker_net_call(int call);
notice_fn broker_tasks_call(int call);
notice_fn broker_signals_call(int call);
notice_fn broker_terminals_call(int call);
const char *broker_call_name(int call); /* "openat"; broker_names.c */

/* broker_tasks.c */
struct tasks *tasks_new(int most);
struct tasks *tasks_free(struct tasks *tasks);
long tasks_refusals(const struct tasks *tasks);
bool tasks_are_ours(pid_t pid); /* a process or thread of the sandbox, below us */

/* broker_terminals.c: may the caller open this terminal, which is held? Its own, or one that was
 * made in the sandbox. */
bool terminal_may_be_opened(const struct notice *notice, const struct stat *st);

/* broker_net.c. Virtual files: a descriptor for /etc/hosts and the like, or -1. */
MUST_CHECK int net_open(struct broker *broker, struct net **ret, struct err *e);
struct net *net_free(struct net *net); /* NULL in, NULL out; no call may come any more */
int net_virtual_file(struct net *net, const struct policy *policy, const char *path);

#endif
