/* SPDX-License-Identifier: Apache-2.0
 *
 * session/packages/pip_summary.h - what of pip's output its reader needs, without I/O. */
#ifndef SESSION_PACKAGES_PIP_SUMMARY_H
#define SESSION_PACKAGES_PIP_SUMMARY_H

#include "base/buf.h"

/* Appends, in max_chars characters: what was installed or is there already, and pip's errors and
 * warnings; of a pip that failed its errors, with the reason at the end. True: it leaves something
 * out. */
bool pip_summary(struct buf *out, const char *output, bool failed, size_t max_chars);

#endif
