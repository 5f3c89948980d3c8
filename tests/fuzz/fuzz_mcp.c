/* SPDX-License-Identifier: Apache-2.0
 *
 * A conversation: each line of the input is a message of the client; a line "!" ends the open work
 * and "?" lets it print. Whatever is sent back is one line of valid JSON, and nothing stays open
 * when the client goes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "fakes/fake_session.h"
#include "front/mcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_send(void *ctx, const char *message, size_t n)
{
    (void)ctx;
    if (memchr(message, '\n', n))
        abort();
    drop_json struct json *tree = json_parse_copy(message, n, JSON_STRICT, NULL);
    if (!json_is_object(tree) || !json_get(tree, "jsonrpc"))
        abort();
}

static void on_idle(void *ctx)
{
    (void)ctx;
}

static void one_line(struct mcp *mcp, const char *line, size_t n)
{
    if (n == 1 && *line == '!') {
        fake_session_end_all();
    } else if (n == 1 && *line == '?') {
        fake_session_text_all("some \xE2\x82\xAC");
    } else {
        drop_str char *text = xcalloc(1, n + 1);
        memcpy(text, line, n);
        mcp_message(mcp, text, n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct mcp_events events = {.send = on_send, .idle = on_idle};
    static struct loop *loop;
    if (!loop && loop_new(&loop, NULL) < 0)
        abort();
    struct mcp_config config = {.loop = loop, .version = "0"};
    struct mcp *mcp = mcp_new(&config, &events, NULL);
    const char *at = (const char *)data, *end = at + size;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        one_line(mcp, at, (size_t)(stop - at));
        at = stop + 1;
    }
    loop_turn(loop, 0);
    (void)mcp_free(mcp);
    fake_session_drop();
    return 0;
}
