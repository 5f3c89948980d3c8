/* SPDX-License-Identifier: Apache-2.0
 *
 * approval/toolplane_internal.h - what the files of the tool plane share. The door is
 * toolplane.h. */
#ifndef APPROVAL_TOOLPLANE_INTERNAL_H
#define APPROVAL_TOOLPLANE_INTERNAL_H

#include "approval/toolplane.h"
#include "session/queue/generation.h"

struct toolplane_call;
struct recall;

struct toolplane_job {
    struct toolplane *plane;
    struct toolplane_job *prev, *next;
    struct tools_job *job;         /* NULL: it is registered … */
    struct generation *generation; /* … and its package is being written */
    char *name;
    bool remember, generate;
    char request_id[LOG_REQUEST_MAX + 1]; /* that asked for it, or "" */
    void (*done)(void *ctx, char *const *modules, size_t n, const struct err *why);
    void (*text)(void *ctx, const char *text, size_t n);
    void *ctx;
};

struct failed_start { /* of a registration; the next of that name replaces it */
    struct failed_start *next;
    char *name, *why;
};

struct toolplane {
    struct toolplane_config config;
    const char *report; /* inside `done` of a registration */
    struct generations *generations;
    struct toolplane_job *jobs;
    struct toolplane_listener *listeners;
    struct recall *recalls;
    struct failed_start *failures;
    struct toolplane_call *calls;
    struct toolplane_provider *providers;
    uint64_t numbers;
    void (*watch)(void *ctx, const struct toolplane_progress *p);
    void *watch_ctx;
};

/* A registration; `how` says what is done with it and who hears of its end. */
MUST_CHECK int toolplane_start_job(struct toolplane *plane, const char *name,
                                   const struct json *params, struct toolplane_job how,
                                   struct toolplane_job **ret, struct err *e);

/* The start that is under way under this name; NULL: none. */
const struct toolplane_job *toolplane_find_job(const struct toolplane *plane, const char *name);
/* Why the last registration of a server that is not registered has failed; NULL: none has. */
const char *toolplane_failure_of(const struct toolplane *plane, const char *name);
void toolplane_forget_failure(struct toolplane *plane, const char *name);

/* Calls that waited for this start go on, or fail with its reason. */
void toolplane_started(struct toolplane *plane, const char *name, const struct err *why);

#endif
