/* SPDX-License-Identifier: Apache-2.0 */
#include "session/queue/late.h"

#include <string.h>

#include "output/collect.h"

enum { FILES_TEXT_MAX = 256 << 10 };

static void begin_late(struct late *late)
{
    output_init(&late->output, late->workspace, LATE_CHARS_MAX, 0);
    late->output.late = true;
    late->output.files_max = LATE_FILES_MAX;
    late->output.saved_max = LATE_BYTES_MAX;
    late->any = false;
}

void late_init(struct late *late, const char *workspace)
{
    *late = (struct late){.workspace = workspace};
    late->told = BUF_INIT(LATE_CHARS_MAX * 4 + FILES_TEXT_MAX);
    begin_late(late);
}

void late_done(struct late *late)
{
    output_done(&late->output);
    buf_done(&late->told);
}

void late_message(struct late *late, const struct jupyter_msg *m)
{
    if (m->type == JUPYTER_CLEAR_OUTPUT)
        return;
    late->any = true;
    collect(&late->output, m, NULL, NULL);
}

void late_text(struct late *late, const char *text)
{
    late->any = true;
    output_text(&late->output, text, strlen(text));
}

static void tell_files(struct buf *told, const struct output *o)
{
    if (o->file_count > 0)
        (void)buf_adds(told, told->len > 0 ? "\n\nGenerated files:\n" : "Generated files:\n");
    for (size_t i = 0; i < o->file_count; i++) {
        const char *path = o->files[i].path, *name = strrchr(path, '/') + 1;
        (void)buf_addf(told, "\n- [%.*s](%s)", (int)strcspn(name, "."), name, path);
    }
}

const char *late_tell(struct late *late)
{
    struct output *o = &late->output;
    if (!late->any)
        return "";
    output_finish(o);
    (void)buf_add(&late->told, buf_text(&o->text), o->text.len);
    if (o->truncated)
        (void)buf_adds(&late->told, "\n[more output followed and was dropped]\n");
    tell_files(&late->told, o);
    return buf_text(&late->told);
}

void late_told(struct late *late)
{
    if (!late->any)
        return;
    output_done(&late->output);
    buf_clear(&late->told);
    begin_late(late);
}

void late_drop(struct late *late)
{
    output_clear(&late->output, false);
    late_told(late);
}
