/* SPDX-License-Identifier: Apache-2.0
 *
 * base/service.h - the uid that the server has for itself (docs/decisions/0019).
 * Ids:     where the container was started as root, the server's real and saved uid are the
 *          service uid, which nobody else has. Its effective uid, as which files are opened and
 *          made, is the workspace's owner, who code in kernels is as well. Signals, ptrace and
 *          limits look at the first two. Elsewhere all are one, and nothing here does anything.
 * State:   none but the ids of the process. No step needs a capability.
 * Threads: each has ids of its own. A block changes fsuid of its thread alone, with setfsuid(2);
 *          setresuid(3) would change all threads, as POSIX wants it, under whoever opens a file at
 *          this moment. No thread is started inside a block: it would keep the uid. */
#ifndef BASE_SERVICE_H
#define BASE_SERVICE_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether this process has a service uid, which is then getuid(). */
bool service_there(void);

/* Whether a block can be entered on this machine: gVisor has no setfsuid(2). */
bool service_possible(void);

/* Until the end of the scope, files are looked up, made and removed as the service uid:
 *     drop_service struct service service = service_enter();
 * It keeps errno. A process that could not come back from it ends. */
struct service {
    bool inside;
    int death_signal; /* PR_SET_PDEATHSIG, which a change of ids takes off */
    pid_t parent;
};
struct service service_enter(void);
void service_leave(struct service *service);
#define drop_service __attribute__((cleanup(service_leave)))

/* In a child that was made by clone(2) or fork(2): gives the service uid up, for good, and proves
 * it. System calls alone. 0 or -errno, and then the child must not go on. */
int service_give_up(void);

/* access(2), as who files are opened by: access(2) itself asks for the real uid. */
bool may_access(const char *path, int mode);

#endif
