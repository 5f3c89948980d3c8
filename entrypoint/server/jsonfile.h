/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/server/jsonfile.h - a file of settings that is named in an option, as text or read
 * as JSON. */
#ifndef ENTRYPOINT_SERVER_JSONFILE_H
#define ENTRYPOINT_SERVER_JSONFILE_H

#include "base/buf.h"
#include "base/json/json.h"

/* The message names the file. -EFBIG: more than max bytes, or some more. `ret` is made here. */
MUST_CHECK int jsonfile_text(const char *path, size_t max, struct buf *ret, struct err *e);
MUST_CHECK int jsonfile_read(const char *path, size_t max, struct json **ret, struct err *e);

#endif
