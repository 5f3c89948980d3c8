/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/fakes/fake_transport.h - stands in for the transports of tools/ at link time: a test plays
 * the servers by rules, or says every message itself. */
#ifndef FAKES_FAKE_TRANSPORT_H
#define FAKES_FAKE_TRANSPORT_H

#include "base/buf.h"
#include "tools/transport/params.h"

#define FAKE_TRANSPORTS_MAX 32

/* The answer to a request: `"result":{…}` or `"error":{…}` (put into a response with its id),
 * "!404 text" (refused by HTTP), "#text" (the connection closes), NULL: silence. */
struct fake_rule {
    const char *method;
    const char *answer;
    int times; /* that it counts; 0: always. The first rule that counts is taken. */
    int used;
};

struct fake_transport {
    enum params_kind kind;
    bool open;
    struct buf sent;      /* every message, a line each */
    struct buf headers;   /* "id version modern name param=value …", a line for each request */
    struct buf forgotten; /* "id " */
};

struct fake_transports {
    struct fake_transport list[FAKE_TRANSPORTS_MAX]; /* in the order of their opening */
    int n;
    struct fake_rule *rules; /* end with method == NULL */
    int refuse;              /* the next open fails with this code */
    int broken;              /* sending fails with this code */
    char opened[4096];       /* what the last one was opened with: argv or URL, env, headers, cwd */
};

extern struct fake_transports fake_transports;

/* Delivers the answers that are due; false: there was none. */
bool fake_transports_answer(void);

/* From the server, as it stands. */
void fake_transport_say(int which, const char *text);
void fake_transport_close(int which, const char *why);
void fake_transport_refuse(int which, const char *id, int status);
void fake_transport_log(int which, const char *line);

void fake_transports_reset(void);

#endif
