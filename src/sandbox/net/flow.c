/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/net/flow.h"

#include <sys/socket.h>

int flow_fill(const struct end *end, struct flow *flow)
{
    if (end->fd < 0 || flow->over || flow->to == FLOW_MAX)
        return 0;
    ssize_t n = recv(end->fd, flow->data + flow->to, FLOW_MAX - flow->to, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    flow->over = n == 0;
    flow->to += (size_t)n;
    return 1;
}

ssize_t flow_put(const struct end *end, const char *bytes, size_t n)
{
    ssize_t sent = send(end->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0)
        return sent;
    return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

int flow_drain(const struct end *end, struct flow *flow)
{
    if (end->fd < 0)
        return 0;
    if (flow->from == flow->to) {
        if (!flow->over || flow->passed_on)
            return 0;
        flow->passed_on = true;
        (void)shutdown(end->fd, SHUT_WR);
        return 1;
    }
    ssize_t sent = flow_put(end, flow->data + flow->from, flow->to - flow->from);
    if (sent <= 0)
        return (int)sent;
    flow->from += (size_t)sent;
    if (flow->from == flow->to)
        flow->from = flow->to = 0;
    return 1;
}
