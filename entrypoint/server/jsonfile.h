/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/server/jsonfile.h - a file of settings that is named in an option. */
#ifndef ENTRYPOINT_SERVER_JSONFILE_H
#define ENTRYPOINT_SERVER_JSONFILE_H

#include "base/json/json.h"

/* The message names the file. -EFBIG: more than max bytes. */
MUST_CHECK int jsonfile_read(const char *path, size_t max, struct json **ret, struct err *e);

#endif
