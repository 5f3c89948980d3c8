/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients of agent-sandbox send, by its first byte: a path ('p'), the body of /execute ('x'),
 * a message of its ProcessService ('c'). What is taken is whole and in its bounds, what is refused
 * says why. Its forms are fuzz_multipart.c's, fields of messages fuzz_protobuf.c's. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json/json.h"
#include "front/agentsandbox/agentsandbox_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what))                                                                               \
            abort();                                                                               \
    } while (0)

static void read_path(const char *bytes, size_t n)
{
    char path[BENEATH_PATH_MAX], clean[BENEATH_PATH_MAX];
    struct err e = ERR_NONE;
    drop_str char *text = xstrndup(bytes, n);
    int r = asb_path(text, path, &e);
    CHECK(r == 0 || (*e.msg && (r == -EACCES || r == -ENAMETOOLONG)));
    CHECK(r < 0 || (beneath_clean(path, clean) == 0 && strcmp(path, clean) == 0));
}

static void read_body(const char *bytes, size_t n)
{
    const char *command = NULL;
    double seconds = -1;
    struct err e = ERR_NONE;
    drop_json struct json *body = json_parse_copy(bytes, n, JSON_REQUEST, NULL);
    int r = asb_execute_read(body, &command, &seconds, &e);
    CHECK(r == 0
              ? command && (seconds == 0 || (seconds >= 0.001 && seconds * 1000 <= SESSIONS_MS_MAX))
              : r == -EINVAL && *e.msg);
}

static void read_message(const char *bytes, size_t n)
{
    static const struct agentsandbox a = {.config.workspace = "/app/workspace",
                                          .top = {.root = -1}};
    drop_asb_config struct asb_config config = {0};
    struct err e = ERR_NONE;
    int r = asb_config_read(&a, bytes, n, &config, &e);
    CHECK(r == 0 || (r == e.code && *e.msg));
    if (r < 0)
        return;
    CHECK(config.program && json_is_array(config.args) && json_is_object(config.envs));
    for (const struct json *arg = json_first(config.args); arg; arg = json_next(arg))
        CHECK(json_text(arg));
    for (const struct json *item = json_first(config.envs); item; item = json_next(item))
        CHECK(*json_name(item) && json_text(item));
    CHECK(config.columns <= ASB_CELLS_MAX && config.rows <= ASB_CELLS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *bytes = (const char *)data + 1;
    if (data[0] == 'p')
        read_path(bytes, size - 1);
    else if (data[0] == 'x')
        read_body(bytes, size - 1);
    else if (data[0] == 'c')
        read_message(bytes, size - 1);
    return 0;
}
