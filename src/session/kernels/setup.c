/* SPDX-License-Identifier: Apache-2.0 */
#include "session/kernels/setup.h"

#include <string.h>

#include "base/buf.h"
#include "base/json/jsonw.h"

/* What Python looks at once, when it starts, and never again. ipybox_kernel/forking.py does the
 * same in a fork. The list's names are its own. */
static const struct {
    const char *name, *code;
} afterwards[] = {
    {"TZ", "__import__('time').tzset()\n"},
    {"PYTHONPATH",
     "__import__('sys').path[:0] = [path for path in "
     "__import__('os').environ['PYTHONPATH'].split(__import__('os').pathsep) if path]\n"},
};

static bool is_given(const struct json *env, const char *prefix, const char *name)
{
    return strncmp(name, prefix, strlen(prefix)) == 0 && json_get_text(env, name);
}

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
    for (size_t i = 0; i < sizeof afterwards / sizeof *afterwards; i++)
        if (is_given(env, prefix, afterwards[i].name))
            (void)buf_adds(&code, afterwards[i].code);
    if (cwd && *cwd) {
        (void)buf_adds(&code, "__import__('sys').path.append(__import__('os').getcwd())\n"
                              "__import__('os').chdir(");
        struct jsonw directory = JSONW(&code);
        jsonw_text(&directory, cwd);
        (void)buf_adds(&code, ")\n");
    }
    if (code.failed)
        return err_set(e, code.failed, "the kernel's environment is too large");
    *ret = buf_take(&code);
    return 0;
}
