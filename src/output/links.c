/* SPDX-License-Identifier: Apache-2.0 */
#include "output/links.h"

#include <string.h>

#include "base/alloc.h"
#include "base/text/utf8.h"
#include "output/savefile.h"

enum {
    LINKS_MAX = 16 << 20,
    MORE_CHARS = 150, /* of the line that stands for those that are not shown */
};

static void put_links(struct buf *out, const struct output *o, bool images)
{
    bool titled = false;
    for (size_t i = 0; i < o->file_count; i++) {
        const struct output_file *file = &o->files[i];
        if (file->is_image != images)
            continue;
        const char *name = strrchr(file->path, '/') + 1;
        if (!titled)
            (void)buf_addf(out, "\n\nGenerated %s:\n\n", images ? "images" : "files");
        titled = true;
        (void)buf_addf(out, "- [%.*s](%s)", (int)strcspn(name, "."), name, file->path);
        if (!images)
            (void)buf_addf(out, " %s, %llu bytes", file->mime, (unsigned long long)file->bytes);
        (void)buf_addc(out, '\n');
    }
}

static void put_all_links(struct buf *out, const struct output *o)
{
    put_links(out, o, true);
    put_links(out, o, false);
}

size_t links_chars(const struct output *o)
{
    drop_buf struct buf all = BUF_INIT(LINKS_MAX);
    put_all_links(&all, o);
    return utf8_count(buf_text(&all), all.len);
}

static size_t count_links(const char *text, size_t n)
{
    size_t count = 0;
    for (const char *at = text; (at = memmem(at, n - (size_t)(at - text), "\n- [", 4)); at++)
        count++;
    return count;
}

void links_put(struct buf *out, const struct output *o, size_t max_chars)
{
    drop_buf struct buf all = BUF_INIT(LINKS_MAX);
    put_all_links(&all, o);
    if (utf8_count(buf_text(&all), all.len) <= max_chars) {
        (void)buf_add(out, buf_text(&all), all.len);
        return;
    }
    size_t room = max_chars > MORE_CHARS ? max_chars - MORE_CHARS : 0;
    size_t n = utf8_offset(all.data, all.len, room);
    while (n > 0 && all.data[n - 1] != '\n')
        n--; /* links are shown whole or not at all */
    size_t shown = count_links(all.data, n);
    if (shown == 0)
        n = 0;
    (void)buf_add(out, all.data, n);
    drop_str char *list = NULL;
    struct err e = ERR_NONE;
    int r = savefile_write(o->workspace, "outputs", "txt", all.data, all.len, &list, &e);
    (void)buf_addf(out, "%s- … and %zu more files%s%s\n", n > 0 ? "" : "\n\n",
                   o->file_count - shown, r == 0 ? ", all of them listed in " : "",
                   r == 0 ? list : "");
}
