/* SPDX-License-Identifier: Apache-2.0 */
#include "session/queue/background.h"

#include <string.h>

#include "output/collect.h"
#include "output/links.h"

enum { LINKS_TEXT_MAX = 256 << 10 };

static void begin_late(struct background_output *late)
{
    output_init(&late->output, late->workspace, BACKGROUND_CHARS_MAX, BACKGROUND_CHARS_MAX * 4);
    late->output.late = true;
    late->output.files_max = BACKGROUND_FILES_MAX;
    late->output.saved_max = BACKGROUND_BYTES_MAX;
    late->any = false;
}

void background_init(struct background_output *late, const char *workspace)
{
    *late = (struct background_output){.workspace = workspace};
    late->told = BUF_INIT(BACKGROUND_CHARS_MAX * 4 + LINKS_TEXT_MAX);
    begin_late(late);
}

void background_done(struct background_output *late)
{
    output_done(&late->output);
    buf_done(&late->told);
}

void background_message(struct background_output *late, const struct jupyter_msg *m)
{
    if (m->type == JUPYTER_CLEAR_OUTPUT)
        return;
    late->any = true;
    collect(&late->output, m, NULL, NULL);
}

void background_text(struct background_output *late, const char *text)
{
    late->any = true;
    output_text(&late->output, text, strlen(text));
}

size_t background_chars(struct background_output *late)
{
    if (!late->any)
        return 0;
    output_end(&late->output);
    return (size_t)late->output.chars + links_chars(&late->output);
}

static void tell_cut(struct buf *told, const struct output *o)
{
    if (o->file)
        (void)buf_addf(told, "\n[All %llu characters are in %s]\n", (unsigned long long)o->chars,
                       o->file);
    if (o->chars > BACKGROUND_CHARS_MAX)
        (void)buf_adds(told, "\n[more output followed and was dropped]\n");
}

const char *background_tell(struct background_output *late, size_t max_chars)
{
    struct output *o = &late->output;
    if (!late->any)
        return "";
    size_t links = links_chars(o);
    output_finish(o, max_chars - (links < max_chars / 3 ? links : max_chars / 3));
    (void)buf_add(&late->told, buf_text(&o->text), o->text.len);
    if (o->truncated)
        tell_cut(&late->told, o);
    drop_buf struct buf links_text = BUF_INIT(LINKS_TEXT_MAX);
    links_put(&links_text, o, max_chars - o->text_chars);
    size_t breaks = late->told.len > 0 ? 0 : strspn(buf_text(&links_text), "\n");
    (void)buf_adds(&late->told, buf_text(&links_text) + breaks);
    return buf_text(&late->told);
}

void background_told(struct background_output *late)
{
    if (!late->any)
        return;
    output_done(&late->output);
    buf_clear(&late->told);
    begin_late(late);
}

void background_drop(struct background_output *late)
{
    output_clear(&late->output, false);
    background_told(late);
}
