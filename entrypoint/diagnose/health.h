/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/diagnose/health.h - `ipybox health`: asks the running server how it is.
 * How:     the server writes one line of JSON to whoever connects to <runtime dir>/control.sock.
 *          IPYBOX_RUNTIME_DIR says where, or every place where identity.h may have made it.
 * Status:  0 when the line says "status":"ok", or when there is no server and none is meant to run,
 *          because the container runs another program; 1 otherwise, with the reason on standard
 *          error.
 * Limits:  2 seconds for everything, 64 KiB for the line. */
#ifndef ENTRYPOINT_DIAGNOSE_HEALTH_H
#define ENTRYPOINT_DIAGNOSE_HEALTH_H

#include <stdbool.h>
#include <stddef.h>

int health_main(void);

/* Whether this command line, words that each end in a 0, is that of an init (or of what starts one)
 * whose main child is no server. */
bool health_has_no_server(const char *words, size_t n);

#endif
