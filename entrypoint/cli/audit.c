/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/cli/audit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit_chain.h"
#include "base/alloc.h"
#include "entrypoint/options.h"

enum { BAD_STATUS = 1 };

static void show_verdict(const char *file, const char *hash, const struct audit_verdict *v)
{
    (void)dprintf(STDOUT_FILENO, "%s: OK, %llu records, the last hash is %s\n", file,
                  (unsigned long long)v->last.seq, v->last.hash);
    if (v->torn > 0)
        (void)dprintf(STDOUT_FILENO,
                      "%llu times a line was torn by a crash, and the next start names it\n",
                      (unsigned long long)v->torn);
    if (v->torn_bytes > 0)
        (void)dprintf(STDOUT_FILENO, "the last line is torn: %llu bytes behind record %llu\n",
                      (unsigned long long)v->torn_bytes, (unsigned long long)v->last.seq);
    if (hash && v->known)
        (void)dprintf(STDOUT_FILENO, "the given hash is that of record %llu\n",
                      (unsigned long long)v->known_seq);
}

int audit_main(int argc, char **argv)
{
    struct audit_verdict verdict;
    struct err e = ERR_NONE;
    if (argc < 2 || argc > 3 || strcmp(argv[0], "verify") != 0) {
        (void)dprintf(STDERR_FILENO, "Usage: ipybox audit verify FILE [HASH]\n");
        return OPTIONS_USAGE_STATUS;
    }
    const char *file = argv[1], *hash = argc > 2 ? argv[2] : NULL;
    drop_fd int opened = strcmp(file, "-") == 0 ? -1 : open(file, O_RDONLY | O_CLOEXEC);
    int fd = strcmp(file, "-") == 0 ? STDIN_FILENO : opened;
    if (fd < 0) {
        (void)dprintf(STDERR_FILENO, "ipybox audit: %s: %s\n", file, strerror(errno));
        return OPTIONS_USAGE_STATUS;
    }
    int r = audit_verify(fd, hash, &verdict, &e);
    if (r < 0) {
        (void)dprintf(STDERR_FILENO, "ipybox audit: %s: %s\n", file, e.msg);
        return r == -EBADMSG ? BAD_STATUS : OPTIONS_USAGE_STATUS;
    }
    show_verdict(file, hash, &verdict);
    if (!hash || verdict.known)
        return 0;
    (void)dprintf(STDERR_FILENO,
                  "ipybox audit: %s: no record has the given hash: the log was cut off before it, "
                  "or written anew\n",
                  file);
    return BAD_STATUS;
}
