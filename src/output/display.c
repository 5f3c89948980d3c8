/* SPDX-License-Identifier: Apache-2.0 */
#include "output/display.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text/base64.h"
#include "base/text/utf8.h"
#include "output/savefile.h"

enum { DISPLAY_MAX = 256 << 20 /* bytes of one decoded display: a message is not larger */ };

static const struct mime_type {
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

/* --- files ---------------------------------------------------------------------------------- */

static void drop_file(struct output *o, size_t i)
{
    (void)unlink(o->files[i].path);
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
    return r < 0 ? err_set(e, r, "its data: %s", strerror(-r)) : 0;
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
    o->files[o->file_count++] = (struct output_file){.path = path,
                                                     .mime = type->mime,
                                                     .is_image = type->is_image,
                                                     .display_id = xstrdup(id),
                                                     .bytes = bytes.len};
    o->saved_bytes += bytes.len;
}

static void save_all(struct output *o, const struct display_data *data, const char *id, bool shown)
{
    for (size_t i = 0; !o->unsaved && i < sizeof types / sizeof *types; i++) {
        const char *text =
            types[i].is_image || !shown ? data->find(data->ctx, types[i].mime) : NULL;
        if (!text)
            continue;
        save_display(o, &types[i], text, id);
        shown = true;
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
    size_t space = utf8_space_suffix(o->text.data, o->text.len);
    o->space_chars = utf8_count(o->text.data + o->text.len - space, space);
    return true;
}

static void show_display_text(struct output *o, const char *plain, const char *id)
{
    size_t offset = o->text.len;
    if (plain)
        output_text(o, plain, strlen(plain));
    output_settle(o);
    if (id && plain)
        remember_display(o, id, offset);
}

void display_show(struct output *o, const struct display_data *data, const char *id)
{
    output_settle(o);
    const char *plain = data->find(data->ctx, "text/plain");
    show_display_text(o, plain, id);
    save_all(o, data, id, plain != NULL);
}

void display_update(struct output *o, const struct display_data *data, const char *id)
{
    output_settle(o);
    struct output_slot *slot = id ? find_display_slot(o, id) : NULL;
    const char *plain = data->find(data->ctx, "text/plain");
    if (slot && plain && !replace_text(o, slot, plain)) {
        xfree(slot->later);
        slot->later = xstrdup(plain);
    }
    if (!slot && o->late)
        show_display_text(o, plain, id);
    if (!id)
        return;
    drop_files_of(o, id);
    save_all(o, data, id, plain != NULL);
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
        const char *later = o->slots[i].later;
        if (!later)
            continue;
        output_text(o, "\n", 1);
        output_text(o, later, strlen(later));
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
