/* SPDX-License-Identifier: Apache-2.0
 *
 * What a session's kernel is asked beside its cells. No kernel is started for it. */
#include "base/json/jsonw.h"
#include "session/queue/session_internal.h"

enum { QUESTION_CODE_MAX = 4 << 20 };

static void put_question(struct buf *out, enum question_kind kind, const char *code, size_t cursor)
{
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    if (kind != QUESTION_VARIABLES) {
        jsonw_set_text(&w, "code", code);
        jsonw_set_int(&w, "cursor_pos", (int64_t)cursor);
    }
    if (kind == QUESTION_INSPECT)
        jsonw_set_int(&w, "detail_level", 0);
    jsonw_end(&w);
}

int session_ask(struct session *s, enum question_kind kind, const char *code, size_t cursor,
                question_fn fn, void *ctx, struct kernel_question **ret, struct err *e)
{
    if (!s->kernel || is_session_starting(s->state))
        return err_set(e, -EBUSY, "the session has no kernel that is up");
    if (s->paused)
        return err_set(e, -EBUSY, "the session is paused");
    if (s->queue && kind != QUESTION_VARIABLES)
        return err_set(e, -EBUSY, "a cell runs: the kernel answers when it has ended");
    drop_buf struct buf content = BUF_INIT(QUESTION_CODE_MAX);
    put_question(&content, kind, code, cursor);
    if (content.failed)
        return err_set(e, -EMSGSIZE, "code: it is too long");
    return kernel_ask(s->kernel, kind, (struct slice){content.data, content.len}, fn, ctx, ret, e);
}
