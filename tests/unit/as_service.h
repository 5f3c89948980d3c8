/* SPDX-License-Identifier: Apache-2.0
 *
 * A child with the ids of a server that was started as root (base/service.h): ids do not come back,
 * so a test takes them in a process of its own. Without root the test is passed over. */
#ifndef TESTS_UNIT_AS_SERVICE_H
#define TESTS_UNIT_AS_SERVICE_H

#include <acutest.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/service.h"

enum { SERVICE = 731, OWNER = 4711 };

static const char *does_not_hold; /* the first of the child's */

#define HOLDS(what)                                                                                \
    do {                                                                                           \
        if (!(what) && !does_not_hold)                                                             \
            does_not_hold = #what;                                                                 \
    } while (0)

static inline bool become(uid_t service, uid_t owner)
{
    return setresgid(owner, owner, owner) == 0 && setresuid(service, owner, service) == 0;
}

static inline bool is_root(void)
{
    if (geteuid() == 0)
        return true;
    TEST_MSG("needs root: passed over");
    return false;
}

static inline void make_of_service(const char *dir, char *ret, size_t size)
{
    drop_service struct service service = service_enter();
    (void)snprintf(ret, size, "%s/of-service", dir);
    HOLDS(mkdir(ret, 0700) == 0);
}

static inline void remove_of_service(const char *path)
{
    drop_service struct service service = service_enter();
    HOLDS(rmdir(path) == 0);
}

/* Runs `body` with a folder that all may write to, which it leaves empty. */
static inline void as_service(void (*body)(const char *dir))
{
    char dir[] = "/tmp/test-service-XXXXXX";
    int status = -1;
    if (!is_root())
        return;
    TEST_ASSERT(mkdtemp(dir) != NULL && chmod(dir, 0777) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        HOLDS(become(SERVICE, OWNER));
        body(dir);
        if (does_not_hold)
            (void)dprintf(STDERR_FILENO, "does not hold: %s\n", does_not_hold);
        _exit(does_not_hold ? 1 : 0);
    }
    TEST_CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    TEST_CHECK(rmdir(dir) == 0);
}

#endif
