/* SPDX-License-Identifier: Apache-2.0
 *
 * ProcessConfig of sandboxd's process.proto: command = 1, env_vars = 2, cwd = 3; it is field 1 of
 * its requests, and a StartRequest has pty = 2 with cols = 1 and rows = 2. Fields of other numbers
 * are of later versions, and nobody's. */
#include <fcntl.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json/json.h"
#include "base/text/utf8.h"
#include "front/agentsandbox/agentsandbox_internal.h"
#include "front/grpc/protobuf.h"

enum { CONFIG_MAX = 1 << 20, ESCAPES = 6, FEW = 64 };

struct config_text { /* the words as JSON, as they come */
    struct jsonw argw, envw;
};

/* A text as protocol buffers have it; a NUL is refused where words are looked at. */
static int check_config_text(const struct protobuf_field *f, const char *what, struct err *e)
{
    if (f->type == PROTOBUF_BYTES && utf8_valid(f->data, f->n))
        return 0;
    return err_set(e, -EINVAL, "%s: a text is needed", what);
}

static int read_word(struct asb_config *ret, struct config_text *text,
                     const struct protobuf_field *f, struct err *e)
{
    if (check_config_text(f, "command", e) < 0)
        return e->code;
    if (ret->program)
        jsonw_text_n(&text->argw, f->data, f->n);
    else if (memchr(f->data, '\0', f->n))
        return err_set(e, -EINVAL, "command: the name of a program is needed");
    else
        ret->program = xstrndup(f->data, f->n);
    return 0;
}

/* An entry of a map: key = 1, value = 2. */
static int read_variable(struct config_text *text, const struct protobuf_field *entry,
                         struct err *e)
{
    struct protobuf_reader r = {entry->data, entry->n};
    struct protobuf_field f, key = {.data = ""}, value = {.data = ""};
    int found = entry->type == PROTOBUF_BYTES ? 1 : -EINVAL;
    while (found > 0 && (found = protobuf_next(&r, &f)) > 0) {
        if (f.number <= 2 && check_config_text(&f, "env_vars", e) < 0)
            return e->code;
        key = f.number == 1 ? f : key;
        value = f.number == 2 ? f : value;
    }
    drop_str char *name = xstrndup(key.data, key.n);
    if (found < 0 || key.n == 0 || strlen(name) < key.n)
        return err_set(e, -EINVAL, "env_vars: names without NUL, and texts, are needed");
    jsonw_name(&text->envw, name);
    jsonw_text_n(&text->envw, value.data, value.n);
    return 0;
}

/* Where it is to start, which must be in the workspace. */
static int read_asb_cwd(const struct agentsandbox *a, struct asb_config *ret,
                        const struct protobuf_field *f, struct err *e)
{
    char path[BENEATH_PATH_MAX], real[PATH_MAX];
    if (check_config_text(f, "cwd", e) < 0)
        return e->code;
    drop_str char *text = xstrndup(f->data, f->n);
    const char *top = a->config.workspace, *below = text;
    size_t n = strlen(top);
    if (strncmp(text, top, n) == 0 && (text[n] == '/' || text[n] == '\0'))
        below += n;
    int r =
        strlen(text) < f->n ? err_set(e, -EINVAL, "cwd: it has a NUL") : asb_path(below, path, e);
    if (r < 0)
        return r;
    /* Whether it may be entered is the command's own walls' to say. */
    drop_fd int fd = spot_open(&a->top, path, O_PATH | O_DIRECTORY, BENEATH_FOLLOW, NULL, NULL);
    if (fd < 0 || !beneath_real_of(fd, real))
        return asb_path_error(a, e, fd < 0 ? fd : -ENOENT, path);
    xfree(ret->cwd);
    ret->cwd = xstrdup(real);
    return 0;
}

static int read_process_config(const struct agentsandbox *a, struct asb_config *ret,
                               struct config_text *text, const struct protobuf_field *config,
                               struct err *e)
{
    struct protobuf_reader r = {config->data, config->n};
    struct protobuf_field f;
    int code = 0, found = config->type == PROTOBUF_BYTES ? 1 : -EINVAL;
    while (code == 0 && found > 0 && (found = protobuf_next(&r, &f)) > 0)
        code = f.number == 1   ? read_word(ret, text, &f, e)
               : f.number == 2 ? read_variable(text, &f, e)
               : f.number == 3 ? read_asb_cwd(a, ret, &f, e)
                               : 0;
    return found < 0 ? err_set(e, -EINVAL, "config: the message is broken") : code;
}

static int read_pty(struct asb_config *ret, const struct protobuf_field *pty, struct err *e)
{
    struct protobuf_reader r = {pty->data, pty->n};
    struct protobuf_field f;
    uint64_t size[3] = {0};
    int found = pty->type == PROTOBUF_BYTES ? 1 : -EINVAL;
    while (found > 0 && (found = protobuf_next(&r, &f)) > 0)
        if (f.number <= 2 && f.type == PROTOBUF_NUMBER)
            size[f.number] = f.value;
    if (found < 0 || size[1] > ASB_CELLS_MAX || size[2] > ASB_CELLS_MAX)
        return err_set(e, -EINVAL, "pty: cols and rows of 0 to %d are needed", ASB_CELLS_MAX);
    ret->terminal = true;
    ret->columns = (unsigned short)size[1];
    ret->rows = (unsigned short)size[2];
    return 0;
}

static int read_asb_request(const struct agentsandbox *a, struct protobuf_reader r,
                            struct asb_config *ret, struct config_text *text, struct err *e)
{
    struct protobuf_field f;
    int code = 0, found = 1;
    while (code == 0 && (found = protobuf_next(&r, &f)) > 0)
        code = f.number == 1   ? read_process_config(a, ret, text, &f, e)
               : f.number == 2 ? read_pty(ret, &f, e)
                               : 0;
    if (found < 0)
        return err_set(e, -EINVAL, "the message is broken");
    return code < 0 || ret->program ? code : err_set(e, -EINVAL, "command is required");
}

int asb_config_read(const struct agentsandbox *a, const char *message, size_t n,
                    struct asb_config *ret, struct err *e)
{
    if (n > CONFIG_MAX)
        return err_set(e, -EINVAL, "a command of at most %d bytes is needed", CONFIG_MAX);
    drop_buf struct buf args = BUF_INIT(ESCAPES * n + FEW), envs = BUF_INIT(args.cap);
    struct config_text text = {.argw = JSONW(&args), .envw = JSONW(&envs)};
    jsonw_array(&text.argw);
    jsonw_object(&text.envw);
    int r = read_asb_request(a, (struct protobuf_reader){message, n}, ret, &text, e);
    jsonw_end(&text.argw);
    jsonw_end(&text.envw);
    if (r < 0)
        return r;
    ret->args = json_parse_copy(buf_text(&args), args.len, JSON_REQUEST, NULL);
    ret->envs = json_parse_copy(buf_text(&envs), envs.len, JSON_REQUEST, NULL);
    if (args.failed || envs.failed || !ret->args || !ret->envs)
        return err_set(e, -EINVAL, "the command is too long");
    return 0;
}

void asb_config_done(struct asb_config *config)
{
    (void)json_free(config->args);
    (void)json_free(config->envs);
    xfree(config->program);
    xfree(config->cwd);
    *config = (struct asb_config){0};
}
