/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/tools/mcp_fixtures.h - what the protocol's conformance suite wants a server to have: tools,
 * prompts, resources and methods with fixed names, answered by the product's own dispatcher. */
#ifndef TOOLS_MCP_FIXTURES_H
#define TOOLS_MCP_FIXTURES_H

#include "front/mcp/mcp_call.h"

extern const struct mcp_extension mcp_fixtures;

void mcp_fixtures_open(void);
void mcp_fixtures_close(void); /* after all dispatchers */

#endif
