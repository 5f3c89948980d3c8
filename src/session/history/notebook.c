/* SPDX-License-Identifier: Apache-2.0 */
#include "session/history/notebook.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json/json.h"
#include "base/json/jsonspan.h"
#include "base/json/jsonw.h"
#include "session/history/script.h"

enum { GONE_MAX = 200 };

#define GONE "[ipybox] %llu entries of the history are no longer kept."

/* What is written for an entry, and for those that are gone before it. */
struct entry_form {
    void (*entry)(void *ctx, const char *json, size_t n);
    void (*gone)(void *ctx, uint64_t at, uint64_t missed);
    void *ctx;
};

static void walk_history(struct history *h, const struct entry_form *d)
{
    uint64_t at = 0, missed = 0;
    struct slice entry;
    while (history_next(h, &at, &entry, &missed)) {
        if (missed > 0)
            d->gone(d->ctx, at, missed);
        d->entry(d->ctx, entry.data, entry.len);
    }
    const struct nbcell *cell = NULL;
    for (size_t i = 0; (cell = history_open_cell(h, i)); i++) {
        drop_buf struct buf json = BUF_INIT(NBCELL_JSON_MAX);
        nbcell_put(&json, cell);
        if (!json.failed)
            d->entry(d->ctx, buf_text(&json), json.len);
    }
}

/* --- a notebook ------------------------------------------------------------------------------- */

static void put_notebook_entry(void *ctx, const char *json, size_t n)
{
    struct jsonw *w = ctx;
    jsonw_raw_n(w, json, n);
}

static void put_notebook_gone(void *ctx, uint64_t at, uint64_t missed)
{
    struct jsonw *w = ctx;
    drop_str char *id = xasprintf("gone-%llu", (unsigned long long)at);
    drop_str char *text = xasprintf(GONE, (unsigned long long)missed);
    jsonw_object(w);
    jsonw_set_text(w, "cell_type", "markdown");
    jsonw_set_text(w, "id", id);
    jsonw_set_object(w, "metadata");
    jsonw_end(w);
    jsonw_set_text(w, "source", text);
    jsonw_end(w);
}

static void put_notebook_metadata(struct jsonw *w, const char *session)
{
    jsonw_set_object(w, "metadata");
    jsonw_set_object(w, "kernelspec");
    jsonw_set_text(w, "name", "python3");
    jsonw_set_text(w, "display_name", "Python 3 (ipykernel)");
    jsonw_set_text(w, "language", "python");
    jsonw_end(w);
    jsonw_set_object(w, "language_info");
    jsonw_set_text(w, "name", "python");
    jsonw_set_text(w, "file_extension", ".py");
    jsonw_set_text(w, "mimetype", "text/x-python");
    jsonw_end(w);
    jsonw_set_object(w, "ipybox");
    jsonw_set_text(w, "session", session);
    jsonw_end(w);
    jsonw_end(w);
}

void notebook_put(struct buf *out, struct history *h, const char *session)
{
    struct jsonw w = JSONW(out);
    const struct entry_form document = {put_notebook_entry, put_notebook_gone, &w};
    jsonw_object(&w);
    jsonw_set_int(&w, "nbformat", 4);
    jsonw_set_int(&w, "nbformat_minor", 5);
    put_notebook_metadata(&w, session);
    jsonw_set_array(&w, "cells");
    if (h)
        walk_history(h, &document);
    jsonw_end(&w);
    jsonw_end(&w);
}

/* --- a script --------------------------------------------------------------------------------- */

/* Outputs may be large: only what a script needs is parsed. */
static struct json *parse_member(const char *json, size_t n, const char *name)
{
    struct jsonspan span;
    return jsonspan_get(JSONSPAN(json, n), name, &span)
               ? json_parse_copy(span.at, span.n, JSON_STRICT, NULL)
               : NULL;
}

static void put_comment(struct buf *out, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        (void)buf_addf(out, "# %.*s\n", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static void put_script_entry(void *ctx, const char *json, size_t n)
{
    struct buf *out = ctx;
    drop_json struct json *source = parse_member(json, n, "source");
    drop_json struct json *type = parse_member(json, n, "cell_type");
    drop_json struct json *metadata = parse_member(json, n, "metadata");
    const char *text = json_text(source), *kind = json_text(type);
    const char *when = json_get_text(json_get(metadata, "execution"), "iopub.execute_input");
    if (!text)
        return;
    if (kind && strcmp(kind, "code") == 0) {
        (void)buf_addf(out, "\n# %%%% %s\n", when ? when : "");
        script_put_code(out, text, strlen(text));
    } else {
        (void)buf_adds(out, "\n# %% [markdown]\n");
        put_comment(out, text);
    }
}

static void put_script_gone(void *ctx, uint64_t at, uint64_t missed)
{
    struct buf *out = ctx;
    (void)at;
    (void)buf_addf(out, "\n# " GONE "\n", (unsigned long long)missed);
}

void notebook_put_script(struct buf *out, struct history *h, const char *session)
{
    const struct entry_form document = {put_script_entry, put_script_gone, out};
    (void)buf_addf(out, "# The cells of the ipybox session %s.\n", session);
    if (h)
        walk_history(h, &document);
}
