/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/apigen.h"

#include <string.h>

#include "apigen/emit/emit.h"
#include "apigen/emit/imports.h"
#include "apigen/emit/summary.h"
#include "apigen/model/model.h"
#include "apigen/model/names.h"
#include "base/alloc.h"

enum { MODULE_BYTES_MAX = 4 << 20, MODULE_NAME_MAX = 200, SUMMARIES_BYTES_MAX = 1 << 20 };

/* --- names of modules ------------------------------------------------------------------------ */

/* A name that `from package import name` takes and that is no attribute of the package. */
static char *usable_name(struct arena *a, const char *tool)
{
    char *name = name_module(a, tool);
    size_t n = strlen(name);
    if (n > MODULE_NAME_MAX)
        name[n = MODULE_NAME_MAX] = '\0';
    bool dunder = n >= 4 && strncmp(name, "__", 2) == 0 && strcmp(name + n - 2, "__") == 0;
    if (n == 0)
        return arena_textf(a, "tool");
    if (name[0] >= '0' && name[0] <= '9')
        return arena_textf(a, "tool_%s", name);
    return name_is_keyword(name) || dunder ? arena_textf(a, "%s_tool", name) : name;
}

/* Tools whose name needs no change have it, whatever else the list holds; then come the others. */
static void name_modules(struct arena *a, const struct apigen_tool *tools, size_t n,
                         const char **names)
{
    struct naming naming = {0};
    for (int changed = 0; changed < 2; changed++) {
        for (size_t i = 0; i < n; i++) {
            const char *name = usable_name(a, tools[i].name);
            bool exact = strcmp(name, tools[i].name) == 0 && !naming_has(&naming, name);
            if (!names[i] && (exact || changed))
                names[i] = naming_new(a, &naming, name, "_", 2);
        }
    }
}

struct module_names {
    const char *module, *shown;
};

/* Without its underscores: what a name in words and its module have in common. */
static char *squash(struct arena *a, const char *name)
{
    char *squashed = arena_get(a, strlen(name) + 1), *to = squashed;
    for (; *name; name++)
        if (*name != '_')
            *to++ = *name;
    return squashed;
}

/* How modules are shown: by the words of their tools, where lower case has run them together and
 * no other module is meant (ipybox_tools.discovery finds the module of such a name). */
static void show_names(struct arena *a, const struct apigen_tool *tools, size_t n,
                       char *const *modules, char **ret)
{
    struct set once = {0}, twice = {0};
    for (size_t i = 0; i < n; i++) {
        char *key = squash(a, modules[i]);
        set_put(a, set_has(&once, key) ? &twice : &once, key, key);
    }
    for (size_t i = 0; i < n; i++) {
        bool plain = strcmp(name_module(a, tools[i].name), modules[i]) == 0 &&
                     !set_has(&twice, squash(a, modules[i]));
        ret[i] = xstrdup(plain ? name_words(a, tools[i].name) : modules[i]);
    }
}

/* --- a module -------------------------------------------------------------------------------- */

static const char *result_name(const struct apigen_tool *tool)
{
    return tool->output ? "Result" : "str";
}

/* run() and arun(): the runtime checks the arguments and makes the result. */
static void put_module_call(struct buf *out, const struct apigen_tool *tool)
{
    (void)buf_adds(out, "\n\nrun, arun = CLIENT.functions(");
    put_text(out, tool->name);
    (void)buf_addf(out, ", Params, %s, __doc__)\n", result_name(tool));
}

/* Python looks for the encoding of a file in comments of its first two lines (PEP 263): nothing of
 * a stranger's may stand there. */
static void put_module_head(struct buf *out, const struct apigen_tool *tool, const char *module,
                            bool cut)
{
    struct arena a = {0};
    struct buf quoted = BUF_INIT(MODULE_BYTES_MAX);
    (void)buf_addf(out, "# A tool of an MCP server: run(NAME=VALUE) -> %s, arun()\n",
                   result_name(tool));
    if (strcmp(name_module(&a, tool->name), module) != 0) {
        put_text(&quoted, tool->name);
        (void)buf_adds(out, "#\n# Name: ");
        put_comment(out, buf_text(&quoted));
        (void)buf_addf(
            out, "\n# The module is called %s: the plain name is taken or no name in Python.\n",
            module);
    }
    if (cut)
        (void)buf_adds(out, "# The schema is larger than what is typed here: the rest is Any, and "
                            "classes take\n# arguments that they do not name.\n");
    if (tool->description && *tool->description) {
        put_docstring(out, tool->description, 0);
        (void)buf_adds(out, "\n\n");
    }
    (void)buf_adds(out, "from __future__ import annotations\n\n");
    buf_done(&quoted);
    arena_done(&a);
}

/* Names of classes that the module needs for something else. */
static void reserve_names(struct model_making *m, bool result)
{
    static const char *const imported[] = {"CLIENT", "ToolOutput", "BaseModel",  "Field",
                                           "Enum",   "IntEnum",    "ConfigDict", "RootModel",
                                           "Any",    "Literal",    "Annotated",  "Optional"};
    for (size_t i = 0; i < sizeof(imported) / sizeof *imported; i++)
        set_put(&m->arena, &m->library, imported[i], NULL);
    naming_take(&m->arena, &m->names, "Params");
    if (result)
        naming_take(&m->arena, &m->names, "Result");
}

/* Places of schemas that may still be looked at. Results have their own, so that large results
 * cost no tool its arguments. */
struct schema_budget {
    size_t inputs, outputs;
};

static struct model *make_within(struct model_making *m, const struct json *schema,
                                 const char *name, size_t *budget)
{
    size_t before = m->work;
    m->work_max = before + (*budget < APIGEN_WORK_MAX ? *budget : APIGEN_WORK_MAX);
    struct model *model = model_make(m, schema, name);
    size_t used = m->work - before;
    *budget -= used < *budget ? used : *budget;
    return model;
}

/* Sticky in the buffers when it is too large. */
static void put_module(struct buf *out, struct buf *summary, const struct apigen_tool *tool,
                       const struct module_names *names, struct schema_budget *budget)
{
    struct model_making m = {0};
    struct buf body = BUF_INIT(MODULE_BYTES_MAX);
    reserve_names(&m, tool->output);
    struct model *params = make_within(&m, tool->input, "Params", &budget->inputs);
    struct model *result =
        tool->output ? make_within(&m, tool->output, "Result", &budget->outputs) : NULL;
    imports_prepare(&m);
    put_summary(summary, names->shown, params, result ? "Result" : "str", tool->description);
    emit_model(&m, &body, params);
    if (result)
        emit_model(&m, &body, result);
    put_module_head(out, tool, names->module, m.cut);
    put_imports(&m, out);
    if (body.failed)
        out->failed = body.failed;
    (void)buf_adds(out, buf_text(&body));
    emit_rebuilds(&m, out);
    put_module_call(out, tool);
    buf_done(&body);
    arena_done(&m.arena);
}

static struct json *any_object(void)
{
    static const char untyped[] = "{\"type\":\"object\",\"additionalProperties\":true}";
    return json_parse_copy(untyped, sizeof(untyped) - 1, JSON_STRICT, NULL);
}

/* A tool whose module would be too large gets one without types. */
static int make_module(const struct apigen_tool *tool, const struct module_names *names,
                       struct schema_budget *budget, struct buf *summaries, char **ret,
                       struct err *e)
{
    drop_json struct json *any = any_object();
    struct apigen_tool plain = *tool;
    plain.input = json_is_null(tool->input) || !tool->input ? any : tool->input;
    plain.output = json_is_null(tool->output) ? NULL : tool->output;
    drop_buf struct buf text = BUF_INIT(MODULE_BYTES_MAX);
    drop_buf struct buf summary = BUF_INIT(MODULE_BYTES_MAX);
    put_module(&text, &summary, &plain, names, budget);
    if (text.failed == -EMSGSIZE) {
        buf_done(&text);
        buf_done(&summary);
        text = summary = BUF_INIT(MODULE_BYTES_MAX);
        plain = (struct apigen_tool){.name = tool->name, .input = any};
        plain.output = tool->output && !json_is_null(tool->output) ? any : NULL;
        put_module(&text, &summary, &plain, names, budget);
    }
    if (text.failed)
        return err_set(e, text.failed, "module %s: %s", names->module, strerror(-text.failed));
    if (summaries->len + summary.len <= SUMMARIES_BYTES_MAX)
        (void)buf_adds(summaries, buf_text(&summary));
    *ret = buf_take(&text);
    return 0;
}

/* --- the package ----------------------------------------------------------------------------- */

/* Its docstring is what help() shows and what ipybox_tools.discovery searches. */
static char *init_text(const char *server_name, size_t n, struct buf *summaries)
{
    drop_buf struct buf text = BUF_INIT(MODULE_BYTES_MAX);
    drop_buf struct buf doc = BUF_INIT(MODULE_BYTES_MAX);
    (void)buf_adds(&text, "# Tools of an MCP server: one module each. Generated, but for what "
                          "stands below the last line.\n");
    (void)buf_addf(&doc, "%zu tool%s of an MCP server, called by keywords: TOOL(name=value).\n\n%s",
                   n, n == 1 ? "" : "s", buf_text(summaries));
    put_docstring(&text, buf_text(&doc), 0);
    (void)buf_adds(&text, "\nfrom ipybox_tools import ToolOutput, ToolRunner, lazy_package\n\n"
                          "__all__ = [\"CLIENT\", \"ToolOutput\"]\n\n"
                          "CLIENT = ToolRunner(server_name=");
    put_text(&text, server_name);
    (void)buf_adds(&text, ")\n__getattr__, __dir__ = lazy_package(__name__)\n");
    return buf_take(&text);
}

const char *apigen_root_text(void)
{
    return "# Made once, and not again when it is there: it may be changed.\n"
           "\"\"\"Tools of MCP servers, a package each.\n\n"
           "search(\"words\")  finds tools of all servers, a line each\n"
           "servers()        lists the servers\n"
           "help(mcptools.NAME) and its docstring have a line a tool of one server.\n"
           "\"\"\"\n\n"
           "from pkgutil import extend_path\n\n"
           "from ipybox_tools import lazy_root\n\n"
           "__path__ = extend_path(__path__, __name__)\n"
           "__getattr__, __dir__ = lazy_root(__name__)\n";
}

struct apigen_work {
    char *server_name;
    const struct apigen_tool *tools;
    char **modules;
    char **shown;   /* how a line calls them */
    size_t n, made; /* made: files */
    size_t bytes;   /* of all */
    struct schema_budget budget;
    struct buf summaries; /* a line per tool */
};

struct apigen_work *apigen_begin(const char *server_name, const struct apigen_tool *tools, size_t n)
{
    struct arena a = {0};
    struct apigen_work *work = NEW(struct apigen_work);
    *work = (struct apigen_work){.server_name = xstrdup(server_name),
                                 .tools = tools,
                                 .modules = xcalloc(n + 1, sizeof(char *)),
                                 .shown = xcalloc(n + 1, sizeof(char *)),
                                 .n = n,
                                 .budget = {APIGEN_PACKAGE_WORK_MAX, APIGEN_PACKAGE_WORK_MAX},
                                 .summaries = BUF_INIT(MODULE_BYTES_MAX)};
    const char **names = arena_get(&a, n * sizeof(*names));
    name_modules(&a, tools, n, names);
    for (size_t i = 0; i < n; i++)
        work->modules[i] = xstrdup(names[i]);
    show_names(&a, tools, n, work->modules, work->shown);
    arena_done(&a);
    return work;
}

static int make_init(struct apigen_work *work, struct apigen_file *ret, struct err *e)
{
    char *text = init_text(work->server_name, work->n, &work->summaries);
    if (!text)
        return err_set(e, -EMSGSIZE, "the server's name is too long");
    *ret = (struct apigen_file){.name = xstrdup("__init__.py"), .text = text};
    work->made++;
    return 1;
}

int apigen_next(struct apigen_work *work, struct apigen_file *ret, struct err *e)
{
    size_t i = work->made;
    char *text = NULL;
    if (i > work->n)
        return 0;
    if (i == work->n)
        return make_init(work, ret, e);
    const struct module_names names = {work->modules[i], work->shown[i]};
    int r = make_module(&work->tools[i], &names, &work->budget, &work->summaries, &text, e);
    if (r < 0)
        return r;
    work->bytes += strlen(text);
    if (work->bytes > APIGEN_BYTES_MAX) {
        xfree(text);
        return err_set(e, -EMSGSIZE, "the package is over %zu bytes", APIGEN_BYTES_MAX);
    }
    *ret = (struct apigen_file){.name = xasprintf("%s.py", work->modules[i]), .text = text};
    work->made++;
    return 1;
}

char *const *apigen_modules(const struct apigen_work *work)
{
    return work->modules;
}

void apigen_put_summary(const struct apigen_work *work, size_t i, struct buf *out)
{
    const struct apigen_tool *tool = &work->tools[i];
    drop_json struct json *any = any_object();
    struct model_making m = {0};
    size_t budget = APIGEN_WORK_MAX;
    bool structured = tool->output && !json_is_null(tool->output);
    bool typed = tool->input && !json_is_null(tool->input);
    reserve_names(&m, structured);
    put_summary(out, work->shown[i], make_within(&m, typed ? tool->input : any, "Params", &budget),
                structured ? "Result" : "str", tool->description);
    arena_done(&m.arena);
}

struct apigen_work *apigen_end(struct apigen_work *work)
{
    if (!work)
        return NULL;
    for (size_t i = 0; work->modules && i < work->n; i++)
        xfree(work->modules[i]);
    for (size_t i = 0; i < work->n; i++)
        xfree(work->shown[i]);
    xfree(work->modules);
    xfree(work->shown);
    xfree(work->server_name);
    buf_done(&work->summaries);
    xfree(work);
    return NULL;
}

void apigen_file_done(struct apigen_file *file)
{
    xfree(file->name);
    xfree(file->text);
    *file = (struct apigen_file){0};
}

int apigen_package(const char *server_name, const struct apigen_tool *tools, size_t n,
                   struct apigen_package *ret, struct err *e)
{
    struct apigen_work *work = apigen_begin(server_name, tools, n);
    struct apigen_package p = {.files = xcalloc(n + 1, sizeof(*p.files)), .n_files = n + 1};
    int r = 1;
    for (size_t i = 0; i <= n && r > 0; i++)
        r = apigen_next(work, &p.files[i < n ? i + 1 : 0], e);
    p.modules = work->modules;
    p.n_modules = n;
    work->modules = NULL;
    (void)apigen_end(work);
    if (r < 0)
        apigen_package_done(&p);
    else
        *ret = p;
    return r < 0 ? r : 0;
}

void apigen_package_done(struct apigen_package *package)
{
    for (size_t i = 0; i < package->n_files; i++)
        apigen_file_done(&package->files[i]);
    for (size_t i = 0; i < package->n_modules; i++)
        xfree(package->modules[i]);
    xfree(package->files);
    xfree(package->modules);
    *package = (struct apigen_package){0};
}
