/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/confine/confine.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/unixsock.h"
#include "sandbox/landlock/landlock_abi.h"

enum {
    FDS_MAX = 2,
    CAPABILITIES = 64,
    NEW_LISTENER = 1 << 3,  /* SECCOMP_FILTER_FLAG_NEW_LISTENER */
    WAIT_KILLABLE = 1 << 5, /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV */
    /* A core pattern with a pipe is stopped by 1 and not by 0 (core(5)); neither leaves a file. */
    CORE_MOST = 1
};

const char *confine_step_name(int step)
{
    static const char *const names[CONFINE__COUNT] = {
        [CONFINE_OFFER] = "offer",
        [CONFINE_CAPABILITIES] = "capabilities",
        [CONFINE_PRIVILEGES] = "privileges",
        [CONFINE_LIMITS] = "limits",
        [CONFINE_LANDLOCK] = "landlock",
        [CONFINE_SECCOMP] = "seccomp",
        [CONFINE_GO] = "go",
    };
    return step > 0 && step < CONFINE__COUNT ? names[step] : "unknown step";
}

/* --- the broker's half ------------------------------------------------------------------------ */

static int make_filter_program(const struct sock_filter *filter, unsigned short count, int *ret_fd,
                               struct err *e)
{
    drop_fd int fd = memfd_create("filter", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return err_set(e, -errno, "memfd_create: %s", strerror(errno));
    int r = fd_write(fd, (const char *)filter, count * sizeof *filter);
    if (r < 0)
        return err_set(e, r, "write the filter: %s", strerror(-r));
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
        return err_set(e, -errno, "seal the filter: %s", strerror(errno));
    *ret_fd = fd_take(&fd);
    return 0;
}

int confine_send(int sock, int ruleset, const struct sock_filter *filter, unsigned short count,
                 bool listener, const struct confine_offer *limits, struct err *e)
{
    drop_fd int program = -1;
    int r = make_filter_program(filter, count, &program, e);
    if (r < 0)
        return r;
    struct confine_offer offer = *limits;
    offer.version = CONFINE_VERSION;
    offer.has_ruleset = ruleset >= 0;
    offer.wants_listener = listener;
    offer.filter_count = count;
    int fds[FDS_MAX] = {ruleset, program};
    const size_t skipped = ruleset < 0;
    r = unixsock_send(sock, &offer, sizeof offer, fds + skipped, FDS_MAX - skipped, 0);
    return r < 0 ? err_set(e, r, "offer the sandbox: %s", strerror(-r)) : 0;
}

static int wait_for_broker(int sock, int wait_ms, struct err *e)
{
    struct pollfd poller = {.fd = sock, .events = POLLIN};
    int n = poll(&poller, 1, wait_ms);
    if (n < 0)
        return err_set(e, -errno, "poll: %s", strerror(errno));
    if (n == 0)
        return err_set(e, -ETIMEDOUT, "the process to confine gave no answer in %d ms", wait_ms);
    return 0;
}

static int refusal(const struct confine_answer *answer, struct err *e)
{
    const int code = answer->error > 0 ? -answer->error : -EPROTO;
    if (answer->step == CONFINE_SECCOMP && code == -EBUSY)
        return err_set(e, code, "confine: seccomp: another listener is above this process");
    return err_set(e, code, "confine: %s: %s", confine_step_name(answer->step), strerror(-code));
}

int confine_receive(int sock, int wait_ms, int *ret_listener, struct err *e)
{
    int r = wait_for_broker(sock, wait_ms, e);
    if (r < 0)
        return r;
    struct confine_answer answer = {0};
    drop_fd int listener = -1;
    size_t count = 0;
    r = unixsock_receive(sock, &answer, sizeof answer, &listener, 1, &count);
    if (r < 0)
        return err_set(e, r, "the process to confine ended: %s", strerror(-r));
    if (answer.error != 0)
        return refusal(&answer, e);
    *ret_listener = fd_take(&listener);
    return 0;
}

int confine_release(int sock, struct err *e)
{
    int r = unixsock_send(sock, "+", 1, NULL, 0, 0);
    return r < 0 ? err_set(e, r, "let the confined process go on: %s", strerror(-r)) : 0;
}

/* --- the child's half: system calls on its own stack ------------------------------------------ */

static int drop_all_capabilities(void)
{
    for (unsigned long i = 0; i < CAPABILITIES; i++)
        if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
            break; /* past the last, or without the right: nobody gets them back then either */
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
        return -errno;
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
}

static int set_spec_limit(int resource, rlim_t most)
{
    struct rlimit now;
    if (syscall(SYS_prlimit64, 0, resource, NULL, &now) < 0)
        return -errno;
    now.rlim_max = most < now.rlim_max ? most : now.rlim_max; /* it cannot be raised again */
    now.rlim_cur = now.rlim_max;
    return syscall(SYS_prlimit64, 0, resource, &now, NULL) < 0 ? -errno : 0;
}

static int set_limits(const struct confine_offer *offer)
{
    int r = set_spec_limit(RLIMIT_CORE, CORE_MOST);
    for (uint32_t i = 0; r == 0 && i < offer->limit_count; i++)
        r = set_spec_limit((int)offer->limits[i].resource, (rlim_t)offer->limits[i].most);
    return r;
}

static int enter_spec_landlock(int ruleset)
{
    if (landlock_restrict(ruleset, LANDLOCK_QUIET) == 0)
        return 0;
    if (errno == EINVAL && landlock_restrict(ruleset, 0) == 0) /* before ABI 7 */
        return 0;
    return -errno;
}

/* *ret_listener is -1 when none is wanted. */
static int enter_seccomp(int program, const struct confine_offer *offer, int *ret_listener)
{
    struct sock_filter filter[FILTER_MAX];
    const size_t size = offer->filter_count * sizeof *filter;
    ssize_t got = pread(program, filter, size, 0);
    if (got < 0 || (size_t)got != size)
        return got < 0 ? -errno : -EBADMSG;
    struct sock_fprog code = {.len = (unsigned short)offer->filter_count, .filter = filter};
    const unsigned flags = offer->wants_listener ? NEW_LISTENER : 0;
    long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                     offer->wants_listener ? flags | WAIT_KILLABLE : flags, &code);
    if (r < 0 && errno == EINVAL && offer->wants_listener) /* before Linux 5.19 */
        r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &code);
    if (r < 0)
        return -errno;
    *ret_listener = offer->wants_listener ? (int)r : -1;
    return 0;
}

static bool makes_sense(const struct confine_offer *offer, size_t fds)
{
    return offer->version == CONFINE_VERSION && offer->limit_count <= CONFINE_LIMITS_MAX &&
           offer->filter_count > 0 && offer->filter_count <= FILTER_MAX &&
           fds == (offer->has_ruleset ? 2 : 1);
}

static int enter_walls(const struct confine_offer *offer, const int *fds, int *ret_listener,
                       int *step)
{
    *step = CONFINE_CAPABILITIES;
    int r = drop_all_capabilities();
    if (r < 0)
        return r;
    *step = CONFINE_PRIVILEGES;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    *step = CONFINE_LIMITS;
    r = set_limits(offer);
    if (r < 0)
        return r;
    *step = CONFINE_LANDLOCK;
    r = offer->has_ruleset ? enter_spec_landlock(fds[0]) : 0;
    if (r < 0)
        return r;
    *step = CONFINE_SECCOMP;
    return enter_seccomp(fds[offer->has_ruleset ? 1 : 0], offer, ret_listener);
}

static int report_confinement(int sock, int error, int step, int listener)
{
    const struct confine_answer answer = {.error = -error, .step = step};
    return unixsock_send(sock, &answer, sizeof answer, &listener, listener >= 0, 0);
}

int confine_self(int sock, int *ret_step)
{
    struct confine_offer offer = {0};
    int fds[FDS_MAX] = {-1, -1};
    size_t count = 0;
    int step = CONFINE_OFFER;
    int listener = -1;
    int r = unixsock_receive(sock, &offer, sizeof offer, fds, FDS_MAX, &count);
    if (r == 0)
        r = makes_sense(&offer, count) ? enter_walls(&offer, fds, &listener, &step) : -EPROTO;
    for (size_t i = 0; i < count; i++)
        (void)close(fds[i]);
    int sent = report_confinement(sock, r, step, listener);
    if (listener >= 0)
        (void)close(listener);
    if (r == 0) {
        step = CONFINE_GO;
        char go;
        r = sent < 0 ? sent : unixsock_receive(sock, &go, 1, NULL, 0, &count);
    }
    if (r < 0)
        *ret_step = step;
    return r;
}
