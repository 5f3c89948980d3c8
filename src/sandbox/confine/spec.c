/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/confine/spec.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "base/json/jsonw.h"
#include "base/text/utf8.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

const struct sandbox_spec sandbox_walls = {.level = SANDBOX_NONE};

struct read_spec {
    struct sandbox_spec spec; /* the first member */
    struct json *json;        /* its texts are the spec's */
    const char **dirs, **sockets, **places, **hidden, **kept;
    uint16_t *ports;
};

/* --- writing -------------------------------------------------------------------------------- */

static void put_texts(struct jsonw *w, const char *name, const char *const *items)
{
    jsonw_set_array(w, name);
    for (; items && *items; items++)
        jsonw_text(w, *items);
    jsonw_end(w);
}

static void put_place(struct jsonw *w, const struct sandbox_spec *spec)
{
    jsonw_set_text(w, "settings", spec->settings);
    jsonw_set_text(w, "cwd", spec->cwd);
    jsonw_set_text(w, "home", spec->home);
    put_texts(w, "sockets", spec->unix_sockets);
    jsonw_set_array(w, "ports");
    for (const uint16_t *port = spec->ports; port && *port; port++)
        jsonw_int(w, *port);
    jsonw_end(w);
}

static int print_spec(const struct sandbox_spec *spec, struct buf *out)
{
    const struct sandbox_limits *limits = &spec->limits;
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    if (spec->settings)
        put_place(&w, spec);
    else
        jsonw_set_bool(&w, "walls", true);
    put_texts(&w, "private", spec->private_dirs);
    put_texts(&w, "places", spec->disk_places);
    put_texts(&w, "hidden", spec->hidden);
    put_texts(&w, "kept", spec->kept);
    jsonw_set_text(&w, "level", sandbox_level_name(spec->level));
    jsonw_set_bool(&w, "distrusts_cwd", spec->distrusts_cwd);
    jsonw_set_bool(&w, "terminals", spec->terminals);
    jsonw_set_text(&w, "options", spec->options ? spec->options : "kernel");
    jsonw_set_object(&w, "limits");
    jsonw_set_int(&w, "tasks", limits->tasks);
    jsonw_set_int(&w, "files", limits->files);
    jsonw_set_int(&w, "file_size", (int64_t)limits->file_size);
    jsonw_set_int(&w, "memory", (int64_t)limits->memory);
    jsonw_set_int(&w, "disk", (int64_t)limits->disk);
    jsonw_set_int(&w, "cpu", limits->cpu);
    jsonw_end(&w);
    jsonw_end(&w);
    return out->failed;
}

static bool all_text(const char *const *items)
{
    for (; items && *items; items++)
        if (!utf8_valid(*items, strlen(*items)))
            return false;
    return true;
}

/* The reader would refuse it, long after. */
static bool too_many(const char *const *items)
{
    size_t n = 0;
    while (items && items[n])
        n++;
    return n > SANDBOX_SPEC_LIST_MAX;
}

int sandbox_spec_write(const struct sandbox_spec *spec, int *ret_fd, struct err *e)
{
    drop_buf struct buf text = BUF_INIT(SANDBOX_SPEC_MAX);
    const char *const own[] = {spec->settings, spec->cwd, spec->home, NULL};
    /* JSON would carry another name, and the rules would be those of another place. */
    if (!all_text(own) || !all_text(spec->private_dirs) || !all_text(spec->unix_sockets) ||
        !all_text(spec->disk_places) || !all_text(spec->hidden) || !all_text(spec->kept))
        return err_set(e, -EILSEQ, "a sandbox needs paths that are UTF-8");
    if (too_many(spec->hidden) || too_many(spec->kept) || too_many(spec->private_dirs))
        return err_set(e, -E2BIG, "a sandbox takes at most %d places of a kind",
                       SANDBOX_SPEC_LIST_MAX);
    int r = print_spec(spec, &text);
    if (r < 0)
        return err_set(e, r, "the sandbox's settings are too large");
    drop_fd int fd = memfd_create("sandbox", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return err_set(e, -errno, "memfd_create: %s", strerror(errno));
    r = fd_write(fd, buf_text(&text), text.len);
    if (r == 0 && (lseek(fd, 0, SEEK_SET) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0))
        r = -errno;
    if (r < 0)
        return err_set(e, r, "write the sandbox's settings: %s", strerror(-r));
    *ret_fd = fd_take(&fd);
    return 0;
}

/* --- reading -------------------------------------------------------------------------------- */

static int bad(const char *name, struct err *e)
{
    return err_set(e, -EINVAL, "the sandbox's description: %s", name);
}

static int read_spec_text(int fd, struct buf *text, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_set(e, -errno, "the sandbox's description: %s", strerror(errno));
    if (st.st_size <= 0 || (size_t)st.st_size > SANDBOX_SPEC_MAX)
        return bad("its size", e);
    size_t size = (size_t)st.st_size;
    if (buf_reserve(text, size) < 0)
        return err_set(e, text->failed, "the sandbox's description: no memory");
    while (text->len < size) {
        ssize_t n = pread(fd, text->data + text->len, size - text->len, (off_t)text->len);
        if (n <= 0)
            return bad("it cannot be read", e);
        text->len += (size_t)n;
    }
    return 0;
}

static int take_texts(const struct json *object, const char *name, const char ***ret, struct err *e)
{
    const struct json *list = json_get(object, name);
    size_t n = json_count(list);
    if (!json_is_array(list) || n > SANDBOX_SPEC_LIST_MAX)
        return bad(name, e);
    *ret = xcalloc(n + 1, sizeof **ret);
    size_t at = 0;
    for (const struct json *item = json_first(list); item; item = json_next(item)) {
        (*ret)[at] = json_text(item);
        if (!(*ret)[at++])
            return bad(name, e);
    }
    return 0;
}

static int take_ports(struct read_spec *s, struct err *e)
{
    const struct json *list = json_get(s->json, "ports");
    size_t n = json_count(list);
    if (!json_is_array(list) || n > SANDBOX_SPEC_LIST_MAX)
        return bad("ports", e);
    s->ports = xcalloc(n + 1, sizeof *s->ports);
    size_t at = 0;
    for (const struct json *item = json_first(list); item; item = json_next(item)) {
        double port = json_number(item);
        if (port < 1 || port > UINT16_MAX)
            return bad("ports", e);
        s->ports[at++] = (uint16_t)port;
    }
    s->spec.ports = s->ports;
    return 0;
}

static double read_spec_limit(const struct json *limits, const char *name)
{
    double value = json_number(json_get(limits, name));
    return value > 0 ? value : 0;
}

static int take_level(struct read_spec *s, struct err *e)
{
    const struct json *limits = json_get(s->json, "limits");
    const char *name = json_get_text(s->json, "level");
    s->spec.options = json_get_text(s->json, "options");
    s->spec.distrusts_cwd = json_true(json_get(s->json, "distrusts_cwd"));
    s->spec.terminals = json_true(json_get(s->json, "terminals"));
    int level = name ? sandbox_level_of(name) : -EINVAL;
    if (level < 0)
        return bad("level", e);
    if (!json_is_object(limits))
        return bad("limits", e);
    s->spec.level = (enum sandbox_level)level;
    s->spec.limits = (struct sandbox_limits){
        .tasks = (int)read_spec_limit(limits, "tasks"),
        .files = (int)read_spec_limit(limits, "files"),
        .file_size = (uint64_t)read_spec_limit(limits, "file_size"),
        .memory = (uint64_t)read_spec_limit(limits, "memory"),
        .disk = (uint64_t)read_spec_limit(limits, "disk"),
        .cpu = (int)read_spec_limit(limits, "cpu"),
    };
    return 0;
}

static const char *const *some_spec_text(const char **list)
{
    return list && *list ? list : NULL;
}

static int take_lists(struct read_spec *s, struct err *e)
{
    int r = take_texts(s->json, "private", &s->dirs, e);
    if (r == 0)
        r = take_texts(s->json, "places", &s->places, e);
    if (r == 0)
        r = take_texts(s->json, "hidden", &s->hidden, e);
    if (r == 0)
        r = take_texts(s->json, "kept", &s->kept, e);
    s->spec.private_dirs = some_spec_text(s->dirs);
    s->spec.disk_places = some_spec_text(s->places);
    s->spec.hidden = some_spec_text(s->hidden);
    s->spec.kept = some_spec_text(s->kept);
    return r;
}

static int take_place(struct read_spec *s, struct err *e)
{
    int r = json_need_text(s->json, "settings", &s->spec.settings, e);
    if (r == 0)
        r = json_need_text(s->json, "cwd", &s->spec.cwd, e);
    if (r == 0)
        r = json_need_text(s->json, "home", &s->spec.home, e);
    if (r == 0)
        r = take_texts(s->json, "sockets", &s->sockets, e);
    if (r == 0)
        r = take_ports(s, e);
    s->spec.unix_sockets = s->sockets;
    return r;
}

int sandbox_spec_read(int fd, struct sandbox_spec **ret, struct err *e)
{
    drop_buf struct buf text = BUF_INIT(SANDBOX_SPEC_MAX);
    int r = read_spec_text(fd, &text, e);
    if (r < 0)
        return r;
    struct read_spec *s = NEW(struct read_spec);
    s->json = json_parse(text.data, text.len, JSON_STRICT, e);
    if (!s->json)
        r = err_wrap(e, "the sandbox's description");
    if (r == 0 && !s->json)
        r = -EBADMSG;
    if (r == 0 && !json_true(json_get(s->json, "walls")))
        r = take_place(s, e);
    if (r == 0)
        r = take_level(s, e);
    if (r == 0)
        r = take_lists(s, e);
    if (r < 0)
        (void)sandbox_spec_free(&s->spec);
    else
        *ret = &s->spec;
    return r;
}

struct sandbox_spec *sandbox_spec_free(struct sandbox_spec *spec)
{
    if (!spec)
        return NULL;
    struct read_spec *s = (struct read_spec *)(void *)spec;
    xfree(s->dirs);
    xfree(s->sockets);
    xfree(s->places);
    xfree(s->hidden);
    xfree(s->kept);
    xfree(s->ports);
    (void)json_free(s->json);
    xfree(s);
    return NULL;
}
