/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/shim/shim_tell.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"

enum { SECOND_MS = 1000 };

void teller_init(struct teller *teller, int control)
{
    *teller = (struct teller){.control = control, .tokens = SHIM_REFUSALS_BURST};
    (void)pthread_mutex_init(&teller->lock, NULL);
}

static bool notify_spawner(const struct teller *teller, const struct shim_report *report,
                           const char *text)
{
    size_t n = text ? strlen(text) : 0;
    n = n < SHIM_TEXT_MAX ? n : SHIM_TEXT_MAX;
    struct iovec parts[] = {{(void *)(uintptr_t)report, sizeof *report},
                            {(void *)(uintptr_t)text, n}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    return sendmsg(teller->control, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

void teller_report(const struct teller *teller, enum shim_kind kind, int32_t a, int32_t b,
                   const char *text)
{
    const struct shim_report report = {.kind = kind, .a = a, .b = b};
    (void)notify_spawner(teller, &report, text);
}

static bool may_tell(struct teller *teller)
{
    int64_t now = clock_ms();
    int64_t more = (now - teller->filled) * SHIM_REFUSALS_SECOND / SECOND_MS;
    if (more > 0) {
        int64_t tokens = teller->tokens + more;
        teller->tokens = tokens < SHIM_REFUSALS_BURST ? (int)tokens : SHIM_REFUSALS_BURST;
        teller->filled = now;
    }
    if (teller->tokens == 0)
        return false;
    teller->tokens--;
    return true;
}

void teller_refused(void *ctx, const struct refusal *refusal)
{
    struct teller *teller = ctx;
    char text[SHIM_TEXT_MAX];
    (void)snprintf(text, sizeof text, "call=%s path=%s", refusal->call,
                   refusal->what ? refusal->what : "");
    (void)pthread_mutex_lock(&teller->lock);
    const struct shim_report report = {
        .kind = SHIM_REFUSED, .a = (int32_t)refusal->pid, .b = teller->untold};
    if (may_tell(teller) && notify_spawner(teller, &report, text))
        teller->untold = 0;
    else
        teller->untold++;
    (void)pthread_mutex_unlock(&teller->lock);
}
