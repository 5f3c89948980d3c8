/* SPDX-License-Identifier: Apache-2.0 */
#include "front/apps/app_cell.h"

#include <string.h>

#include "base/text/utf8.h"

static void put_variable_text(struct jsonw *w, const struct json *variable, const char *name)
{
    const char *text = json_get_text(variable, name);
    jsonw_name(w, name);
    jsonw_text_begin(w);
    if (text)
        jsonw_text_part(w, text, utf8_offset(text, strlen(text), APP_TEXT_MAX));
    jsonw_text_end(w);
}

static void put_variables(struct jsonw *w, const struct json *variables)
{
    size_t n = 0;
    if (!variables)
        return;
    jsonw_set_array(w, "variables");
    for (const struct json *v = json_first(variables); v && n < APP_VARIABLES_MAX;
         v = json_next(v)) {
        if (!json_get_text(v, "name"))
            continue;
        jsonw_object(w);
        put_variable_text(w, v, "name");
        put_variable_text(w, v, "type");
        put_variable_text(w, v, "value");
        jsonw_end(w);
        n++;
    }
    jsonw_end(w);
}

static void put_cell_files(struct jsonw *w, const struct output *o)
{
    jsonw_set_array(w, "files");
    for (size_t i = 0; i < o->file_count && i < APP_FILES_MAX; i++) {
        jsonw_object(w);
        jsonw_set_text(w, "path", o->files[i].path);
        jsonw_set_text(w, "mime", o->files[i].mime);
        jsonw_end(w);
    }
    jsonw_end(w);
}

void app_cell_put(struct jsonw *w, const struct cell_result *r, const struct history *history)
{
    jsonw_object(w);
    jsonw_set_text(w, "status", cell_status_names[r->status]);
    if (*r->reason)
        jsonw_set_text(w, "reason", r->reason);
    if (r->number > 0) { /* else it has not run, and the newest cell is another one */
        jsonw_name(w, "outputs");
        history_put_outputs(w, history, HISTORY_SESSION, APP_OUTPUTS_MAX);
    }
    put_cell_files(w, r->output);
    put_variables(w, r->variables);
    jsonw_end(w);
}
