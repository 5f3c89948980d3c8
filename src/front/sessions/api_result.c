/* SPDX-License-Identifier: Apache-2.0
 *
 * What an execution has brought, as one JSON document. */
#include "front/api.h"
#include "front/api/api_json.h"
#include "front/sessions/api_session.h"

/* --- the document ----------------------------------------------------------------------------- */

const char *execution_status(const struct execution *x)
{
    switch (x->state) {
    case EXECUTION_QUEUED:
        return "queued";
    case EXECUTION_RUNNING:
        return "running";
    case EXECUTION_ENDED:
        break;
    }
    return cell_status_names[x->result.status];
}

static void put_result_head(struct jsonw *w, const struct api_session *api_session,
                            const struct execution *x)
{
    jsonw_set_text(w, "id", x->id);
    jsonw_set_text(w, "session", api_session->id);
    jsonw_set_text(w, "instance", api_session->api->config->instance);
    jsonw_set_text(w, "status", execution_status(x));
    jsonw_set_int(w, "created_ms", x->created_ms);
    if (x->number > 0)
        jsonw_set_int(w, "cell", (int64_t)x->number);
}

static void put_error(struct jsonw *w, const struct execution_result *r)
{
    if (!*r->ename)
        return;
    jsonw_set_object(w, "error");
    jsonw_set_text(w, "ename", r->ename);
    jsonw_set_text(w, "evalue", r->evalue);
    jsonw_set_text(w, "traceback", r->traceback);
    if (r->error_file)
        jsonw_set_text(w, "file", r->error_file);
    jsonw_end(w);
}

static void put_buf(struct jsonw *w, const char *name, const struct buf *text)
{
    jsonw_name(w, name);
    jsonw_text_n(w, buf_text(text), text->len);
}

static void put_result_text(struct jsonw *w, const struct execution_result *r)
{
    put_buf(w, "text", &r->text);
    jsonw_set_bool(w, "truncated", r->truncated);
    if (r->output_file)
        jsonw_set_text(w, "output_file", r->output_file);
    if (*r->output_file_note)
        jsonw_set_text(w, "output_file_note", r->output_file_note);
    jsonw_set_array(w, "files");
    for (size_t i = 0; i < r->file_count; i++) {
        jsonw_object(w);
        jsonw_set_text(w, "path", r->files[i].path);
        jsonw_set_text(w, "mime", r->files[i].mime);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void put_streams(struct jsonw *w, const struct execution_result *r)
{
    put_buf(w, "stdout", &r->out);
    put_buf(w, "stderr", &r->err);
    if (r->streams_truncated)
        jsonw_set_bool(w, "streams_truncated", true);
    jsonw_set_array(w, "outputs");
    if (r->outputs.len > 0)
        jsonw_raw(w, buf_text(&r->outputs));
    jsonw_end(w);
    if (r->outputs_omitted > 0)
        jsonw_set_int(w, "outputs_omitted", (int64_t)r->outputs_omitted);
}

static void put_notes(struct jsonw *w, const struct execution_result *r)
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
    jsonw_set_int(w, "duration_ms", x->result.duration_ms);
    jsonw_set_object(w, "events");
    jsonw_set_int(w, "first", (int64_t)x->first_event);
    jsonw_set_int(w, "last", (int64_t)x->last_event);
    jsonw_end(w);
}

static void put_ended(struct jsonw *w, const struct execution *x, bool whole)
{
    const struct execution_result *r = &x->result;
    put_events(w, x);
    put_error(w, r);
    put_notes(w, r);
    if (whole) {
        put_result_text(w, r);
        put_streams(w, r);
    } else {
        jsonw_set_text(w, "omitted", "texts and outputs: longer than the limit of 64 MiB");
    }
}

static void put_document(struct buf *out, const struct api_session *api_session,
                         const struct execution *x, bool whole)
{
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    put_result_head(&w, api_session, x);
    if (x->state == EXECUTION_ENDED)
        put_ended(&w, x, whole);
    jsonw_end(&w);
}

void execution_put(struct buf *out, const struct api_session *api_session,
                   const struct execution *x)
{
    put_document(out, api_session, x, true);
    if (!out->failed)
        return;
    const size_t most = out->cap;
    buf_done(out);
    *out = BUF_INIT(most);
    put_document(out, api_session, x, false);
}
