/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/fakes/fake_tools.h - MCP servers for tests of the tool plane: what was asked of them is
 * kept, and the test answers. */
#ifndef FAKES_FAKE_TOOLS_H
#define FAKES_FAKE_TOOLS_H

#include "tools/tools.h"

struct fake_tools {
    bool known;           /* the server "demo" is registered */
    char params[256];     /* with these parameters */
    char registered[256]; /* the last registration: NAME PARAMS */
    char called[256];     /* the last call: SERVER TOOL ARGUMENTS */
    struct trace trace;   /* of the last call */
    int registrations, calls, cancelled, resets, answers;
    char answer[256];     /* of the last elicitation */
    bool progress_wanted; /* by the last call */
};
extern struct fake_tools fake_tools;

/* The registration succeeds with the tools "echo" and "Odd Name", or fails. */
void fake_tools_registered(const char *why_not);

/* The call ends: with this text as content, as an error of the tool, or (NULL) for a reason. */
void fake_tools_done(const char *text, bool is_error, const char *why);

void fake_tools_progress(double progress, double total, const char *message);

/* The server asks something. */
void fake_tools_ask(const char *params);

#endif
