/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/server/server_name.h - the server's name among others (front/http/instance.h): what
 * the option says, else the host's name. A host without one that can be used: "ipybox". */
#ifndef ENTRYPOINT_SERVER_SERVER_NAME_H
#define ENTRYPOINT_SERVER_SERVER_NAME_H

#include "base/err.h"
#include "front/http/instance.h"

/* option: NULL: not given. -EINVAL: it is no name. */
MUST_CHECK int server_name(const char *option, char ret[INSTANCE_MAX + 1], struct err *e);

#endif
