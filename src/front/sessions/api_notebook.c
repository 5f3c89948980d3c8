/* SPDX-License-Identifier: Apache-2.0
 *
 * /v1/sessions/{id}/notebook: the cells of a session with what came of them, as a document. */
#include <string.h>

#include "base/alloc.h"
#include "front/api.h"
#include "front/sessions/api_session.h"
#include "session/history/notebook.h"

void notebook_get(void *ctx, struct http_request *r)
{
    const char *format = http_query(r, "format");
    const bool script = format && strcmp(format, "py") == 0;
    const struct api_session *api_session = api_session_of(ctx, r);
    if (!api_session)
        return;
    if (format && !script && strcmp(format, "ipynb") != 0) {
        http_problem(r, 400, NULL, 0, "format: ipynb or py is needed");
        return;
    }
    drop_buf struct buf body = BUF_INIT(NOTEBOOK_MAX);
    (script ? notebook_put_script : notebook_put)(&body, session_history(api_session->session),
                                                  api_session->id);
    if (body.failed) {
        http_problem(r, 500, NULL, 0, "the notebook is too long");
        return;
    }
    drop_str char *name =
        xasprintf("attachment; filename=\"%s.%s\"", api_session->id, script ? "py" : "ipynb");
    const struct http_header headers[] = {
        {"Content-Type", script ? NOTEBOOK_SCRIPT_TYPE : NOTEBOOK_TYPE},
        {"Content-Disposition", name},
        {"X-Content-Type-Options", "nosniff"}};
    http_answer(r, 200, headers, 3, buf_text(&body), body.len);
}
