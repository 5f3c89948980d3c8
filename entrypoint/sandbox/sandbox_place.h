/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/sandbox/sandbox_place.h - what sandboxed commands find around them besides their
 * settings. */
#ifndef ENTRYPOINT_SANDBOX_SANDBOX_PLACE_H
#define ENTRYPOINT_SANDBOX_SANDBOX_PLACE_H

#include "sandbox/confine/guard.h"
#include "sandbox/net/net.h"

#define SANDBOX_TMP "/tmp/claude" /* where srt has temporary files; settings name it */

/* Their variables as NAME=value: SANDBOX_RUNTIME, TMPDIR (which is made here, open to all), what
 * has the C library ask for names over TCP, and where proxies are (our own: proxies, or NULL). The
 * caller's: words_done(). */
void sandbox_variables(const struct policy *policy, const struct net_proxies *proxies,
                       struct words *ret);

/* opens.so where it makes opens faster and can be loaded, else NULL: for LD_PRELOAD. */
const char *sandbox_preload(const struct guard *guard);

/* $HOME, or a directory that is there. Borrowed. */
const char *sandbox_home(void);

#endif
