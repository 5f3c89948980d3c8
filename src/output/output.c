/* SPDX-License-Identifier: Apache-2.0 */
#include "output/output.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text/utf8.h"
#include "output/display.h"
#include "output/savefile.h"

enum {
    FILE_BUFFER = 256 * 1024, /* text gathered before a write */
};

/* --- the file of the whole text ------------------------------------------------------------- */

static void stop_file(struct output *o, const char *why)
{
    (void)snprintf(o->file_note, sizeof o->file_note, "%s", why);
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
            char why[120];
            (void)snprintf(why, sizeof why, "cut after %llu bytes: %s",
                           (unsigned long long)o->file_bytes, strerror(errno));
            stop_file(o, why);
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
            char why[120];
            (void)snprintf(why, sizeof why, "cut after %llu bytes, the limit of an output file",
                           (unsigned long long)o->file_bytes);
            stop_file(o, why);
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
        (void)unlink(o->file);
    xfree(o->file);
    o->file = NULL;
    o->file_bytes = 0;
    o->file_note[0] = '\0';
}

/* --- text ----------------------------------------------------------------------------------- */

/* Keeps the count of white space at the end, which strip() will take away. */
static void count_output(struct output *o, const char *text, size_t n)
{
    size_t chars = utf8_count(text, n);
    size_t suffix = utf8_space_suffix(text, n);
    uint64_t space = utf8_count(text + n - suffix, suffix);
    o->space_chars = suffix == n ? o->space_chars + space : space;
    o->chars += chars;
}

static void add_output_text(struct output *o, const char *text, size_t n)
{
    if (!o->started) {
        size_t space = utf8_space_prefix(text, n);
        text += space;
        n -= space;
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
    if (head == n && !o->truncated)
        return;
    if (!o->truncated) { /* so far: what is left may be white space alone */
        o->truncated = true;
        if (o->late)
            return;
        open_output_file(o); /* takes the head, and with it this text's first part */
        text += head;
        n -= head;
    }
    to_file(o, text, n);
}

/* A clear_output(wait=True) waits for what comes instead. */
static void clear_output_if_due(struct output *o)
{
    if (o->clear_due)
        output_clear(o, false);
}

void output_text(struct output *o, const char *text, size_t n)
{
    if (n == 0)
        return;
    clear_output_if_due(o);
    screen_write(&o->screen, text, n);
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
    discard_file(o);
    o->truncated = o->started = false;
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
    o->pending = BUF_INIT(FILE_BUFFER * 2);
    screen_init(&o->screen, on_screen, o);
}

void output_done(struct output *o)
{
    o->fd = fd_close(o->fd);
    buf_done(&o->text);
    buf_done(&o->pending);
    screen_done(&o->screen);
    xfree(o->file);
    display_done(o);
    *o = (struct output){.fd = -1};
}

void output_finish(struct output *o)
{
    o->clear_due = false; /* nothing came instead: what is there stays */
    screen_flush(&o->screen);
    display_finish(o);
    screen_flush(&o->screen);
    write_pending(o);
    o->fd = fd_close(o->fd);
    o->chars -= o->space_chars;
    o->space_chars = 0;
    if (o->truncated && o->chars <= o->max_chars) {
        o->truncated = false;
        discard_file(o);
    }
    if (!o->truncated && o->text.len > 0) {
        o->text.len -= utf8_space_suffix(o->text.data, o->text.len);
        o->text.data[o->text.len] = '\0';
    }
}
