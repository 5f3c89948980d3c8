/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp/cell_answer.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text/base64.h"
#include "base/text/utf8.h"
#include "front/mcp/mcp_call.h"

enum {
    TEXT_MAX = 64 << 20,
    ERROR_TEXT_MAX = 100000, /* bytes; of a longer one the middle is left out */
    IMAGE_MAX = 10 << 20,    /* bytes of an image that is put into the answer */
};

/* --- text ----------------------------------------------------------------------------------- */

static void put_files(struct buf *out, const struct output *o, bool images)
{
    bool titled = false;
    for (size_t i = 0; i < o->file_count; i++) {
        if (o->files[i].is_image != images)
            continue;
        const char *path = o->files[i].path;
        const char *name = strrchr(path, '/') + 1;
        if (!titled)
            (void)buf_addf(out, "\n\nGenerated %s:\n\n", images ? "images" : "files");
        titled = true;
        (void)buf_addf(out, "- [%.*s](%s)\n", (int)strcspn(name, "."), name, path);
    }
}

static void put_cut_notice(struct buf *out, const struct output *o)
{
    (void)buf_addf(out, "\n\n[Output truncated: exceeded %zu character limit]", o->max_chars);
    if (o->truncated && o->file)
        (void)buf_addf(out, "\n[The whole output, %llu characters%s%s, is in %s]",
                       (unsigned long long)o->chars, *o->file_note ? ", " : "", o->file_note,
                       o->file);
    else if (o->truncated)
        (void)buf_addf(out, "\n[The rest of %llu characters could not be saved: %s]",
                       (unsigned long long)o->chars, o->file_note);
}

/* The first block's text of a cell that ran to its end. */
static void put_cell_text(struct buf *out, const struct output *o)
{
    drop_buf struct buf files = BUF_INIT(TEXT_MAX);
    put_files(&files, o, true);
    put_files(&files, o, false);
    size_t chars = o->truncated ? o->max_chars : (size_t)o->chars;
    size_t file_chars = utf8_count(buf_text(&files), files.len);
    (void)buf_add(out, buf_text(&o->text), o->text.len);
    if (!o->truncated && chars + file_chars <= o->max_chars) {
        (void)buf_add(out, buf_text(&files), files.len);
        return;
    }
    /* the limit is over text and links together; the links that it cuts stand behind the notice */
    size_t room = o->max_chars - chars;
    (void)buf_add(out, buf_text(&files), utf8_offset(buf_text(&files), files.len, room));
    put_cut_notice(out, o);
    (void)buf_add(out, buf_text(&files), files.len);
}

/* --- errors --------------------------------------------------------------------------------- */

static void put_shortened(struct buf *out, const char *text)
{
    size_t n = strlen(text);
    if (n <= ERROR_TEXT_MAX) {
        (void)buf_add(out, text, n);
        return;
    }
    size_t head = ERROR_TEXT_MAX / 2, tail = n - ERROR_TEXT_MAX / 2;
    while (head > 0 && ((unsigned char)text[head] & 0xC0) == 0x80)
        head--;
    while (tail < n && ((unsigned char)text[tail] & 0xC0) == 0x80)
        tail++;
    (void)buf_add(out, text, head);
    (void)buf_addf(out, "\n[%zu bytes of the error are left out here]\n", tail - head);
    (void)buf_adds(out, text + tail);
}

static void put_exception(struct buf *out, const struct cell_result *r)
{
    put_shortened(out, r->ename);
    (void)buf_adds(out, ": ");
    put_shortened(out, r->evalue);
    (void)buf_addc(out, '\n');
    put_shortened(out, r->traceback);
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
            put_shortened(out, r->last_words);
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
    drop_fd int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > IMAGE_MAX)
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
    call_answer_begin(call, &out, &w);
    drop_buf struct buf text = BUF_INIT(TEXT_MAX), error = BUF_INIT(TEXT_MAX);
    put_cell_text(&text, r->output);
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
