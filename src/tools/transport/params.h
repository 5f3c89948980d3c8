/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/transport/params.h - server_params: what they may be, and what they are once ${VAR} is
 * replaced (private to tools/).
 * Owner:   `struct params` belongs to one connection and is wiped with it.
 * Secrets: the values that replaced a ${VAR} are kept, to be scrubbed from every text that leaves:
 *          errors, logs, last words. A value shorter than PARAMS_SECRET_MIN bytes is not.
 * Limits:  PARAMS_TEXT_MAX bytes for one string when its variables are replaced. */
#ifndef TOOLS_TRANSPORT_PARAMS_H
#define TOOLS_TRANSPORT_PARAMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"
#include "tools/transport/transport.h"

#define PARAMS_SECRET_MIN 4
#define PARAMS_TEXT_MAX ((size_t)1 << 20)

enum params_kind { PARAMS_STDIO, PARAMS_HTTP, PARAMS_SSE };

struct params {
    enum params_kind kind;
    char **argv, **envp; /* of a program; end in NULL */
    char *cwd;
    char *url;
    struct transport_header *headers; /* both texts are owned */
    size_t n_headers;
    char **secrets;
    size_t n_secrets;
};

struct params_source {
    const char *(*lookup)(const char *name);
    const char *const *envp; /* may be NULL */
    const char *cwd;         /* a relative "cwd" is below it */
    const char *usual_cwd;   /* without a "cwd"; NULL: `cwd` */
};

/* A Python identifier of ASCII, no keyword, at most TOOLS_NAME_MAX bytes: -EINVAL. */
MUST_CHECK int params_check_name(const char *name, struct err *e);

/* Everything but the values of variables: -EINVAL says what is wrong. */
MUST_CHECK int params_check(const struct json *params, struct err *e);

/* `params` passed params_check(). -EINVAL: variables are missing (all are named), or the URL does
 * not tell which transport is meant. */
MUST_CHECK int params_read(const struct json *params, const struct params_source *source,
                           struct params *ret, struct err *e);
void params_done(struct params *params);

/* Whether there is a ${VAR} in a text. */
bool params_has_variable(const char *text);

/* For a human: the command line or the URL, variables unreplaced. The caller frees it. */
char *params_shown(const struct json *params);

/* The same members with the same values, in whatever order. */
bool params_same(const struct json *a, const struct json *b);

/* "***" for each secret, as it stands and as JSON writes it; also for the start of one with which
 * the text ends, because it may have been cut there. */
void params_scrub(const struct params *params, struct buf *text);
void params_scrub_err(const struct params *params, struct err *e);

#endif
