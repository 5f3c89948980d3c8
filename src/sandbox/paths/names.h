/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/paths/names.h - addresses that stand for names: the sandbox resolves an allowed name to
 * one of 198.18.0.0/15 (set aside for benchmarks, routed nowhere) and connects to that.
 * Why:     so that a connection tells the broker the name, which is what the policy judges; and so
 *          that a query for a name carries nothing out.
 * Limits:  NAMES_MAX names; then the one that was not used for the longest time goes. An address
 *          is given to another name only after all 131070 had their turn.
 * Thread:  any. */
#ifndef SANDBOX_PATHS_NAMES_H
#define SANDBOX_PATHS_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/dns.h"

#define NAMES_MAX 8192

struct host_names;
struct host_names *names_new(void);
struct host_names *names_free(struct host_names *names); /* NULL in, NULL out */

/* The address (host's order) of a name of at most DNS_NAME_MAX bytes, in any case; 0: longer. */
uint32_t names_address(struct host_names *names, const char *name);
/* The name that has this address now, in lower case. */
bool names_find(struct host_names *names, uint32_t address, char name[static DNS_NAME_MAX + 1]);

/* A descriptor, for reading alone, of a sealed file with this text; -errno. */
int names_file(const char *label, const struct buf *text);

#endif
