/* SPDX-License-Identifier: Apache-2.0
 *
 * ipybox export: a session as a notebook or as a script, on standard output or in a file. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "entrypoint/cli/cli.h"
#include "entrypoint/cli/cli_client.h"

#define NAME "export"

/* By its name, where nothing else is said. */
static bool wants_script(const struct options *o)
{
    const char *dot = o->n_words > 0 ? strrchr(o->words[0], '.') : NULL;
    return o->format ? strcmp(o->format, "py") == 0 : dot && strcmp(dot, ".py") == 0;
}

/* A file that is there is not replaced: it may be the one that somebody works in. */
static int write_new_file(const char *path, const struct buf *text, struct err *e)
{
    drop_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_set(e, -errno, "%s: %s", path, strerror(errno));
    int r = fd_write(fd, buf_text(text), text->len);
    return r < 0 ? err_set(e, r, "%s: %s", path, strerror(-r)) : 0;
}

static int export_session(const struct options *o, struct err *e)
{
    drop_buf struct buf text = BUF_INIT(CLI_ANSWER_MAX);
    drop_str char *path = cli_path("/v1/sessions/", o->session,
                                   wants_script(o) ? "/notebook?format=py" : "/notebook");
    const struct cli_request request = {.method = "GET", .path = path};
    int r = cli_fetch(&request, &text, e);
    if (r < 0)
        return r;
    if (o->n_words > 0 && strcmp(o->words[0], "-") != 0)
        return write_new_file(o->words[0], &text, e);
    cli_put(STDOUT_FILENO, &text);
    return 0;
}

int cli_export(const struct options *o)
{
    struct err e = ERR_NONE;
    if (o->format && strcmp(o->format, "py") != 0 && strcmp(o->format, "ipynb") != 0) {
        cli_complain(NAME, "--format: ipynb or py is needed");
        return OPTIONS_USAGE_STATUS;
    }
    if (export_session(o, &e) == 0)
        return 0;
    cli_complain(NAME, "%s", e.msg);
    return CLI_FAILED;
}
