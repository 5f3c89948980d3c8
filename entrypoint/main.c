/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/main.c - which role of the program is meant, and nothing else. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "entrypoint/options.h"
#include "entrypoint/server.h"
#include "sandbox/shim.h"

static int fail(const struct err *e)
{
    drop_buf struct buf text = BUF_INIT(OPTIONS_TEXT_MAX);
    (void)buf_addf(&text, "ipybox: %s\n", e->msg);
    (void)!write(2, buf_text(&text), text.len);
    return OPTIONS_USAGE_STATUS;
}

static int show(void (*make)(struct buf *out))
{
    drop_buf struct buf text = BUF_INIT(OPTIONS_TEXT_MAX);
    make(&text);
    return !text.failed && write(1, buf_text(&text), text.len) == (ssize_t)text.len ? 0 : 1;
}

static void put_version(struct buf *out)
{
    (void)buf_addf(out, "%s\n", options_version());
}

static int serve(int argc, char **argv)
{
    struct options options;
    struct err e = ERR_NONE;
    if (options_parse(argc, argv, &options, &e) < 0)
        return fail(&e);
    switch (options.want) {
    case OPTIONS_HELP:
        return show(options_help);
    case OPTIONS_VERSION:
        return show(put_version);
    case OPTIONS_RUN:
        break;
    }
    return server_main(&options);
}

static int help(int argc, char **argv)
{
    return show(argc > 0 && strcmp(argv[0], "--markdown") == 0 ? options_markdown : options_help);
}

int main(int argc, char **argv)
{
    enum role role = ROLE_SERVER;
    int skip = 0;
    struct err e = ERR_NONE;
    if (options_role(argc, argv, &role, &skip, &e) < 0)
        return fail(&e);
    argc -= skip;
    argv += skip;
    switch (role) {
    case ROLE_SERVER:
        return serve(argc, argv);
    case ROLE_INIT:
        return 1;
    case ROLE_SHIM:
        return shim_main(argc + 1, argv - 1);
    case ROLE_HEALTH:
        return 1;
    case ROLE_MAN:
        return show(options_man);
    case ROLE_HELP:
        return help(argc, argv);
    case ROLE_VERSION:
        return show(put_version);
    }
    return OPTIONS_USAGE_STATUS;
}
