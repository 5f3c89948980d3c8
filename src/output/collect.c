/* SPDX-License-Identifier: Apache-2.0 */
#include "output/collect.h"

#include <string.h>

#include "base/alloc.h"
#include "output/display.h"

struct bundle { /* the data of a display message, by MIME type */
    const struct json *data;
    char *printed; /* text of the JSON-typed value that was asked for last */
};

/* The first type with that ending. A widget's view is nothing without its front end. */
static const struct json *find_ending(const struct json *data, const char *ending)
{
    for (const struct json *item = json_first(data); item; item = json_next(item)) {
        const char *name = json_name(item);
        size_t n = name ? strlen(name) : 0, e = strlen(ending);
        if (n > e && strcmp(name + n - e, ending) == 0 && !strstr(name, "jupyter.widget"))
            return item;
    }
    return NULL;
}

static const char *find_mime(void *ctx, const char *mime)
{
    struct bundle *bundle = ctx;
    const struct json *value =
        mime[0] == '*' ? find_ending(bundle->data, mime + 1) : json_get(bundle->data, mime);
    const char *text = json_text(value);
    if (!value || text)
        return text;
    xfree(bundle->printed);
    bundle->printed = json_print(value);
    return bundle->printed;
}

static bool is_display(const struct jupyter_msg *m)
{
    return m->type == JUPYTER_DISPLAY_DATA || m->type == JUPYTER_EXECUTE_RESULT ||
           m->type == JUPYTER_UPDATE_DISPLAY_DATA;
}

static const struct json *data_of(const struct jupyter_msg *m)
{
    return is_display(m) ? json_get(m->content, "data") : NULL;
}

/* The text that a message adds, or NULL. */
static const char *message_text(const struct jupyter_msg *m)
{
    if (m->type == JUPYTER_STREAM)
        return json_get_text(m->content, "text");
    return json_get_text(data_of(m), "text/plain");
}

static void collect_display(struct output *o, const struct jupyter_msg *m)
{
    struct bundle bundle = {.data = data_of(m)};
    struct display_data data = {.find = find_mime, .ctx = &bundle};
    const char *id = json_get_text(json_get(m->content, "transient"), "display_id");
    if (m->type == JUPYTER_UPDATE_DISPLAY_DATA)
        display_update(o, &data, id);
    else
        display_show(o, &data, id);
    xfree(bundle.printed);
}

void collect(struct output *o, const struct jupyter_msg *m,
             void (*text)(void *ctx, const char *text, size_t n), void *ctx)
{
    const char *added = message_text(m);
    if (m->type == JUPYTER_CLEAR_OUTPUT)
        output_clear(o, json_true(json_get(m->content, "wait")));
    else if (is_display(m))
        collect_display(o, m);
    else if (added)
        output_text(o, added, strlen(added));
    if (added && text)
        text(ctx, added, strlen(added));
}

bool collect_payload(struct output *o, const struct json *reply)
{
    bool exits = false;
    for (const struct json *p = json_first(json_get(reply, "payload")); p; p = json_next(p)) {
        const char *source = json_get_text(p, "source");
        const char *text = json_get_text(json_get(p, "data"), "text/plain");
        if (source && strcmp(source, "page") == 0 && text) {
            output_new_line(o);
            output_text(o, text, strlen(text));
        }
        exits = exits || (source && strcmp(source, "ask_exit") == 0);
    }
    return exits;
}
