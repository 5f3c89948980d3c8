/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/sandbox/server_sandbox.h - the confinement of kernels, MCP servers and pip: the
 * sandbox of --sandbox, and the walls without it.
 * Offered: without --sandbox, to sessions that want one; what it takes is made for the first.
 * Found out: once, at the start. Less than --sandbox-min, or settings that cannot be used, end it.
 * Order:   server_sandbox_open(); places are added; server_sandbox_ready(); children are started.
 * Owns:    the specs and what they name. */
#ifndef ENTRYPOINT_SANDBOX_SERVER_SANDBOX_H
#define ENTRYPOINT_SANDBOX_SERVER_SANDBOX_H

#include "entrypoint/options.h"
#include "sandbox/confine/spec.h"
#include "sandbox/policy/settings.h"
#include "session/packages/pip_settings.h"

enum { SERVER_SANDBOX_DIRS = 4, SERVER_SANDBOX_DETAIL = 600 };

enum {                 /* whom a place is kept from */
       OF_OFFERED = 8, /* kernels with a sandbox where the others have none */
       OF_DOORS = 16,  /* clients that ask the server for files (session/kernels/judge.h) */
       OF_KERNELS = 1 | OF_OFFERED | OF_DOORS,
       OF_SERVERS = 2,
       OF_PIP = 4,
       OF_ALL = OF_KERNELS | OF_SERVERS | OF_PIP,
       OF__COUNT = 5
};

struct server_places { /* lists that end with NULL; the texts are owned */
    char *hidden[SANDBOX_SPEC_LIST_MAX + 1], *kept[SANDBOX_SPEC_LIST_MAX + 1];
};

struct server_sandbox {
    const struct sandbox_spec *kernels, *servers, *pip; /* NULL: nothing can be had here */
    const char *level;                                  /* what this machine grants */
    bool peers;                                         /* and sandbox_probe's */
    char detail[SERVER_SANDBOX_DETAIL];                 /* a sentence about that */
    struct words variables; /* of kernels, NAME=value; none before there is a sandbox */
    const char *preload;    /* of kernels' LD_PRELOAD, or NULL */
    /* what these point to */
    struct sandbox_spec spec, server_spec, pip_spec, offered;
    struct sandbox_spec doors;              /* its places alone mean something */
    struct server_places places[OF__COUNT]; /* of kernels, servers, pip, sessions, doors */
    struct pip_place pip_place;             /* with `settings`, where kernels have some */
    char *settings, *workspace, *ipython, *tool_socket;
    char **disk_places; /* NULL without --kernel-disk */
    const char *dirs[SERVER_SANDBOX_DIRS], *sockets[2];
    uint16_t ports[2];
};

/* Before there are threads. `tool_socket`: where code in kernels finds the tool plane. */
MUST_CHECK int server_sandbox_open(const struct options *options, const char *workspace,
                                   const char *tool_socket, struct server_sandbox *ret,
                                   struct err *e);

/* What a session that wants a sandbox is put behind where there is no --sandbox; with it
 * `variables` and `preload`. -ENOTSUP: there is one for all, or nothing can be had here. */
MUST_CHECK int server_sandbox_offer(struct server_sandbox *s, const struct options *options,
                                    const struct sandbox_spec **ret, struct err *e);

/* The file of --sandbox-config is named, and is there. */
bool server_sandbox_config_there(const struct options *o);

/* Absolute paths, copied. Hidden: they neither read, list, change nor connect to anything at or
 * below; kept: they do not change it. Where they can make names beside such a place, or above it,
 * every open waits for a broker (places.h): so name the highest directory that is the server's
 * alone. */
MUST_CHECK int server_sandbox_hide(struct server_sandbox *s, unsigned of, const char *path,
                                   struct err *e);
MUST_CHECK int server_sandbox_keep(struct server_sandbox *s, unsigned of, const char *path,
                                   struct err *e);

/* NULL, or the first of the places that these are not kept from here; borrowed. */
const char *server_sandbox_open_place(const struct server_sandbox *s, unsigned of);

/* Logs what is not enforced; settings that cannot be used are an error. */
MUST_CHECK int server_sandbox_ready(struct server_sandbox *s, const struct options *options,
                                    struct err *e);
/* What pip's sandbox is about, where kernels have one; the texts are borrowed. */
void server_sandbox_place_pip(struct server_sandbox *s, const struct options *options,
                              const char *user_base, const char *const *envp);
void server_sandbox_done(struct server_sandbox *s);

#endif
