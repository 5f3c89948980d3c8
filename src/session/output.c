/* SPDX-License-Identifier: Apache-2.0 */
#include "session/output.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/utf8.h"
#include "session/savefile.h"

enum {
    FILE_BUFFER = 256 * 1024, /* text gathered before a write */
    DISPLAY_MAX = 256 << 20,  /* bytes of one decoded image: a message is not larger */
};

void output_init(struct output *o, const char *workspace, size_t max_chars, uint64_t file_limit)
{
    *o = (struct output){
        .workspace = workspace,
        .max_chars = max_chars < OUTPUT_HEAD_MAX ? max_chars : OUTPUT_HEAD_MAX,
        .file_limit = file_limit,
        .fd = -1,
    };
    o->text = BUF_INIT(o->max_chars * 4);
    o->pending = BUF_INIT(FILE_BUFFER * 2);
}

void output_done(struct output *o)
{
    o->fd = fd_close(o->fd);
    buf_done(&o->text);
    buf_done(&o->pending);
    xfree(o->file);
    for (size_t i = 0; i < o->file_count; i++)
        xfree(o->files[i].path);
    xfree(o->files);
    *o = (struct output){.fd = -1};
}

/* --- the file of the whole text --------------------------------------------------------------- */

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

/* In a file a NUL is a NUL: C0 80 is the form inside the program. */
static void add_as_bytes(struct buf *to, const char *text, size_t n)
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
        add_as_bytes(&o->pending, text, part);
        if (o->pending.len >= FILE_BUFFER)
            write_pending(o);
        text += part;
        n -= part;
    }
}

static void open_file(struct output *o)
{
    struct err e = ERR_NONE;
    if (savefile_open(o->workspace, "outputs", "txt", &o->file, &o->fd, &e) < 0) {
        o->fd = -1;
        (void)snprintf(o->file_note, sizeof o->file_note, "%s", e.msg);
        return;
    }
    to_file(o, buf_text(&o->text), o->text.len);
}

/* --- text ------------------------------------------------------------------------------------- */

/* Keeps the count of white space at the end, which strip() will take away. */
static void count(struct output *o, const char *text, size_t n)
{
    size_t chars = utf8_count(text, n);
    size_t suffix = utf8_space_suffix(text, n);
    uint64_t space = utf8_count(text + n - suffix, suffix);
    o->space_chars = suffix == n ? o->space_chars + space : space;
    o->chars += chars;
}

void output_text(struct output *o, const char *text, size_t n)
{
    if (!o->started) {
        size_t space = utf8_space_prefix(text, n);
        text += space;
        n -= space;
        o->started = n > 0;
    }
    if (n == 0)
        return;
    count(o, text, n);
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
        open_file(o); /* takes the head, and with it this text's first part */
        text += head;
        n -= head;
    }
    to_file(o, text, n);
}

void output_finish(struct output *o)
{
    write_pending(o);
    o->fd = fd_close(o->fd);
    o->chars -= o->space_chars;
    o->space_chars = 0;
    if (o->truncated && o->chars <= o->max_chars) {
        o->truncated = false;
        if (o->file)
            (void)unlink(o->file);
        xfree(o->file);
        o->file = NULL;
        o->file_note[0] = '\0';
    }
    if (!o->truncated && o->text.len > 0) {
        o->text.len -= utf8_space_suffix(o->text.data, o->text.len);
        o->text.data[o->text.len] = '\0';
    }
}

/* --- displays --------------------------------------------------------------------------------- */

static const struct type {
    const char *mime, *extension;
    bool base64, is_image;
} types[] = {
    {"image/png", "png", true, true},
    {"image/jpeg", "jpg", true, true},
    {"image/gif", "gif", true, true},
    {"image/webp", "webp", true, true},
    {"image/bmp", "bmp", true, true},
    {"image/svg+xml", "svg", false, true},
    {"application/pdf", "pdf", true, false},
    {"text/html", "html", false, false},
    {"text/markdown", "md", false, false},
    {"text/latex", "tex", false, false},
    {"application/json", "json", false, false},
    {"application/vnd.plotly.v1+json", "plotly.json", false, false},
    {"application/javascript", "js", false, false},
};

static void note_failure(struct output *o, const char *what, const struct err *e)
{
    char line[600];
    int n = snprintf(line, sizeof line, "\n[%s was displayed but could not be saved: %s]\n", what,
                     e->msg);
    output_text(o, line, n > 0 ? strlen(line) : 0);
}

static int decode_base64(const char *data, struct buf *out, struct err *e)
{
    int r = base64_decode(out, data, strlen(data));
    return r < 0 ? err_set(e, r, "its base64: %s", strerror(-r)) : 0;
}

static void save(struct output *o, const struct type *type, const char *data)
{
    struct err e = ERR_NONE;
    drop_buf struct buf bytes = BUF_INIT(DISPLAY_MAX);
    char *path = NULL;
    int r = 0;
    if (o->file_count >= OUTPUT_FILES_MAX)
        r = err_set(&e, -EMFILE, "a cell may save at most %d displays", OUTPUT_FILES_MAX);
    else if (type->base64)
        r = decode_base64(data, &bytes, &e);
    else
        add_as_bytes(&bytes, data, strlen(data));
    if (r == 0)
        r = savefile_write(o->workspace, type->is_image ? "images" : "outputs", type->extension,
                           buf_text(&bytes), bytes.len, &path, &e);
    if (r < 0) {
        note_failure(o, type->mime, &e);
        return;
    }
    o->files = xrealloc(o->files, (o->file_count + 1) * sizeof *o->files);
    o->files[o->file_count++] =
        (struct output_file){.path = path, .mime = type->mime, .is_image = type->is_image};
}

void output_display(struct output *o, const char *(*find)(void *ctx, const char *mime), void *ctx)
{
    const char *plain = find(ctx, "text/plain");
    if (plain)
        output_text(o, plain, strlen(plain));
    bool shown = plain != NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *data = types[i].is_image || !shown ? find(ctx, types[i].mime) : NULL;
        if (!data)
            continue;
        save(o, &types[i], data);
        shown = true;
    }
}
