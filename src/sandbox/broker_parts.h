/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/broker_parts.h - one notified call, and what the parts of the broker share.
 * Private to broker*.c. */
#ifndef SANDBOX_BROKER_PARTS_H
#define SANDBOX_BROKER_PARTS_H

#include <limits.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#include "sandbox/broker.h"

struct net; /* broker_net.c: sockets that were handed out, names, the DNS stub, the proxies */

struct broker {
    struct broker_config config;
    int listener;
    const struct policy *policy; /* atomic */
    struct net *net;             /* NULL: the filter notifies no socket */
    struct tasks *tasks;         /* NULL: no limit */
};

struct notice { /* one call that waits for its answer */
    struct broker *broker;
    uint64_t id;
    pid_t pid; /* the thread that calls, as we see it */
    int call;  /* SYS_* */
    uint64_t args[6];
    /* The answer. Nothing set: 0. */
    int error; /* positive errno */
    int64_t value;
    bool go_on;    /* the kernel carries the call out: only what the floor checks again */
    bool answered; /* it was sent already, or another thread will send it */
};

typedef void (*notice_fn)(struct notice *notice);

/* broker.c */
const struct policy *notice_policy(const struct notice *notice);
bool notice_alive(const struct notice *notice); /* the arguments that were read are this call's */
void notice_answer(struct notice *notice);      /* once; nothing when it was answered */
/* The descriptor becomes the caller's, and the answer. Closes fd. */
void notice_give(struct notice *notice, int fd, bool cloexec);
/* Refused by the policy: EPERM, and told. */
void notice_refuse(struct notice *notice, const char *what);
/* Runs fn with a copy of the notice on a thread of its own; `notice` counts as answered. */
void notice_defer(struct notice *notice, notice_fn fn);

/* target.c: reading the caller. 0 or more, or a negative errno. */
int target_text(const struct notice *notice, uint64_t address, char *text, size_t size);
int target_bytes(const struct notice *notice, uint64_t address, void *bytes, size_t n);
int target_write(const struct notice *notice, uint64_t address, const void *bytes, size_t n);
int target_base(const struct notice *notice, int dirfd);                /* O_PATH; AT_FDCWD too */
int target_descriptor(const struct notice *notice, int fd, char *link); /* "socket:[17]" */
unsigned target_umask(const struct notice *notice);

/* paths.c: names to descriptors. */
struct place { /* the parent directory of a name, and the name */
    int dir;   /* O_PATH, owned */
    char name[NAME_MAX + 1];
    char full[PATH_MAX]; /* canonical parent + name */
};
int place_find(const struct notice *notice, int dirfd, const char *path, struct place *ret);
void place_done(struct place *place);
int path_canonical(int fd, char full[static PATH_MAX]);

/* The calls, by room: broker_open.c, broker_change.c, broker_net.c, broker_tasks.c. */
notice_fn broker_open_call(int call);
notice_fn broker_change_call(int call);
notice_fn broker_net_call(int call);
notice_fn broker_tasks_call(int call);

/* broker_net.c. Virtual files: a descriptor for /etc/hosts and the like, or -1. */
MUST_CHECK int net_open(struct broker *broker, struct net **ret, struct err *e);
int net_virtual_file(struct net *net, const char *path);

#endif
