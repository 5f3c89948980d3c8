/* SPDX-License-Identifier: Apache-2.0
 *
 * session/packages/pip_report.h - what a client is told of a pip that has ended: a summary, and
 * where the whole of its output is. */
#ifndef SESSION_PACKAGES_PIP_REPORT_H
#define SESSION_PACKAGES_PIP_REPORT_H

#include <stdbool.h>

#include "base/buf.h"

#define PIP_REPORT_CHARS 3000

/* Appends to `out` what pip_summary() makes of `output`, in PIP_REPORT_CHARS. Returns the file in
 * `workspace`/outputs that has all of it, owned by the caller (xfree); NULL where nothing was left
 * out, or the workspace takes no file. */
char *pip_report(struct buf *out, const char *workspace, const char *output, bool failed);

#endif
