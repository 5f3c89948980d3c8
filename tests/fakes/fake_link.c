/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/fake_link.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

struct fake_link fake_link;

int link_open(const struct link_config *config, const struct link_events *events, void *ctx,
              struct link **ret, struct err *e)
{
    (void)config, (void)e;
    fake_link = (struct fake_link){.events = events, .ctx = ctx, .open = true, .has_fds = true};
    *ret = (struct link *)(void *)&fake_link;
    return 0;
}

struct link *link_free(struct link *link)
{
    if (link)
        fake_link.open = false;
    return NULL;
}

const int *link_fds(const struct link *link)
{
    static const int fds[LINK_FDS] = {0};
    (void)link;
    return fds;
}

void link_drop_fds(struct link *link)
{
    (void)link;
    fake_link.has_fds = false;
}

const char *link_connection_text(const struct link *link)
{
    (void)link;
    return "{}";
}

const char *link_session(const struct link *link)
{
    (void)link;
    return "ours";
}

int link_send(struct link *link, enum link_channel channel, enum jupyter_type type,
              struct slice content, char ret_id[LINK_ID_SIZE], struct err *e)
{
    (void)link, (void)channel, (void)content, (void)e;
    size_t n = strlen(fake_link.sent);
    (void)snprintf(fake_link.sent + n, sizeof fake_link.sent - n, "%s\n", jupyter_type_name(type));
    if (ret_id)
        (void)snprintf(ret_id, LINK_ID_SIZE, "r%d", ++fake_link.requests);
    return 0;
}

uint64_t link_dropped(const struct link *link)
{
    (void)link;
    return 0;
}

void link_beat(struct link *link, bool on)
{
    (void)link;
    fake_link.silent = !on;
}

void fake_link_say(enum link_channel channel, enum jupyter_type type, const char *parent,
                   const char *session, const char *content)
{
    drop_str char *header = xasprintf("{\"msg_id\":\"%s\",\"session\":\"%s\"}", parent, session);
    drop_json struct json *tree = json_parse_copy(header, strlen(header), JSON_STRICT, NULL);
    drop_json struct json *body = json_parse_copy(content, strlen(content), JSON_STRICT, NULL);
    const struct jupyter_msg m = {.type = type,
                                  .type_name = jupyter_type_name(type),
                                  .msg_id = "m",
                                  .parent_id = parent,
                                  .parent = tree,
                                  .content = body};
    fake_link.events->message(fake_link.ctx, channel, &m);
}
