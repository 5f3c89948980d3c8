/* SPDX-License-Identifier: Apache-2.0 */
#include "output/display.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text/base64.h"
#include "base/text/utf8.h"
#include "output/savefile.h"

enum { DISPLAY_MAX = 256 << 20 /* bytes of one decoded display: a message is not larger */ };

/* From the best to the last, among those of one kind. */
static const struct mime_type {
    const char *mime, *extension;
    bool base64, is_image;
    const char *begins; /* its bytes; a model's service refuses all that was said for a false one */
} types[] = {
    {"image/png", "png", true, true, "\x89PNG\r\n\x1a\n"},
    {"image/jpeg", "jpg", true, true, "\xff\xd8\xff"},
    {"image/gif", "gif", true, true, "GIF8"},
    {"image/webp", "webp", true, true, "RIFF"},
    {"image/bmp", "bmp", true, true, "BM"},
    {"image/svg+xml", "svg", false, true, ""},
    {"application/pdf", "pdf", true, false, ""},
    {"text/html", "html", false, false, ""},
    {"application/vnd.plotly.v1+json", "plotly.json", false, false, ""},
    {"*+json", "json", false, false, ""}, /* Vega, Vega-Lite, GeoJSON, Bokeh */
    {"application/javascript", "js", false, false, ""},
};

#define TABLE "text/vnd.ipybox.table" /* displays.py of the kernel: this is a table */

/* What is text, where text/plain says nothing. */
static const struct text_type {
    const char *mime;
    bool file_too;
} text_types[] = {
    {TABLE, true}, /* the cells of its HTML */
    {"text/markdown", false},
    {"text/latex", false},
    {"application/json", false},
};

/* --- files ---------------------------------------------------------------------------------- */

static void drop_file(struct output *o, size_t i)
{
    savefile_remove(o->files[i].path);
    xfree(o->files[i].path);
    xfree(o->files[i].display_id);
    o->saved_bytes -= o->files[i].bytes;
    o->file_count--;
    memmove(&o->files[i], &o->files[i + 1], (o->file_count - i) * sizeof *o->files);
}

static void drop_files_of(struct output *o, const char *id)
{
    for (size_t i = o->file_count; i > 0; i--) {
        const char *other = o->files[i - 1].display_id;
        if (other && strcmp(other, id) == 0)
            drop_file(o, i - 1);
    }
}

static int decode_display(const struct mime_type *type, const char *data, struct buf *out,
                          struct err *e)
{
    if (!type->base64)
        output_add_bytes(out, data, strlen(data));
    int r = type->base64 ? base64_decode(out, data, strlen(data)) : out->failed;
    if (r < 0)
        return err_set(e, r, "its data: %s", strerror(-r));
    size_t n = strlen(type->begins);
    if (out->len < n || memcmp(buf_text(out), type->begins, n) != 0)
        return err_set(e, -EINVAL, "its data are no %s", type->extension);
    return 0;
}

static int make_bytes(const struct output *o, const struct mime_type *type, const char *data,
                      struct buf *out, struct err *e)
{
    if (o->file_count >= o->files_max)
        return err_set(e, -EMFILE, "a cell may save %zu displays%s", o->files_max,
                       o->late ? " after its end" : "");
    int r = decode_display(type, data, out, e);
    if (r == 0 && out->len > o->saved_max - o->saved_bytes)
        r = err_set(e, -EMSGSIZE, "displays after the end of a cell may take %llu bytes together",
                    (unsigned long long)o->saved_max);
    return r;
}

static void save_display(struct output *o, const struct mime_type *type, const char *data,
                         const char *id)
{
    struct err e = ERR_NONE;
    drop_buf struct buf bytes = BUF_INIT(DISPLAY_MAX);
    char *path = NULL;
    int r = make_bytes(o, type, data, &bytes, &e);
    if (r == 0)
        r = savefile_write(o->workspace, type->is_image ? "images" : "outputs", type->extension,
                           buf_text(&bytes), bytes.len, &path, &e);
    if (r < 0) {
        drop_str char *line =
            xasprintf("\n[%s was displayed but could not be saved: %s]\n", type->mime, e.msg);
        output_text(o, line, strlen(line));
        return;
    }
    o->files = xrealloc(o->files, (o->file_count + 1) * sizeof *o->files);
    o->files[o->file_count++] =
        (struct output_file){.path = path,
                             .mime = type->mime[0] == '*' ? "application/json" : type->mime,
                             .is_image = type->is_image,
                             .display_id = xstrdup(id),
                             .bytes = bytes.len};
    o->saved_bytes += bytes.len;
}

/* The first image that there is, and a file if that is wanted and there is none. */
static void save_best(struct output *o, const struct display_data *data, const char *id, bool file)
{
    for (size_t i = 0; !o->unsaved && i < sizeof types / sizeof *types; i++) {
        const char *text = types[i].is_image || file ? data->find(data->ctx, types[i].mime) : NULL;
        if (!text)
            continue;
        save_display(o, &types[i], text, id);
        return;
    }
}

/* --- text ----------------------------------------------------------------------------------- */

static struct output_slot *find_display_slot(struct output *o, const char *id)
{
    for (size_t i = 0; i < o->slot_count; i++) {
        if (strcmp(o->slots[i].display_id, id) == 0)
            return &o->slots[i];
    }
    return NULL;
}

static void remember_display(struct output *o, const char *id, size_t offset)
{
    if (o->slot_count >= OUTPUT_SLOTS_MAX || find_display_slot(o, id))
        return;
    o->slots = xrealloc(o->slots, (o->slot_count + 1) * sizeof *o->slots);
    o->slots[o->slot_count++] = (struct output_slot){
        .display_id = xstrdup(id), .offset = offset, .len = o->text.len - offset};
}

/* Puts the new text where the old one is; false when it cannot be reached or does not fit. */
static bool replace_text(struct output *o, struct output_slot *slot, const char *text)
{
    size_t n = strlen(text);
    if (o->truncated || !o->text.data)
        return false;
    char *place = o->text.data + slot->offset;
    if (n == 0 && slot->len > 0 && place[slot->len] == '\n')
        slot->len++; /* a display that is gone leaves no empty line */
    size_t chars = o->head_chars - utf8_count(place, slot->len) + utf8_count(text, n);
    if (chars > o->max_chars || buf_reserve(&o->text, n) < 0)
        return false;
    place = o->text.data + slot->offset;
    memmove(place + n, place + slot->len, o->text.len - slot->offset - slot->len);
    memcpy(place, text, n);
    o->text.len = o->text.len - slot->len + n;
    o->text.data[o->text.len] = '\0';
    for (size_t i = 0; i < o->slot_count; i++) {
        if (o->slots[i].offset > slot->offset)
            o->slots[i].offset += n - slot->len;
    }
    slot->len = n;
    o->head_chars = chars;
    o->chars = chars;
    o->space_chars = 0;
    for (size_t end = o->text.len; end > 0 && o->text.data[end - 1] == '\n'; end--)
        o->space_chars++;
    return true;
}

/* "<a.Class object at 0x7f…>", "<a.Class object>", "a.Chart(...)": its first line at least. */
static bool says_nothing(const char *plain)
{
    size_t n = strcspn(plain, "\n");
    if (n > 2 && plain[0] == '<' && plain[n - 1] == '>')
        return memmem(plain, n, " at 0x", 6) || memmem(plain, n, " object", 7);
    static const char call[] = "(...)";
    size_t name = strcspn(plain, "( \n");
    return name > 0 && strcmp(plain + name, call) == 0;
}

/* The text that a display has; *ret_file: it is worth a file, too. */
static const char *choose_text(const struct display_data *data, bool *ret_file)
{
    *ret_file = data->find(data->ctx, TABLE) != NULL;
    const char *plain = data->find(data->ctx, "text/plain");
    if (plain && !says_nothing(plain))
        return plain;
    for (size_t i = 0; i < sizeof text_types / sizeof *text_types; i++) {
        const char *text = data->find(data->ctx, text_types[i].mime);
        *ret_file = text_types[i].file_too;
        if (text)
            return text;
    }
    *ret_file = true;
    return data->find(data->ctx, "text/plain");
}

static void show_display_text(struct output *o, const char *text, const char *id)
{
    if (!text)
        return;
    if (*text)
        output_new_line(o);
    output_break(o); /* before the place of this text is noted */
    size_t offset = o->text.len;
    output_text(o, text, strlen(text));
    output_settle(o);
    o->shown = o->open_line;
    if (id)
        remember_display(o, id, offset);
}

void display_show(struct output *o, const struct display_data *data, const char *id)
{
    bool file;
    output_settle(o);
    const char *text = choose_text(data, &file);
    show_display_text(o, text, id);
    save_best(o, data, id, file);
}

void display_update(struct output *o, const struct display_data *data, const char *id)
{
    output_settle(o);
    struct output_slot *slot = id ? find_display_slot(o, id) : NULL;
    bool file;
    const char *text = choose_text(data, &file);
    if (slot && text && !replace_text(o, slot, text)) {
        xfree(slot->later);
        slot->later = xstrdup(text);
    }
    if (!slot && o->late)
        show_display_text(o, text, id);
    if (!id)
        return;
    drop_files_of(o, id);
    save_best(o, data, id, file);
}

/* --- ends ----------------------------------------------------------------------------------- */

static void drop_slots(struct output *o)
{
    for (size_t i = 0; i < o->slot_count; i++) {
        xfree(o->slots[i].display_id);
        xfree(o->slots[i].later);
    }
    o->slot_count = 0;
}

void display_clear(struct output *o)
{
    while (o->file_count > 0)
        drop_file(o, o->file_count - 1);
    drop_slots(o);
}

void display_finish(struct output *o)
{
    for (size_t i = 0; i < o->slot_count; i++) {
        char *later = o->slots[i].later;
        if (!later)
            continue;
        output_new_line(o);
        output_text(o, later, strlen(later));
        xfree(later);
        o->slots[i].later = NULL;
    }
}

void display_done(struct output *o)
{
    for (size_t i = 0; i < o->file_count; i++) {
        xfree(o->files[i].path);
        xfree(o->files[i].display_id);
    }
    xfree(o->files);
    drop_slots(o);
    xfree(o->slots);
}
