/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/net/loopback.h - a TCP socket that listens on 127.0.0.1, at a port that is free. */
#ifndef SANDBOX_NET_LOOPBACK_H
#define SANDBOX_NET_LOOPBACK_H

#include <stdint.h>

#include "base/err.h"

/* *ret_fd is owned, closed on exec, does not block. */
MUST_CHECK int loopback_listen(int *ret_fd, uint16_t *ret_port, struct err *e);

#endif
