/* SPDX-License-Identifier: Apache-2.0 */
#include "session/executions/result.h"

#include <string.h>

#include "base/alloc.h"

/* --- while it runs ---------------------------------------------------------------------------- */

void result_init(struct execution_result *r)
{
    *r = (struct execution_result){.duration_ms = -1,
                                   .out = BUF_INIT(EXECUTION_STREAM_MAX),
                                   .err = BUF_INIT(EXECUTION_STREAM_MAX),
                                   .outputs = BUF_INIT(EXECUTION_OUTPUTS_MAX)};
}

/* As much as there is room for, cut at a character; what follows is dropped, too. */
static void add_result_text(struct buf *to, const char *text)
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

static void add_output(struct execution_result *r, const char *type, const struct json *content)
{
    drop_str char *text = content ? json_print(content) : NULL;
    size_t n = text ? strlen(text) : 0;
    if (n < 2 || r->outputs.len + n + 64 > r->outputs.cap) {
        r->outputs_omitted++;
        return;
    }
    (void)buf_addf(&r->outputs, "%s{\"type\":\"%s\"%s", r->outputs.len ? "," : "", type,
                   n > 2 ? "," : "");
    (void)buf_add(&r->outputs, text + 1, n - 1);
}

void result_collect(struct execution_result *r, const struct jupyter_msg *m)
{
    if (m->type == JUPYTER_STREAM) {
        const char *name = json_get_text(m->content, "name");
        const char *text = json_get_text(m->content, "text");
        struct buf *to = name && strcmp(name, "stderr") == 0 ? &r->err : &r->out;
        if (text && !to->failed)
            add_result_text(to, text);
    } else if (m->type == JUPYTER_DISPLAY_DATA) {
        add_output(r, "display", m->content);
    } else if (m->type == JUPYTER_UPDATE_DISPLAY_DATA) {
        add_output(r, "update", m->content);
    } else if (m->type == JUPYTER_EXECUTE_RESULT) {
        add_output(r, "result", m->content);
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Without the room that it had to grow. */
static void shrink(struct buf *b)
{
    struct buf exact = BUF_INIT(b->len);
    if (b->len > 0)
        (void)buf_add(&exact, b->data, b->len);
    buf_done(b);
    *b = exact;
}

static void copy_output(struct execution_result *r, const struct output *o)
{
    r->text = BUF_INIT(o->text.len);
    if (o->text.len > 0)
        (void)buf_add(&r->text, o->text.data, o->text.len);
    r->truncated = o->truncated;
    r->output_file = o->file ? xstrdup(o->file) : NULL;
    r->output_file_note = xstrdup(o->file_note);
    r->files = o->file_count ? xcalloc(o->file_count, sizeof *r->files) : NULL;
    r->file_count = o->file_count;
    for (size_t i = 0; i < o->file_count; i++)
        r->files[i] = (struct execution_file){xstrdup(o->files[i].path), o->files[i].mime};
}

void result_finish(struct execution_result *r, const struct cell_result *cell, int64_t duration_ms)
{
    r->status = cell->status;
    r->duration_ms = duration_ms;
    r->kernel_replaced = cell->kernel_replaced;
    r->ename = xstrdup(cell->ename);
    r->evalue = xstrdup(cell->evalue);
    r->traceback = xstrdup(cell->traceback);
    r->error_file = cell->error_file ? xstrdup(cell->error_file) : NULL;
    r->reason = xstrdup(cell->reason);
    r->last_words = xstrdup(cell->last_words);
    r->notice = xstrdup(cell->notice);
    r->late = xstrdup(cell->late);
    r->streams_truncated = r->out.failed || r->err.failed;
    shrink(&r->out);
    shrink(&r->err);
    shrink(&r->outputs);
    copy_output(r, cell->output);
}

size_t result_bytes(const struct execution_result *r)
{
    const char *texts[] = {r->ename,      r->evalue, r->traceback, r->reason,
                           r->last_words, r->notice, r->late};
    size_t n = r->text.len + r->out.len + r->err.len + r->outputs.len;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        n += texts[i] ? strlen(texts[i]) : 0;
    for (size_t i = 0; i < r->file_count; i++)
        n += sizeof r->files[i] + strlen(r->files[i].path);
    return n;
}

void result_done(struct execution_result *r)
{
    char *texts[] = {r->ename,  r->evalue, r->traceback,   r->reason,           r->last_words,
                     r->notice, r->late,   r->output_file, r->output_file_note, r->error_file};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        xfree(texts[i]);
    for (size_t i = 0; i < r->file_count; i++)
        xfree(r->files[i].path);
    xfree(r->files);
    buf_done(&r->text);
    buf_done(&r->out);
    buf_done(&r->err);
    buf_done(&r->outputs);
    *r = (struct execution_result){0};
}
