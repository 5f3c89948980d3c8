/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/fakes/fake_client.h - what tests of questions to the MCP client share: the client, and the
 * code that asks for an approval; the session is the one of fake_session.h. */
#ifndef FAKES_FAKE_CLIENT_H
#define FAKES_FAKE_CLIENT_H

#include "fakes/fake_session.h"
#include "front/mcp/mcp.h"

#define META_WITH(capabilities)                                                                    \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":" capabilities "}"
#define META META_WITH("{\"elicitation\":{\"form\":{},\"url\":{}}}")
#define APPROVE "{\"action\":\"accept\",\"content\":{\"decision\":\"approve\"}}"
#define CODE "\"arguments\":{\"code\":\"x\"}"
#define INVALID_STATE "\"error\":{\"code\":-32602,\"message\":\"Invalid or expired requestState\"}"

extern int64_t now; /* of the loop's clock */
extern struct loop *loop;
extern struct approvals *all;
extern struct mcp_config config;
extern struct mcp *mcp;
extern char sent[65536]; /* the messages since the last say(), one per line */
extern int messages;
extern const char *asking; /* the session whose code asks; "default" when it begins */

struct caller {
    struct approval *approval;
    int ends;
    enum approval_verdict verdict;
    char why[300], result[300];
};

/* The client: */
void turn(void);
void pass_ms(int64_t ms);
void say(const char *text);
void listen_anew(void);
void open_with(int64_t timeout_ms);
void initialize(const char *version, const char *capabilities);
void close_all(void);
void expect(const char *part);
void expect_not(const char *part);
void finish(const char *text);
void ask_at_once(struct caller *caller, const char *tool);
void ask(struct caller *caller, const char *tool);
void elicit(struct caller *caller, const char *form);
void expect_end(const struct caller *caller, enum approval_verdict verdict);
void run_cell(int id);
void answer(const char *id, const char *result);
void open_anew(void); /* another mcp of `config` */

#endif
