/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/cli/apigen.h - `ipybox apigen`: writes the Python package for the tools of one MCP
 * server.
 * Output:  the modules' names, one a line, on standard output; everything else on standard error.
 * Status:  0 when the package is there; 1 when it could not be made, the old one is then untouched;
 *          OPTIONS_USAGE_STATUS for options that do not fit together. */
#ifndef ENTRYPOINT_CLI_APIGEN_H
#define ENTRYPOINT_CLI_APIGEN_H

#include "entrypoint/options.h"

int apigen_main(const struct options *options);

#endif
