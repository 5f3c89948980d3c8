/* SPDX-License-Identifier: Apache-2.0
 *
 * ipybox policy: the sandbox of a session as it is, and another one while its kernel runs. Only
 * where root listens: code in kernels could answer in the server's place that it holds. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/jsonspan.h"
#include "base/json/jsonw.h"
#include "entrypoint/cli/cli.h"
#include "entrypoint/cli/cli_client.h"
#include "sandbox/policy/settings.h"

#define NAME "policy"
#define OTHERWISE                                                                                  \
    "use the HTTP API from outside of the container with IPYBOX_TOKEN, or start the container as " \
    "root, with a workspace that is not root's"

enum { BLOCK = 64 << 10 };

static int read_new_settings(const char *path, struct buf *ret, struct err *e)
{
    static char block[BLOCK];
    bool input = strcmp(path, "-") == 0;
    drop_fd int fd =
        input ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;
    if (fd < 0)
        return err_set(e, -errno, "%s: %s", path, strerror(errno));
    while ((n = read(fd, block, sizeof block)) > 0)
        if (buf_add(ret, block, (size_t)n) < 0)
            return err_set(e, -EMSGSIZE, "%s: over %d bytes", path, SANDBOX_SETTINGS_MAX);
    return n < 0 ? err_set(e, -errno, "%s: %s", path, strerror(errno)) : 0;
}

/* As it was written: the server says what is wrong with it. */
static int make_body(const struct options *o, struct buf *body, struct err *e)
{
    drop_buf struct buf text = BUF_INIT(SANDBOX_SETTINGS_MAX);
    int r = read_new_settings(o->words[0], &text, e);
    drop_json struct json *settings =
        r == 0 ? json_parse_copy(buf_text(&text), text.len, JSON_STRICT, e) : NULL;
    if (!settings)
        return r < 0 ? r : err_wrap(e, "%s", o->words[0]);
    struct jsonw w = JSONW(body);
    jsonw_object(&w);
    jsonw_set_raw(&w, "settings", buf_text(&text));
    jsonw_set_bool(&w, "reset", o->reset);
    jsonw_end(&w);
    return body->failed;
}

static void put_policy_answer(const struct options *o, struct buf *answer,
                              const struct json *parsed)
{
    drop_buf struct buf out = BUF_INIT(CLI_ANSWER_MAX);
    const char *meaning = json_get_text(parsed, "meaning");
    const char *source = json_get_text(parsed, "source");
    if (o->json) {
        (void)buf_addc(answer, '\n');
        cli_put(STDOUT_FILENO, answer);
        return;
    }
    (void)buf_addf(&out, "Session %s, settings of the %s:\n%s", o->session, source ? source : "",
                   meaning ? meaning : "");
    cli_put(STDOUT_FILENO, &out);
}

static int ask_server(const struct options *o, struct err *e)
{
    drop_str char *path = cli_path("/v1/sessions/", o->session, "/sandbox");
    drop_buf struct buf body = BUF_INIT(SANDBOX_SETTINGS_MAX), answer = BUF_INIT(CLI_ANSWER_MAX);
    bool changes = o->n_words > 0;
    int r = changes ? make_body(o, &body, e) : 0;
    const struct cli_request request = {.method = changes ? "PUT" : "GET",
                                        .path = path,
                                        .body = changes ? &body : NULL,
                                        .trusted = OTHERWISE};
    if (r == 0)
        r = cli_fetch(&request, &answer, e);
    drop_json struct json *parsed =
        r == 0 ? json_parse_copy(buf_text(&answer), answer.len, JSON_REPAIR, e) : NULL;
    if (!parsed)
        return r < 0 ? r : -EBADMSG;
    put_policy_answer(o, &answer, parsed);
    return 0;
}

int cli_policy(const struct options *o)
{
    struct err e = ERR_NONE;
    if (o->reset && o->n_words == 0) {
        cli_complain(NAME, "--reset: only with the FILE of the new settings");
        return OPTIONS_USAGE_STATUS;
    }
    if (ask_server(o, &e) == 0)
        return 0;
    cli_complain(NAME, "%s", e.msg);
    return CLI_FAILED;
}
