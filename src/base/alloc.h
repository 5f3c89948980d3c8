/* SPDX-License-Identifier: Apache-2.0
 *
 * base/alloc.h - the only door to malloc.
 * x*:     for small things of bounded size; no memory ends the process with a message (the
 *         container stops, nothing goes on half-made).
 * try_*:  for anything that a peer can make large; NULL when there is no memory.
 * drop_*: scope cleanup; *_take() moves ownership out of the scope, visibly. */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stddef.h>

void *xcalloc(size_t n, size_t size); /* zeroed */
void *xrealloc(void *p, size_t size);
char *xstrdup(const char *s); /* NULL in, NULL out */
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void *try_realloc(void *p, size_t size);

#ifdef IPYBOX_TESTS /* -Dtests=true */
/* The n-th try_realloc from now on fails; 0: none. FAIL_ALLOC=n does so in a whole program. */
void try_realloc_fail_at(long n);
#endif
void xfree(void *p);

#define NEW(type) ((type *)xcalloc(1, sizeof(type)))

void drop_str_cleanup(char **p);
void drop_fd_cleanup(int *fd);
#define drop_str __attribute__((cleanup(drop_str_cleanup)))
#define drop_fd __attribute__((cleanup(drop_fd_cleanup)))

int fd_take(int *fd); /* returns *fd and leaves -1 */
int fd_close(int fd); /* closes when >= 0, keeps errno, returns -1 */
/* All n bytes to a file, however often the call is interrupted; 0 or -errno. */
int fd_write(int fd, const char *bytes, size_t n);
char *str_take(char **p); /* returns *p and leaves NULL */

#endif
