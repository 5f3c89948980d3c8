/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/cli/cli.h - commands that talk to the running server over its Unix socket: exec,
 * sessions, policy, approve, logs, export, fork (docs/cli.md).
 * Process: each runs alone and blocks; what it prints goes to descriptors 1 and 2.
 * Status:  0; CLI_FAILED, of exec CLI_NO_RESULT; OPTIONS_USAGE_STATUS; the others are exec's. */
#ifndef ENTRYPOINT_CLI_CLI_H
#define ENTRYPOINT_CLI_CLI_H

#include "entrypoint/options.h"

enum {
    CLI_FAILED = 1, /* of exec: the cell raised an exception */
    CLI_TIMEOUT = 124,
    CLI_NO_RESULT = 125,
    CLI_INTERRUPTED = 130,
};

int cli_main(enum role role, const struct options *options);

/* The commands, for cli.c. */
int cli_exec(const struct options *options);
int cli_policy(const struct options *options);
int cli_approve(const struct options *options);
int cli_logs(const struct options *options);
int cli_export(const struct options *options);
int cli_fork(const struct options *options);

#endif
