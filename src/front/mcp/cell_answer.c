/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp/cell_answer.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text/base64.h"
#include "front/apps/app_cell.h"
#include "front/mcp/mcp_call.h"
#include "output/fit.h"
#include "output/links.h"
#include "output/savefile.h"

enum {
    TEXT_MAX = 64 << 20,
    IMAGE_MAX = 10 << 20, /* bytes of an image that is put into the answer */
};

/* --- text ----------------------------------------------------------------------------------- */

static void put_cut_notice(struct buf *out, const struct output *o)
{
    unsigned long long chars = o->chars;
    (void)buf_addf(out, "\n\n[Output truncated: exceeded %zu character limit]", o->max_chars);
    if (o->file && *o->file_note)
        (void)buf_addf(out, "\n[The beginning of the output, %llu characters in all, is in %s: %s]",
                       chars, o->file, o->file_note);
    else if (o->file)
        (void)buf_addf(out, "\n[The whole output, %llu characters, is in %s]", chars, o->file);
    else
        (void)buf_addf(out, "\n[The rest of %llu characters could not be saved: %s]", chars,
                       o->file_note);
}

/* What the cell has printed and displayed. */
static void put_cell_text(struct buf *out, const struct cell_result *r)
{
    const struct output *o = r->output;
    (void)buf_add(out, buf_text(&o->text), o->text.len);
    if (o->truncated)
        put_cut_notice(out, o);
    links_put(out, o, r->links_room);
}

/* --- errors --------------------------------------------------------------------------------- */

static void put_exception(struct buf *out, const struct cell_result *r)
{
    (void)buf_addf(out, "%s: %s\n", r->ename, r->evalue);
    (void)buf_adds(out, r->traceback);
    if (r->error_file)
        (void)buf_addf(out, "\n[The whole error is in %s]", r->error_file);
}

static void put_error_text(struct buf *out, const struct cell_result *r, double timeout_s)
{
    (void)buf_adds(out, "Error executing tool execute_ipython_cell: ");
    switch (r->status) {
    case CELL_OK:
    case CELL_CANCELLED:
        break;
    case CELL_ERROR:
        put_exception(out, r);
        break;
    case CELL_TIMEOUT:
        (void)buf_addf(out, "TimeoutError: the cell ran longer than %g s; %s", timeout_s,
                       r->reason);
        if (*r->ename) {
            (void)buf_addc(out, '\n');
            put_exception(out, r);
        }
        break;
    case CELL_LOST:
        (void)buf_addf(out,
                       "KernelDied: %s. The next cell runs in a new kernel: all variables and "
                       "imports are gone",
                       r->reason);
        if (*r->last_words) {
            (void)buf_adds(out, "\nIt wrote at its end:\n");
            (void)fit_text(out, r->last_words, strlen(r->last_words), r->words_room, 0);
        }
        break;
    case CELL_STOPPED:
        (void)buf_addf(out, "the cell was ended: %s", r->reason);
        break;
    case CELL_REFUSED:
        (void)buf_addf(out, "the cell did not run: %s", r->reason);
        break;
    }
}

/* --- images --------------------------------------------------------------------------------- */

/* An image that cannot be read back (code may have removed it) is simply not attached. */
static void put_image(struct jsonw *w, const struct output_file *file)
{
    struct stat st;
    drop_fd int fd = savefile_read(file->path, &st);
    if (fd < 0 || !S_ISREG(st.st_mode) || st.st_size > IMAGE_MAX)
        return;
    drop_buf struct buf bytes = BUF_INIT(IMAGE_MAX), text = BUF_INIT(IMAGE_MAX * 2);
    if (buf_reserve(&bytes, (size_t)st.st_size) < 0)
        return;
    ssize_t n = read(fd, bytes.data, (size_t)st.st_size);
    if (n < 0 || base64_encode(&text, bytes.data, (size_t)n) < 0)
        return;
    jsonw_object(w);
    jsonw_set_text(w, "type", "image");
    jsonw_set_text(w, "data", buf_text(&text));
    jsonw_set_text(w, "mimeType", file->mime);
    jsonw_end(w);
}

/* --- the page ------------------------------------------------------------------------------- */

/* What does not fit is not shown: the content has the text of it. */
static void put_page_data(struct mcp_call *call, const struct cell_result *r)
{
    if (!call->shows_apps)
        return;
    call->app_data = BUF_INIT(APP_CELL_MAX);
    struct jsonw w = JSONW(&call->app_data);
    app_cell_put(&w, r, session_history(call->session));
    if (call->app_data.failed)
        buf_clear(&call->app_data);
}

/* --- the answer ----------------------------------------------------------------------------- */

static void put_titled(struct jsonw *w, const char *title, const char *text, size_t n)
{
    if (n == 0)
        return;
    jsonw_object(w);
    jsonw_set_text(w, "type", "text");
    jsonw_name(w, "text");
    jsonw_text_begin(w);
    jsonw_text_part(w, title, strlen(title));
    jsonw_text_part(w, text, n);
    jsonw_text_end(w);
    jsonw_end(w);
}

void cell_answer(void *ctx, const struct cell_result *r)
{
    struct mcp_call *call = ctx;
    struct buf out;
    struct jsonw w;
    call->cell = NULL;
    put_page_data(call, r);
    call_answer_begin(call, &out, &w);
    drop_buf struct buf text = BUF_INIT(TEXT_MAX), error = BUF_INIT(TEXT_MAX);
    put_cell_text(&text, r);
    if (r->status == CELL_OK) {
        put_text_block(&w, buf_text(&text), text.len);
    } else {
        put_error_text(&error, r, call->timeout_s);
        put_text_block(&w, buf_text(&error), error.len);
        put_titled(&w, "Output before the error:\n", buf_text(&text), text.len);
    }
    put_titled(&w, "[ipybox] ", r->notice, strlen(r->notice));
    put_titled(&w, "[ipybox] Output that came after the cell before had ended:\n", r->late,
               strlen(r->late));
    for (size_t i = 0; call->include_images && i < r->output->file_count; i++) {
        if (r->output->files[i].is_image)
            put_image(&w, &r->output->files[i]);
    }
    call_answer_end(call, &out, &w, r->status != CELL_OK);
}
