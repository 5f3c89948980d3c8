/* SPDX-License-Identifier: Apache-2.0
 *
 * base/log.h - one line per event on standard error.
 * Form:   `2026-11-21T08:00:00.123Z INFO  room text` or, with log_set_json(true), one JSON object.
 *         While a request of HTTP is being handled its id stands in the line: `room text
 *         (request_id ID)`, or the member "request_id".
 * Rule:   doors (front/), the entrypoint and the top of the loop log; other rooms return errors
 *         and events. Never code of a cell, never a secret.
 * Full:   who does not read standard error stops nobody: a line is written at once or waits, up to
 *         LOG_WAITING_MAX bytes of them; then lines are dropped, and their number is the next line.
 * The level, the form, that id and the lines that wait are the only globals of the program. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

#include "base/err.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR, LOG_CRITICAL, LOG__COUNT };

void log_set_level(enum log_level level);
void log_set_json(bool on);
int log_level_parse(const char *name, enum log_level *ret); /* -EINVAL: not a level's name */
bool log_enabled(enum log_level level);

void log_write(enum log_level level, const char *room, const char *fmt, ...) PRINTF(3, 4);

#define LOG_WAITING_MAX (256 << 10)
/* Writes what waits, as far as it is taken; false: some still waits, and should be tried again
 * after LOG_RETRY_MS. The loop does so. */
bool log_flush(void);
#define LOG_RETRY_MS 20
/* The same at the end of a process, which waits for the reader, but not longer than this. */
void log_close(int max_ms);
#define LOG_CLOSE_MS 1000

#define LOG_REQUEST_MAX 128 /* bytes of a request's id: letters, digits and -._~:+/=@ */

/* What is done from now on belongs to this request; borrowed. NULL: to none. Returns the one
 * before, which is to be set again afterwards. */
const char *log_set_request(const char *id);
const char *log_request(void); /* NULL: none */

#define log_debug(room, ...) log_write(LOG_DEBUG, room, __VA_ARGS__)
#define log_info(room, ...) log_write(LOG_INFO, room, __VA_ARGS__)
#define log_warning(room, ...) log_write(LOG_WARNING, room, __VA_ARGS__)
#define log_error(room, ...) log_write(LOG_ERROR, room, __VA_ARGS__)

#endif
