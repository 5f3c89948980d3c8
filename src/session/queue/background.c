/* SPDX-License-Identifier: Apache-2.0 */
#include "session/queue/background.h"

#include <string.h>

#include "output/collect.h"

enum { FILES_TEXT_MAX = 256 << 10 };

static void begin_late(struct background_output *late)
{
    output_init(&late->output, late->workspace, BACKGROUND_CHARS_MAX, 0);
    late->output.late = true;
    late->output.files_max = BACKGROUND_FILES_MAX;
    late->output.saved_max = BACKGROUND_BYTES_MAX;
    late->any = false;
}

void background_init(struct background_output *late, const char *workspace)
{
    *late = (struct background_output){.workspace = workspace};
    late->told = BUF_INIT(BACKGROUND_CHARS_MAX * 4 + FILES_TEXT_MAX);
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

static void notify_files(struct buf *told, const struct output *o)
{
    if (o->file_count > 0)
        (void)buf_adds(told, told->len > 0 ? "\n\nGenerated files:\n" : "Generated files:\n");
    for (size_t i = 0; i < o->file_count; i++) {
        const char *path = o->files[i].path, *name = strrchr(path, '/') + 1;
        (void)buf_addf(told, "\n- [%.*s](%s)", (int)strcspn(name, "."), name, path);
    }
}

const char *background_tell(struct background_output *late)
{
    struct output *o = &late->output;
    if (!late->any)
        return "";
    output_finish(o);
    (void)buf_add(&late->told, buf_text(&o->text), o->text.len);
    if (o->truncated)
        (void)buf_adds(&late->told, "\n[more output followed and was dropped]\n");
    notify_files(&late->told, o);
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
