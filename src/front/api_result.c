/* SPDX-License-Identifier: Apache-2.0
 *
 * What an execution has brought, as one JSON document. */
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "front/api.h"
#include "front/api_desk.h"
#include "front/api_json.h"

/* --- collecting ------------------------------------------------------------------------------- */

/* As much as there is room for, cut at a character; what follows is dropped, too. */
static void add_text(struct buf *to, const char *text)
{
    size_t n = strlen(text), room = to->cap - to->len;
    if (n <= room) {
        (void)buf_add(to, text, n);
        return;
    }
    while (room > 0 && ((unsigned char)text[room] & 0xC0) == 0x80)
        room--;
    (void)buf_add(to, text, room);
    to->failed = -EMSGSIZE;
}

static void add_output(struct execution *x, const char *type, const struct json *content)
{
    drop_str char *text = content ? json_print(content) : NULL;
    size_t n = text ? strlen(text) : 0;
    if (n < 2 || x->outputs.len + n + 64 > x->outputs.cap) {
        x->outputs_omitted++;
        return;
    }
    (void)buf_addf(&x->outputs, "%s{\"type\":\"%s\"%s", x->outputs.len ? "," : "", type,
                   n > 2 ? "," : "");
    (void)buf_add(&x->outputs, text + 1, n - 1);
}

void execution_collect(struct execution *x, const struct jupyter_msg *m)
{
    if (m->type == JUPYTER_STREAM) {
        const char *name = json_get_text(m->content, "name");
        const char *text = json_get_text(m->content, "text");
        struct buf *to = name && strcmp(name, "stderr") == 0 ? &x->err : &x->out;
        if (text && !to->failed)
            add_text(to, text);
    } else if (m->type == JUPYTER_DISPLAY_DATA) {
        add_output(x, "display", m->content);
    } else if (m->type == JUPYTER_UPDATE_DISPLAY_DATA) {
        add_output(x, "update", m->content);
    } else if (m->type == JUPYTER_EXECUTE_RESULT) {
        add_output(x, "result", m->content);
    }
}

/* --- the document ----------------------------------------------------------------------------- */

static void put_head(struct jsonw *w, const struct execution *x, const char *status)
{
    jsonw_set_text(w, "id", x->id);
    jsonw_set_text(w, "session", x->desk->id);
    jsonw_set_text(w, "status", status);
    jsonw_set_int(w, "created_ms", x->created_ms);
    if (x->number > 0)
        jsonw_set_int(w, "cell", (int64_t)x->number);
}

void execution_put(struct buf *out, const struct execution *x)
{
    if (!x->cell) {
        (void)buf_add(out, x->result.data, x->result.len);
        return;
    }
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    put_head(&w, x, x->number ? "running" : "queued");
    jsonw_end(&w);
}

static void put_error(struct jsonw *w, const struct cell_result *r)
{
    if (!*r->ename)
        return;
    jsonw_set_object(w, "error");
    jsonw_set_text(w, "ename", r->ename);
    jsonw_set_text(w, "evalue", r->evalue);
    jsonw_set_text(w, "traceback", r->traceback);
    jsonw_end(w);
}

static void put_text(struct jsonw *w, const struct output *o)
{
    jsonw_name(w, "text");
    jsonw_text_n(w, buf_text(&o->text), o->text.len);
    jsonw_set_bool(w, "truncated", o->truncated);
    if (o->file)
        jsonw_set_text(w, "output_file", o->file);
    if (*o->file_note)
        jsonw_set_text(w, "output_file_note", o->file_note);
    jsonw_set_array(w, "files");
    for (size_t i = 0; i < o->file_count; i++) {
        jsonw_object(w);
        jsonw_set_text(w, "path", o->files[i].path);
        jsonw_set_text(w, "mime", o->files[i].mime);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void put_stream(struct jsonw *w, const char *name, const struct buf *text)
{
    jsonw_name(w, name);
    jsonw_text_n(w, buf_text(text), text->len);
}

static void put_streams(struct jsonw *w, const struct execution *x)
{
    put_stream(w, "stdout", &x->out);
    put_stream(w, "stderr", &x->err);
    if (x->out.failed || x->err.failed)
        jsonw_set_bool(w, "streams_truncated", true);
    jsonw_set_array(w, "outputs");
    if (x->outputs.len > 0)
        jsonw_raw(w, buf_text(&x->outputs));
    jsonw_end(w);
    if (x->outputs_omitted > 0)
        jsonw_set_int(w, "outputs_omitted", (int64_t)x->outputs_omitted);
}

static void put_notes(struct jsonw *w, const struct cell_result *r)
{
    const struct {
        const char *name, *text;
    } notes[] = {{"reason", r->reason},
                 {"last_words", r->last_words},
                 {"notice", r->notice},
                 {"late", r->late}};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (*notes[i].text)
            jsonw_set_text(w, notes[i].name, notes[i].text);
    jsonw_set_bool(w, "kernel_replaced", r->kernel_replaced);
    if (r->status == CELL_TIMEOUT)
        jsonw_set_text(w, "timeout", r->kernel_replaced ? "hard" : "soft");
}

static void put_events(struct jsonw *w, const struct execution *x)
{
    if (x->number == 0)
        return;
    jsonw_set_int(w, "duration_ms", loop_now(x->desk->api->loop) - x->begun_ms);
    jsonw_set_object(w, "events");
    jsonw_set_int(w, "first", (int64_t)x->first_event);
    jsonw_set_int(w, "last", (int64_t)x->last_event);
    jsonw_end(w);
}

static void put_result(struct execution *x, const struct cell_result *result, bool whole)
{
    struct jsonw w = JSONW(&x->result);
    jsonw_object(&w);
    put_head(&w, x, cell_status_names[result->status]);
    put_events(&w, x);
    put_error(&w, result);
    put_notes(&w, result);
    if (whole) {
        put_text(&w, result->output);
        put_streams(&w, x);
    } else {
        jsonw_set_text(&w, "omitted", "texts and outputs: longer than the limit of 64 MiB");
    }
    jsonw_end(&w);
}

void execution_finish(struct execution *x, const struct cell_result *result)
{
    put_result(x, result, true);
    if (x->result.failed) {
        buf_done(&x->result);
        x->result = BUF_INIT(API_ANSWER_MAX);
        put_result(x, result, false);
    }
    buf_done(&x->out);
    buf_done(&x->err);
    buf_done(&x->outputs);
}
