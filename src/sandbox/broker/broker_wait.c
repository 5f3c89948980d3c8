/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that may block. The caller sleeps in the kernel until we answer and no signal but a deadly
 * one wakes it, so somebody has to look: a watcher reads, some hundred times a second and only
 * while a call waits, whether a signal is pending for the caller or it is dead. If so, the thread
 * is hit by SIGURG until its blocking call gives up. Why SIGURG: its handler does nothing, and
 * outside of this it is ignored anyway. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/list.h"
#include "sandbox/broker/broker_internal.h"

enum { LOOK_EVERY_MS = 5, STACK = 512 * 1024 };

struct broker_waiter {
    struct notice notice;
    notice_fn fn;
    pthread_t thread;
    struct waiting_syscall *waiting;
    struct broker_waiter *next;
};

struct waiting_syscall {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t watcher;
    struct broker_waiter *first;
    int count;
    bool over;
};

static void on_urgent(int sig)
{
    (void)sig;
}

static void unlink_waiter(struct waiting_syscall *waiting, const struct broker_waiter *waiter)
{
    chain_remove(&waiting->first, waiter);
    waiting->count--;
    (void)pthread_cond_broadcast(&waiting->changed);
}

static void *run_waiting(void *ctx)
{
    struct broker_waiter *waiter = ctx;
    struct waiting_syscall *waiting = waiter->waiting;
    sigset_t urgent;
    (void)sigemptyset(&urgent);
    (void)sigaddset(&urgent, SIGURG);
    (void)pthread_sigmask(SIG_UNBLOCK, &urgent, NULL);
    waiter->fn(&waiter->notice);
    notice_answer(&waiter->notice);
    policy_reference_drop(waiter->notice.broker, waiter->notice.reference);
    (void)pthread_mutex_lock(&waiting->lock);
    unlink_waiter(waiting, waiter);
    (void)pthread_mutex_unlock(&waiting->lock);
    xfree(waiter);
    return NULL;
}

static int start_waiter(struct broker_waiter *waiter)
{
    pthread_attr_t attr;
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, STACK);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int r = pthread_create(&waiter->thread, &attr, run_waiting,
                           waiter); /* all signals are blocked here */
    (void)pthread_attr_destroy(&attr);
    return r;
}

void notice_defer(struct notice *notice, notice_fn fn)
{
    struct waiting_syscall *waiting = notice->broker->waiting;
    struct broker_waiter *waiter = NEW(struct broker_waiter);
    *waiter = (struct broker_waiter){.notice = *notice, .fn = fn, .waiting = waiting};
    waiter->notice.deferred = true;
    policy_reference_keep(notice->broker, notice->reference);
    (void)pthread_mutex_lock(&waiting->lock);
    int r = waiting->count >= BROKER_BLOCKED_MAX ? EAGAIN : start_waiter(waiter);
    if (r == 0) { /* it cannot take itself off the list before it is on it: we hold the lock */
        waiter->next = waiting->first;
        waiting->first = waiter;
        waiting->count++;
        (void)pthread_cond_broadcast(&waiting->changed);
    }
    (void)pthread_mutex_unlock(&waiting->lock);
    notice->answered = r == 0;
    notice->error = r;
    if (r != 0) {
        policy_reference_drop(notice->broker, notice->reference);
        xfree(waiter);
    }
}

static void *watch_waiting(void *ctx)
{
    struct waiting_syscall *waiting = ctx;
    (void)pthread_mutex_lock(&waiting->lock);
    while (waiting->first || !waiting->over) {
        if (!waiting->first) {
            (void)pthread_cond_wait(&waiting->changed, &waiting->lock);
            continue;
        }
        for (const struct broker_waiter *w = waiting->first; w; w = w->next)
            if (!notice_alive(&w->notice) || target_interrupted(&w->notice))
                (void)pthread_kill(w->thread, SIGURG);
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_EVERY_MS * 1000000L;
        if (until.tv_nsec >= 1000000000L) {
            until.tv_nsec -= 1000000000L;
            until.tv_sec++;
        }
        (void)pthread_cond_timedwait(&waiting->changed, &waiting->lock, &until);
    }
    (void)pthread_mutex_unlock(&waiting->lock);
    return NULL;
}

int waiting_open(struct broker *broker, struct err *e)
{
    struct sigaction action = {.sa_handler = on_urgent}; /* no SA_RESTART: that is the point */
    if (sigaction(SIGURG, &action, NULL) < 0)
        return err_set(e, -errno, "SIGURG: %s", strerror(errno));
    struct waiting_syscall *waiting = NEW(struct waiting_syscall);
    (void)pthread_mutex_init(&waiting->lock, NULL);
    (void)pthread_cond_init(&waiting->changed, NULL);
    broker->waiting = waiting;
    int r = pthread_create(&waiting->watcher, NULL, watch_waiting, waiting);
    return r == 0 ? 0 : err_set(e, -r, "a thread of the broker: %s", strerror(r));
}

void waiting_free(struct broker *broker)
{
    struct waiting_syscall *waiting = broker->waiting;
    (void)pthread_mutex_lock(&waiting->lock);
    waiting->over = true;
    (void)pthread_cond_broadcast(&waiting->changed);
    (void)pthread_mutex_unlock(&waiting->lock);
    (void)pthread_join(waiting->watcher, NULL);
    (void)pthread_cond_destroy(&waiting->changed);
    (void)pthread_mutex_destroy(&waiting->lock);
    xfree(waiting);
    broker->waiting = NULL;
}
