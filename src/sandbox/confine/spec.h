/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/confine/spec.h - the confinement of one child: written by the server, read by its shim.
 * Form:    one JSON object in a sealed memfd, {"settings": TEXT, "cwd", "home", "private": [...],
 *          "sockets": [...], "ports": [...], "level": "full", "limits": {...}} or {"walls": true,
 *          "private", "level", "limits"}; both with "places", "hidden" and "kept": [...].
 * Trust:   the shim trusts its server; a document that is not of this form ends the start.
 * Limits:  SANDBOX_SPEC_MAX bytes, SANDBOX_SPEC_LIST_MAX entries of a list. */
#ifndef SANDBOX_CONFINE_SPEC_H
#define SANDBOX_CONFINE_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sandbox/confine/level.h"

#define SANDBOX_SPEC_MAX ((size_t)8 << 20)
#define SANDBOX_SPEC_LIST_MAX 64

struct sandbox_limits { /* 0: none */
    int tasks;          /* processes and threads of the whole tree */
    int files;          /* open descriptors of one process */
    uint64_t file_size; /* bytes of a file */
    uint64_t memory;    /* bytes, of the whole tree */
    uint64_t disk;      /* likewise; needs `disk_places` */
    int cpu;            /* seconds, of all together; the kernel holds each process to it, too */
};

struct sandbox_spec {     /* borrowed, but for one that was read */
    const char *settings; /* text of srt's JSON; NULL: the walls alone */
    const char *cwd, *home;
    /* As in struct policy_place; NULL: nothing. */
    const char *const *private_dirs, *const *unix_sockets;
    const uint16_t *ports;
    /* Likewise; they hold with settings and without (places.h), as far as the level lets them. */
    const char *const *hidden, *const *kept;
    const char *const *disk_places; /* of diskuse.h; NULL: none */
    enum sandbox_level level;       /* what must be reached; of the walls, what the machine has */
    struct sandbox_limits limits;
    bool distrusts_cwd;  /* as in struct policy_place */
    bool terminals;      /* of the walls: only the child's own are opened; needs SANDBOX_FULL */
    const char *options; /* whose names begin with "--" and this: "kernel", "mcp"; NULL: kernel */
};

/* The walls alone. */
extern const struct sandbox_spec sandbox_walls;

/* *ret_fd: close-on-exec, owned, at its beginning. */
MUST_CHECK int sandbox_spec_write(const struct sandbox_spec *spec, int *ret_fd, struct err *e);

/* fd stays the caller's. *ret owns all that it names. */
MUST_CHECK int sandbox_spec_read(int fd, struct sandbox_spec **ret, struct err *e);
struct sandbox_spec *sandbox_spec_free(struct sandbox_spec *spec); /* NULL in, NULL out */

#endif
