/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/server/server.h - the server: opens the rooms from the lowest up, runs the loop, and
 * closes them again in the other order. */
#ifndef ENTRYPOINT_SERVER_SERVER_H
#define ENTRYPOINT_SERVER_SERVER_H

#include "entrypoint/options.h"

/* Returns the exit status. */
int server_main(const struct options *options);

#endif
