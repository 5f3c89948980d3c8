/* SPDX-License-Identifier: Apache-2.0 */
#include "session/setup.h"

#include <string.h>

#include "base/buf.h"
#include "base/jsonw.h"

/* JSON's texts are Python's, too. */
int setup_code(const struct json *env, const char *prefix, const char *cwd, char **ret,
               struct err *e)
{
    drop_buf struct buf code = BUF_INIT(SETUP_CODE_MAX);
    (void)buf_adds(&code, "__import__('os').environ.update(");
    struct jsonw w = JSONW(&code);
    jsonw_object(&w);
    for (const struct json *item = json_first(env); item; item = json_next(item)) {
        const char *name = json_name(item);
        if (name && strncmp(name, prefix, strlen(prefix)) == 0 && json_text(item))
            jsonw_set_text(&w, name, json_text(item));
    }
    jsonw_end(&w);
    (void)buf_adds(&code, ")\n");
    if (cwd && *cwd) {
        (void)buf_adds(&code, "__import__('os').chdir(");
        struct jsonw directory = JSONW(&code);
        jsonw_text(&directory, cwd);
        (void)buf_adds(&code, ")\n");
    }
    if (code.failed)
        return err_set(e, code.failed, "the kernel's environment is too large");
    *ret = buf_take(&code);
    return 0;
}
