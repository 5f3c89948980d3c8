/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/last_words.h - why the server ended, where Kubernetes looks for it: the file that the
 * kubelet mounts at LAST_WORDS_PATH, and shows as the container's termination message.
 * Does:   where such a file is there, is regular and may be written, it holds the text afterwards
 *         and no more. It is never made: elsewhere nobody would look for it.
 * Calls:  init, the server, and between fork and exec of the one by the other: no allocation.
 * Limits: LAST_WORDS_MAX bytes, which is what the kubelet takes. */
#ifndef ENTRYPOINT_LAST_WORDS_H
#define ENTRYPOINT_LAST_WORDS_H

#define LAST_WORDS_PATH "/dev/termination-log"
#define LAST_WORDS_MAX 4096

/* Failures are not told: the log has the same text. path: NULL: nothing is written. */
void last_words_write(const char *path, const char *text);

#endif
