/* SPDX-License-Identifier: Apache-2.0 */
#include "output/output.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text/utf8.h"
#include "output/display.h"
#include "output/fit.h"
#include "output/savefile.h"

enum {
    FILE_BUFFER = 256 * 1024, /* text gathered before a write */
};

/* --- the file of the whole text ------------------------------------------------------------- */

static void stop_file(struct output *o, const char *why)
{
    if (o->file_bytes > 0)
        (void)snprintf(o->file_note, sizeof o->file_note, "the rest is lost after %llu bytes: %s",
                       (unsigned long long)o->file_bytes, why);
    else
        (void)snprintf(o->file_note, sizeof o->file_note, "nothing could be written: %s", why);
    o->fd = fd_close(o->fd);
    buf_clear(&o->pending);
}

static void write_pending(struct output *o)
{
    size_t done = 0;
    while (o->fd >= 0 && done < o->pending.len) {
        ssize_t n = write(o->fd, o->pending.data + done, o->pending.len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            stop_file(o, strerror(errno));
            return;
        }
        done += (size_t)n;
        o->file_bytes += (uint64_t)n;
    }
    buf_clear(&o->pending);
}

void output_add_bytes(struct buf *to, const char *text, size_t n)
{
    while (n > 0) {
        const char *nul = memmem(text, n, "\xC0\x80", 2);
        size_t plain = nul ? (size_t)(nul - text) : n;
        (void)buf_add(to, text, plain);
        if (!nul)
            return;
        (void)buf_addc(to, '\0');
        text += plain + 2;
        n -= plain + 2;
    }
}

static void to_file(struct output *o, const char *text, size_t n)
{
    while (n > 0 && o->fd >= 0) {
        uint64_t room = o->file_limit - o->file_bytes - o->pending.len;
        size_t part = n < FILE_BUFFER ? n : FILE_BUFFER;
        part = part < room ? part : (size_t)room;
        while (part > 0 && part < n && ((unsigned char)text[part] & 0xC0) == 0x80)
            part--; /* never half a character */
        if (part == 0) {
            write_pending(o);
            stop_file(o, "the limit of an output file");
            return;
        }
        output_add_bytes(&o->pending, text, part);
        if (o->pending.len >= FILE_BUFFER)
            write_pending(o);
        text += part;
        n -= part;
    }
}

static void open_output_file(struct output *o)
{
    struct err e = ERR_NONE;
    if (savefile_open(o->workspace, "outputs", "txt", &o->file, &o->fd, &e) < 0) {
        o->fd = -1;
        (void)snprintf(o->file_note, sizeof o->file_note, "%s", e.msg);
        return;
    }
    to_file(o, buf_text(&o->text), o->text.len);
}

static void discard_file(struct output *o)
{
    o->fd = fd_close(o->fd);
    buf_clear(&o->pending);
    if (o->file)
        savefile_remove(o->file);
    xfree(o->file);
    o->file = NULL;
    o->file_bytes = 0;
    o->file_note[0] = '\0';
}

/* Nothing could be written: the note says why. */
static void discard_empty_file(struct output *o)
{
    savefile_remove(o->file);
    xfree(o->file);
    o->file = NULL;
}

/* --- text ----------------------------------------------------------------------------------- */

static size_t breaks_before(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && text[i] == '\n')
        i++;
    return i;
}

static size_t breaks_after(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && text[n - i - 1] == '\n')
        i++;
    return i;
}

/* Keeps the count of line breaks at the end, which output_finish() will take away. */
static void count_output(struct output *o, const char *text, size_t n)
{
    size_t breaks = breaks_after(text, n);
    o->space_chars = breaks == n ? o->space_chars + n : breaks;
    o->chars += utf8_count(text, n);
    o->open_line = breaks == 0;
}

/* Twice as much may be there, so that it is moved once in a while. */
static void keep_tail(struct output *o, const char *text, size_t n)
{
    size_t most = fit_tail(o->max_chars) * 4;
    if (n > most) {
        text += n - most;
        n = most;
    }
    if (o->tail.len + n > 2 * most)
        buf_cut_front(&o->tail, o->tail.len + n - most);
    (void)buf_add(&o->tail, text, n);
}

static void begin_output_file(struct output *o)
{
    o->truncated = true;
    if (!o->late)
        open_output_file(o); /* takes what is there */
}

static void add_output_text(struct output *o, const char *text, size_t n)
{
    if (!o->started) {
        size_t breaks = breaks_before(text, n);
        text += breaks;
        n -= breaks;
        o->started = n > 0;
    }
    if (n == 0)
        return;
    count_output(o, text, n);
    size_t room = o->max_chars - o->head_chars;
    size_t head = room > 0 ? utf8_offset(text, n, room) : 0;
    if (head > 0) {
        o->head_chars += utf8_count(text, head);
        (void)buf_add(&o->text, text, head);
    }
    if (head == n)
        return;
    if (!o->truncated) /* so far: what is left may be line breaks alone */
        begin_output_file(o);
    to_file(o, text + head, n - head);
    keep_tail(o, text + head, n - head);
}

/* A clear_output(wait=True) waits for what comes instead. */
static void clear_output_if_due(struct output *o)
{
    if (o->clear_due)
        output_clear(o, false);
}

static void end_line_if_due(struct output *o)
{
    if (o->shown)
        screen_write(&o->screen, "\n", 1);
    o->shown = false;
}

void output_text(struct output *o, const char *text, size_t n)
{
    if (n == 0)
        return;
    clear_output_if_due(o);
    end_line_if_due(o);
    screen_write(&o->screen, text, n);
}

void output_break(struct output *o)
{
    end_line_if_due(o);
    output_settle(o);
}

void output_new_line(struct output *o)
{
    output_settle(o);
    if (o->open_line)
        o->shown = true;
}

void output_settle(struct output *o)
{
    clear_output_if_due(o);
    screen_flush(&o->screen);
}

void output_clear(struct output *o, bool wait)
{
    o->clear_due = wait;
    if (wait)
        return;
    screen_clear(&o->screen);
    buf_clear(&o->text);
    buf_clear(&o->tail);
    discard_file(o);
    o->truncated = o->started = o->open_line = o->shown = false;
    o->chars = o->space_chars = 0;
    o->head_chars = 0;
    display_clear(o);
}

static void on_screen(void *ctx, const char *text, size_t n)
{
    add_output_text(ctx, text, n);
}

void output_init(struct output *o, const char *workspace, size_t max_chars, uint64_t file_limit)
{
    *o = (struct output){
        .workspace = workspace,
        .max_chars = max_chars < OUTPUT_HEAD_MAX ? max_chars : OUTPUT_HEAD_MAX,
        .file_limit = file_limit,
        .files_max = OUTPUT_FILES_MAX,
        .saved_max = UINT64_MAX,
        .fd = -1,
    };
    o->text = BUF_INIT(o->max_chars * 4);
    o->tail = BUF_INIT(fit_tail(o->max_chars) * 8);
    o->pending = BUF_INIT(FILE_BUFFER * 2);
    screen_init(&o->screen, on_screen, o);
}

void output_done(struct output *o)
{
    o->fd = fd_close(o->fd);
    buf_done(&o->text);
    buf_done(&o->tail);
    buf_done(&o->pending);
    screen_done(&o->screen);
    xfree(o->file);
    display_done(o);
    *o = (struct output){.fd = -1};
}

void output_end(struct output *o)
{
    o->clear_due = false; /* nothing came instead: what is there stays */
    screen_flush(&o->screen);
    display_finish(o);
    screen_flush(&o->screen);
    o->chars -= o->space_chars;
    o->space_chars = 0;
    if (o->truncated && o->chars <= o->max_chars) {
        o->truncated = false;
        discard_file(o);
    }
}

/* The beginning and the end of the text, as far as both have been kept. */
static void fit_output(struct output *o, size_t max_chars)
{
    struct buf whole = o->text;
    drop_buf struct buf fitted = BUF_INIT(o->text.cap + 256);
    size_t skipped = 0;
    while (skipped < 3 && skipped < o->tail.len &&
           ((unsigned char)o->tail.data[skipped] & 0xC0) == 0x80)
        skipped++; /* it may begin inside a character */
    whole.cap += o->tail.cap;
    (void)buf_add(&whole, buf_text(&o->tail) + skipped, o->tail.len - skipped);
    if (whole.len > 0)
        whole.len -= breaks_after(whole.data, whole.len);
    size_t kept = utf8_count(buf_text(&whole), whole.len);
    (void)fit_text(&fitted, buf_text(&whole), whole.len, max_chars,
                   o->chars > kept ? o->chars - kept : 0);
    buf_done(&whole);
    o->text = fitted;
    fitted = (struct buf){0};
}

void output_finish(struct output *o, size_t max_chars)
{
    output_end(o);
    max_chars = max_chars < o->max_chars ? max_chars : o->max_chars;
    if (!o->truncated && o->chars > max_chars)
        begin_output_file(o);
    if (o->late && o->truncated)
        open_output_file(o);
    write_pending(o);
    if (o->file && o->file_bytes == 0)
        discard_empty_file(o);
    o->fd = fd_close(o->fd);
    fit_output(o, max_chars);
    o->text_chars = utf8_count(buf_text(&o->text), o->text.len);
}
