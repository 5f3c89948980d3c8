/* SPDX-License-Identifier: Apache-2.0 */
#include "base/service.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY ((uid_t) - 1) /* to setfsuid(2) and setresuid(2): leave it as it is */

bool service_there(void)
{
    return getuid() != geteuid();
}

bool service_possible(void)
{
    return (uid_t)setfsuid(NOBODY) != NOBODY; /* else it answers the fsuid that there is */
}

struct service service_enter(void)
{
    struct service service = {.inside = service_there()};
    if (!service.inside)
        return service;
    (void)prctl(PR_GET_PDEATHSIG, &service.death_signal, 0, 0, 0);
    service.parent = getppid();
    (void)setfsuid(getuid()); /* should it fail, what is the service's refuses us */
    return service;
}

void service_leave(struct service *service)
{
    const int code = errno;
    if (!service->inside)
        return;
    (void)setfsuid(geteuid());
    if ((uid_t)setfsuid(NOBODY) != geteuid())
        abort(); /* the user's files would be made as somebody else's */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* the change has set it to fs.suid_dumpable */
    if (service->death_signal) {
        (void)prctl(PR_SET_PDEATHSIG, service->death_signal, 0, 0, 0);
        if (getppid() != service->parent)
            (void)raise(service->death_signal);
    }
    errno = code;
}

/* The libc's setresuid() would change the threads of the process whose memory a child of clone(2)
 * still shares. */
static long set_ids(uid_t real, uid_t effective, uid_t saved)
{
    return syscall(SYS_setresuid, real, effective, saved);
}

int service_give_up(void)
{
    const uid_t service = getuid(), user = geteuid();
    uid_t real, effective, saved;
    if (service == user)
        return 0;
    if (set_ids(user, user, user) < 0)
        return -errno;
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (getresuid(&real, &effective, &saved) < 0)
        return -errno;
    if (real != user || effective != user || saved != user)
        return -EPERM;
    return set_ids(NOBODY, service, NOBODY) == 0 ? -EPERM : 0;
}

bool may_access(const char *path, int mode)
{
    return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0;
}
