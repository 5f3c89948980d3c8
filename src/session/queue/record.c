/* SPDX-License-Identifier: Apache-2.0 */
#include "session/queue/record.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json/jsonw.h"
#include "base/text/utf8.h"

enum {
    REASON_MAX = 16384,
    END_MAX = 1 << 20,       /* bytes of the data of "end" */
    END_TEXT_MAX = 64 << 10, /* bytes of the texts in it; of longer ones the result is asked for */
    END_FILES_MAX = 64,
};

struct eventlog *record_open(const struct session_config *config)
{
    if (config->event_memory == 0)
        return NULL;
    return eventlog_open(&(struct eventlog_config){.loop = config->kernel.loop,
                                                   .memory_max = config->event_memory,
                                                   .data_max = config->event_data,
                                                   .spill_dir = config->event_dir,
                                                   .spill_max = config->event_spill,
                                                   .apart = config->event_apart,
                                                   .spill_for_readers = config->event_for_readers});
}

struct history *record_open_history(const struct session_config *config)
{
    return history_open(&(struct history_config){.loop = config->kernel.loop,
                                                 .memory_max = config->history_memory,
                                                 .spill_dir = config->event_dir,
                                                 .spill_max = config->history_spill});
}

void record_result(struct cell_result *result)
{
    const char **const texts[] = {&result->ename, &result->evalue, &result->traceback,
                                  &result->reason, &result->last_words};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = *texts[i] ? *texts[i] : "";
}

void record_kernel(struct eventlog *log, const char *state, const char *reason)
{
    drop_buf struct buf text = BUF_INIT(REASON_MAX);
    struct jsonw w = JSONW(&text);
    if (!log)
        return;
    jsonw_object(&w);
    jsonw_set_text(&w, "state", state);
    jsonw_set_text(&w, "reason", reason);
    jsonw_end(&w);
    eventlog_add(log, &(struct logged){.kind = LOGGED_KERNEL, .data = text.data, .n = text.len});
}

void record_begin(struct eventlog *log, uint64_t cell, const struct request_context *origin,
                  struct slice code)
{
    if (!log)
        return;
    drop_buf struct buf text = BUF_INIT(7 * RECORD_CODE_MAX); /* \uXXXX for each byte */
    struct jsonw w = JSONW(&text);
    jsonw_object(&w);
    jsonw_name(&w, "code");
    if (code.len <= RECORD_CODE_MAX) {
        jsonw_text_n(&w, code.data, code.len);
    } else {
        jsonw_text_n(&w, code.data, utf8_valid_prefix(code.data, RECORD_CODE_MAX));
        jsonw_set_bool(&w, "truncated", true);
    }
    if (*origin->client)
        jsonw_set_text(&w, "client", origin->client);
    jsonw_end(&w);
    eventlog_add(log, &(struct logged){
                          .kind = LOGGED_BEGIN, .cell = cell, .data = text.data, .n = text.len});
}

const char *const cell_status_names[] = {
    [CELL_OK] = "ok",           [CELL_ERROR] = "error",     [CELL_TIMEOUT] = "timeout",
    [CELL_LOST] = "lost",       [CELL_STOPPED] = "stopped", [CELL_CANCELLED] = "cancelled",
    [CELL_REFUSED] = "refused",
};

static void put_end_error(struct jsonw *w, const struct cell_result *result)
{
    if (!*result->ename)
        return;
    jsonw_set_object(w, "error");
    jsonw_set_text(w, "ename", result->ename);
    jsonw_set_text(w, "evalue", result->evalue);
    jsonw_set_text(w, "traceback", result->traceback);
    if (result->error_file)
        jsonw_set_text(w, "file", result->error_file);
    jsonw_end(w);
}

static void put_end_files(struct jsonw *w, const struct output *o)
{
    jsonw_set_array(w, "files");
    for (size_t i = 0; i < o->file_count; i++) {
        jsonw_object(w);
        jsonw_set_text(w, "path", o->files[i].path);
        jsonw_set_text(w, "mime", o->files[i].mime);
        jsonw_end(w);
    }
    jsonw_end(w);
}

/* What a follower would else have to ask for, where it is short. */
static void put_outcome(struct jsonw *w, const struct cell_result *result)
{
    const struct output *o = result->output;
    size_t error = strlen(result->evalue) + strlen(result->traceback);
    if (!o || o->text.len + error > END_TEXT_MAX || o->file_count > END_FILES_MAX)
        return;
    put_end_error(w, result);
    jsonw_name(w, "text");
    jsonw_text_n(w, buf_text(&o->text), o->text.len);
    jsonw_set_bool(w, "truncated", o->truncated);
    if (o->file)
        jsonw_set_text(w, "output_file", o->file);
    put_end_files(w, o);
}

/* A timeout is soft when the interrupt was enough, hard when it took the kernel along. */
void record_end(struct eventlog *log, const struct cell_result *result)
{
    drop_buf struct buf text = BUF_INIT(END_MAX);
    struct jsonw w = JSONW(&text);
    if (!log)
        return;
    jsonw_object(&w);
    jsonw_set_text(&w, "status", cell_status_names[result->status]);
    if (result->status == CELL_TIMEOUT)
        jsonw_set_text(&w, "timeout", result->kernel_replaced ? "hard" : "soft");
    if (*result->reason)
        jsonw_set_text(&w, "reason", result->reason);
    if (result->kernel_replaced)
        jsonw_set_bool(&w, "kernel_replaced", true);
    put_outcome(&w, result);
    jsonw_end(&w);
    eventlog_add(log,
                 &(struct logged){
                     .kind = LOGGED_END, .cell = result->number, .data = text.data, .n = text.len});
}

/* What the kernel could not say itself, because it was gone. */
void record_history_end(struct history *history, const struct cell_result *result)
{
    const char *error = !result->kernel_replaced         ? NULL
                        : result->status == CELL_TIMEOUT ? "TimeoutError"
                                                         : "KernelDied";
    history_end(history, HISTORY_SESSION, cell_status_names[result->status], error, result->reason);
}

bool record_message(struct eventlog *log, uint64_t cell, bool late, const struct jupyter_msg *m)
{
    static const enum logged_kind kinds[JUPYTER__COUNT] = {
        [JUPYTER_DISPLAY_DATA] = LOGGED_DISPLAY,
        [JUPYTER_CLEAR_OUTPUT] = LOGGED_CLEAR,
        [JUPYTER_UPDATE_DISPLAY_DATA] = LOGGED_UPDATE,
        [JUPYTER_EXECUTE_RESULT] = LOGGED_RESULT,
        [JUPYTER_ERROR] = LOGGED_ERROR,
    };
    struct logged event = {.cell = cell, .late = late};
    if (!log)
        return false;
    if (m->type == JUPYTER_STREAM) {
        const char *name = json_get_text(m->content, "name");
        event.kind = name && strcmp(name, "stderr") == 0 ? LOGGED_STDERR : LOGGED_STDOUT;
        event.data = json_get_text(m->content, "text");
        event.n = event.data ? strlen(event.data) : 0;
        eventlog_add(log, &event);
        return true;
    }
    return kinds[m->type] == LOGGED_BEGIN ||
           eventlog_add_json(log, kinds[m->type], cell, late, m->content);
}

int record_audit_begin(const struct session_config *config, uint64_t cell,
                       const struct request_context *origin, struct slice code, struct err *e)
{
    int r = audit_check(config->audit, e);
    struct audit_event event = {.kind = AUDIT_CELL,
                                .session = config->id,
                                .cell = cell,
                                .request_id = origin->request_id,
                                .trace_id = origin->trace.id,
                                .code = code.data,
                                .code_len = code.len};
    if (r == 0 && audit_add(config->audit, &event) < 0)
        r = audit_check(config->audit, e);
    return r;
}

void record_audit_end(const struct session_config *config, uint64_t cell, const char *request_id,
                      enum cell_status status, int64_t ms)
{
    (void)audit_add(config->audit, &(struct audit_event){.kind = AUDIT_CELL_END,
                                                         .session = config->id,
                                                         .cell = cell,
                                                         .request_id = request_id,
                                                         .outcome = cell_status_names[status],
                                                         .timed = true,
                                                         .ms = ms});
}
