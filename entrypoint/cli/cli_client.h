/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/cli/cli_client.h - a client of the HTTP API for one request at a time, over the
 * server's Unix socket, and what the commands have in common.
 * Wire:    HTTP/1.0 (RFC 1945): an answer ends with its connection, so nothing is chunked.
 * Trusted: root must be listening: code in kernels may put a socket of its own in the place of the
 *          server's, and show other questions there than the ones that are decided.
 * Calls:   blocking; a signal that is not handled ends the process as usual. */
#ifndef ENTRYPOINT_CLI_CLI_CLIENT_H
#define ENTRYPOINT_CLI_CLI_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"

#define CLI_ANSWER_MAX ((size_t)256 << 20)
#define CLI_EVENT_MAX ((size_t)64 << 20)

struct cli_request { /* borrowed */
    const char *method, *path;
    const struct buf *body; /* JSON; NULL: none */
    bool events;            /* a stream is wanted */
    const char *trusted;    /* NULL: whoever listens; else what to do where it is not root */
};

struct cli_answer {
    int fd; /* poll it for reading; -1: none */
    int status;
    int64_t left;     /* of the body; -1: until the end of the connection */
    struct buf ahead; /* of the body, came with the head */
};
#define CLI_ANSWER (struct cli_answer){.fd = -1}
void cli_answer_done(struct cli_answer *a);
#define drop_cli_answer __attribute__((cleanup(cli_answer_done)))

/* Sends it and reads the head. An error's answer becomes an error: -EPERM (403), -ENOENT (404),
 * -EINVAL (any other of the client), -EIO (429, of the server), with its detail.
 * -ENOTCONN: no server is running. */
MUST_CHECK int cli_ask(const struct cli_request *request, struct cli_answer *ret, struct err *e);

/* The next bytes of the body; 0: its end. -EPIPE: it ended too early. */
MUST_CHECK int cli_read(struct cli_answer *a, char *into, size_t size, struct err *e);

/* Asks and reads all of the body. */
MUST_CHECK int cli_fetch(const struct cli_request *request, struct buf *ret, struct err *e);
/* The same, parsed. */
MUST_CHECK int cli_fetch_json(const struct cli_request *request, struct json **ret, struct err *e);

/* A path of the API with one segment that came from outside, encoded. Free it with xfree(). */
char *cli_path(const char *before, const char *segment, const char *behind);

void cli_write(int fd, const char *bytes, size_t n); /* all of it; what cannot be written is lost */
void cli_put(int fd, const struct buf *text);
/* All of standard input. -EINVAL: it is longer than the buffer may be. */
MUST_CHECK int cli_input(struct buf *ret, struct err *e);
/* "ipybox COMMAND: …" on descriptor 2; nothing in it steers the terminal. */
void cli_complain(const char *command, const char *fmt, ...) PRINTF(2, 3);

/* Text as it came from a kernel: C0 80 is a NUL (base/text/utf8.h). */
void cli_write_text(int fd, const char *text);

#endif
