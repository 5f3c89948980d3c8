/* SPDX-License-Identifier: Apache-2.0
 *
 * session/kernels/limits.h - the budgets of one session's kernels: the server's (--kernel-*), or
 * tighter.
 * Form:   {"memory", "disk", "file_size": bytes, "tasks", "open_files": how many, "cpu": seconds};
 *         what is absent or null is as the server has it. */
#ifndef SESSION_KERNELS_LIMITS_H
#define SESSION_KERNELS_LIMITS_H

#include "base/json/json.h"
#include "base/json/jsonw.h"
#include "sandbox/confine/spec.h"

/* server: what kernels are put behind; NULL: the machine has nothing for it. -EINVAL: the message
 * names the member; -EDOM: the limit too that it is over, or what is missing. */
MUST_CHECK int limits_read(const struct json *wanted, const struct sandbox_spec *server,
                           struct sandbox_limits *ret, struct err *e);

/* The object, of those that there are; NULL: an empty one. */
void limits_put(struct jsonw *w, const char *name, const struct sandbox_limits *limits);

#endif
