/* SPDX-License-Identifier: Apache-2.0 */
#include "session/history/nbcell.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { NOTE_MAX = 400 };

struct nboutput {
    const char *stream; /* its name, and `text` is the text; NULL: `text` is the output as JSON */
    char *display_id;   /* NULL: it cannot be updated */
    struct buf text;
};

struct nbcell {
    uint64_t number;
    const char *client, *status;
    int64_t begun_ms, ended_ms; /* since 1970; 0: it has not */
    struct buf code;
    size_t code_len; /* as it came */
    struct nboutput *outputs;
    size_t count, text_bytes, json_bytes;
    uint64_t omitted; /* bytes for which there was no room */
    bool clear_due;   /* at the next output */
    bool failed;
};

/* --- a life ----------------------------------------------------------------------------------- */

/* At most `max` bytes, cut at a character. */
static size_t cut_at_character(const char *text, size_t n, size_t max)
{
    if (n <= max)
        return n;
    while (max > 0 && ((unsigned char)text[max] & 0xC0) == 0x80)
        max--;
    return max;
}

struct nbcell *nbcell_new(uint64_t number, struct slice code, const char *client)
{
    struct nbcell *cell = NEW(struct nbcell);
    *cell = (struct nbcell){.number = number,
                            .client = client,
                            .status = "running",
                            .begun_ms = clock_real_ms(),
                            .code = BUF_INIT(NBCELL_CODE_MAX),
                            .code_len = code.len};
    (void)buf_add(&cell->code, code.data, cut_at_character(code.data, code.len, NBCELL_CODE_MAX));
    return cell;
}

static void drop_nboutput(struct nbcell *cell, size_t i)
{
    struct nboutput *o = &cell->outputs[i];
    *(o->stream ? &cell->text_bytes : &cell->json_bytes) -= o->text.len;
    buf_done(&o->text);
    xfree(o->display_id);
    cell->count--;
    memmove(o, o + 1, (cell->count - i) * sizeof *o);
}

static void clear_outputs(struct nbcell *cell)
{
    cell->clear_due = false;
    while (cell->count > 0)
        drop_nboutput(cell, cell->count - 1);
}

struct nbcell *nbcell_free(struct nbcell *cell)
{
    if (!cell)
        return NULL;
    clear_outputs(cell);
    xfree(cell->outputs);
    buf_done(&cell->code);
    xfree(cell);
    return NULL;
}

bool nbcell_has_ended(const struct nbcell *cell)
{
    return cell->ended_ms > 0;
}

uint64_t nbcell_number(const struct nbcell *cell)
{
    return cell->number;
}

/* --- outputs ---------------------------------------------------------------------------------- */

/* NULL: there are too many. */
static struct nboutput *add_nboutput(struct nbcell *cell, const char *stream, size_t max)
{
    if (cell->count >= NBCELL_OUTPUTS_MAX)
        return NULL;
    cell->outputs = xrealloc(cell->outputs, (cell->count + 1) * sizeof *cell->outputs);
    struct nboutput *o = &cell->outputs[cell->count++];
    *o = (struct nboutput){.stream = stream, .text = BUF_INIT(max)};
    return o;
}

static void add_stream(struct nbcell *cell, const char *name, const char *text)
{
    const char *stream = name && strcmp(name, "stderr") == 0 ? "stderr" : "stdout";
    size_t n = text ? strlen(text) : 0;
    size_t room = cut_at_character(text, n, NBCELL_TEXT_MAX - cell->text_bytes);
    struct nboutput *last = cell->count > 0 ? &cell->outputs[cell->count - 1] : NULL;
    if (room > 0 && (!last || last->stream != stream))
        last = add_nboutput(cell, stream, NBCELL_TEXT_MAX);
    if (!last || room == 0 || buf_add(&last->text, text, room) < 0) {
        cell->omitted += n;
        return;
    }
    cell->text_bytes += room;
    cell->omitted += n - room;
}

static bool is_json_type(const char *mime)
{
    size_t n = strlen(mime);
    return strcmp(mime, "application/json") == 0 || (n > 5 && strcmp(mime + n - 5, "+json") == 0);
}

/* nbformat has text for every type but those that are JSON; what code published otherwise would
 * make the whole notebook invalid. */
static void put_bundle(struct jsonw *w, const struct json *data)
{
    jsonw_set_object(w, "data");
    for (const struct json *v = json_first(data); v; v = json_next(v)) {
        if (!is_json_type(json_name(v)) && !json_text(v))
            continue;
        drop_str char *text = json_print(v);
        jsonw_set_raw(w, json_name(v), text ? text : "null");
    }
    jsonw_end(w);
}

static void put_display(struct buf *out, const struct nbcell *cell, const struct jupyter_msg *m)
{
    const bool is_result = m->type == JUPYTER_EXECUTE_RESULT;
    const struct json *metadata = json_get(m->content, "metadata");
    drop_str char *text = json_is_object(metadata) ? json_print(metadata) : NULL;
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    jsonw_set_text(&w, "output_type", is_result ? "execute_result" : "display_data");
    if (is_result)
        jsonw_set_int(&w, "execution_count", (int64_t)cell->number);
    put_bundle(&w, json_get(m->content, "data"));
    jsonw_set_raw(&w, "metadata", text ? text : "{}");
    jsonw_end(&w);
}

static void add_display(struct nbcell *cell, const struct jupyter_msg *m)
{
    const char *id = json_get_text(json_get(m->content, "transient"), "display_id");
    struct buf json = BUF_INIT(NBCELL_BYTES_MAX - cell->json_bytes);
    put_display(&json, cell, m);
    struct nboutput *o = json.failed ? NULL : add_nboutput(cell, NULL, 0);
    if (!o) {
        drop_str char *text = json_print(json_get(m->content, "data"));
        cell->omitted += text ? strlen(text) : 0;
        buf_done(&json);
        return;
    }
    o->text = json;
    o->display_id = xstrdup(id);
    cell->json_bytes += json.len;
}

/* A display of an earlier cell stays as it was there. */
static void update_display(struct nbcell *cell, const struct jupyter_msg *m)
{
    const char *id = json_get_text(json_get(m->content, "transient"), "display_id");
    for (size_t i = 0; id && i < cell->count; i++) {
        struct nboutput *o = &cell->outputs[i];
        if (!o->display_id || strcmp(o->display_id, id) != 0)
            continue;
        struct buf json = BUF_INIT(NBCELL_BYTES_MAX - cell->json_bytes + o->text.len);
        put_display(&json, cell, m);
        if (json.failed) {
            buf_done(&json);
            continue;
        }
        cell->json_bytes += json.len - o->text.len;
        buf_done(&o->text);
        o->text = json;
    }
}

static void put_error_output(struct buf *out, const struct json *content)
{
    const char *name = json_get_text(content, "ename"), *value = json_get_text(content, "evalue");
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    jsonw_set_text(&w, "output_type", "error");
    jsonw_set_text(&w, "ename", name ? name : "");
    jsonw_set_text(&w, "evalue", value ? value : "");
    jsonw_set_array(&w, "traceback");
    for (const struct json *l = json_first(json_get(content, "traceback")); l; l = json_next(l))
        if (json_text(l))
            jsonw_text(&w, json_text(l));
    jsonw_end(&w);
    jsonw_end(&w);
}

static void add_error(struct nbcell *cell, const struct json *content)
{
    cell->failed = true;
    struct buf json = BUF_INIT(NBCELL_BYTES_MAX - cell->json_bytes);
    put_error_output(&json, content);
    struct nboutput *o = json.failed ? NULL : add_nboutput(cell, NULL, 0);
    if (!o) {
        cell->omitted += json.len;
        buf_done(&json);
        return;
    }
    o->text = json;
    cell->json_bytes += json.len;
}

static void clear_if_due(struct nbcell *cell)
{
    if (cell->clear_due)
        clear_outputs(cell);
}

void nbcell_message(struct nbcell *cell, const struct jupyter_msg *m)
{
    if (m->type == JUPYTER_CLEAR_OUTPUT) {
        cell->clear_due = true;
        if (!json_true(json_get(m->content, "wait")))
            clear_outputs(cell);
    } else if (m->type == JUPYTER_STREAM) {
        clear_if_due(cell);
        add_stream(cell, json_get_text(m->content, "name"), json_get_text(m->content, "text"));
    } else if (m->type == JUPYTER_DISPLAY_DATA || m->type == JUPYTER_EXECUTE_RESULT) {
        clear_if_due(cell);
        add_display(cell, m);
    } else if (m->type == JUPYTER_UPDATE_DISPLAY_DATA) {
        update_display(cell, m);
    } else if (m->type == JUPYTER_ERROR) {
        add_error(cell, m->content);
    }
}

static void add_outside_error(struct nbcell *cell, const char *error, const char *reason)
{
    drop_buf struct buf text = BUF_INIT(NBCELL_BYTES_MAX);
    struct jsonw w = JSONW(&text);
    jsonw_object(&w);
    jsonw_set_text(&w, "ename", error);
    jsonw_set_text(&w, "evalue", reason);
    jsonw_end(&w);
    drop_json struct json *content = json_parse_copy(buf_text(&text), text.len, JSON_REPAIR, NULL);
    add_error(cell, content);
}

void nbcell_end(struct nbcell *cell, const char *status, const char *error, const char *reason)
{
    cell->status = status;
    cell->ended_ms = clock_real_ms();
    if (error)
        add_outside_error(cell, error, reason);
}

/* --- the document ----------------------------------------------------------------------------- */

static void set_time(struct jsonw *w, const char *name, int64_t ms)
{
    if (ms > 0)
        jsonw_set_time(w, name, ms);
}

/* The names are those of JupyterLab's "record timing". An error does not stop who runs the notebook
 * again: the session went on, too. */
static void put_metadata(struct jsonw *w, const struct nbcell *cell)
{
    jsonw_set_object(w, "metadata");
    jsonw_set_object(w, "execution");
    set_time(w, "iopub.status.busy", cell->begun_ms);
    set_time(w, "iopub.execute_input", cell->begun_ms);
    set_time(w, "shell.execute_reply", cell->ended_ms);
    set_time(w, "iopub.status.idle", cell->ended_ms);
    jsonw_end(w);
    jsonw_set_object(w, "ipybox");
    jsonw_set_text(w, "client", cell->client);
    jsonw_set_text(w, "status", cell->status);
    jsonw_end(w);
    if (cell->failed) {
        jsonw_set_array(w, "tags");
        jsonw_text(w, "raises-exception");
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void put_source(struct jsonw *w, const struct nbcell *cell)
{
    char note[NOTE_MAX];
    jsonw_name(w, "source");
    jsonw_text_begin(w);
    jsonw_text_part(w, buf_text(&cell->code), cell->code.len);
    if (cell->code.len < cell->code_len) {
        int n = snprintf(note, sizeof note,
                         "\n# [ipybox] The cell was longer: %zu of %zu bytes are kept.",
                         cell->code.len, cell->code_len);
        jsonw_text_part(w, note, (size_t)n);
    }
    jsonw_text_end(w);
}

static void put_stream(struct jsonw *w, const char *name, const char *text, size_t n)
{
    jsonw_object(w);
    jsonw_set_text(w, "output_type", "stream");
    jsonw_set_text(w, "name", name);
    jsonw_name(w, "text");
    jsonw_text_n(w, text, n);
    jsonw_end(w);
}

static void put_omitted(struct jsonw *w, size_t bytes)
{
    jsonw_object(w);
    jsonw_set_text(w, "output_type", "omitted");
    jsonw_set_int(w, "bytes", (int64_t)bytes);
    jsonw_end(w);
}

void nbcell_put_outputs(struct jsonw *w, const struct nbcell *cell, size_t max)
{
    char note[NOTE_MAX];
    jsonw_array(w);
    for (size_t i = 0; i < cell->count; i++) {
        const struct nboutput *o = &cell->outputs[i];
        if (o->text.len > max) {
            put_omitted(w, o->text.len);
            continue;
        }
        max -= o->text.len;
        if (o->stream)
            put_stream(w, o->stream, buf_text(&o->text), o->text.len);
        else
            jsonw_raw(w, buf_text(&o->text));
    }
    if (cell->omitted > 0) {
        int n = snprintf(note, sizeof note,
                         "\n[ipybox] %llu bytes of output are not kept in the history.\n",
                         (unsigned long long)cell->omitted);
        put_stream(w, "stderr", note, (size_t)n);
    }
    jsonw_end(w);
}

void nbcell_put(struct buf *out, const struct nbcell *cell)
{
    struct jsonw w = JSONW(out);
    char id[32];
    (void)snprintf(id, sizeof id, "cell-%llu", (unsigned long long)cell->number);
    jsonw_object(&w);
    jsonw_set_text(&w, "cell_type", "code");
    put_source(&w, cell);
    jsonw_set_text(&w, "id", id);
    jsonw_set_int(&w, "execution_count", (int64_t)cell->number);
    put_metadata(&w, cell);
    jsonw_name(&w, "outputs");
    nbcell_put_outputs(&w, cell, SIZE_MAX);
    jsonw_end(&w);
}
