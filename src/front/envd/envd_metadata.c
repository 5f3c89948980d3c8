/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client has noted at a file: extended attributes "user.e2b.KEY", as envd has them. Code in
 * the sandbox may write them, too. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/xattr.h>

#include "base/alloc.h"
#include "base/text/utf8.h"
#include "front/envd/envd_internal.h"

#define HEADER "X-Metadata-"
#define ATTRIBUTE "user.e2b."

enum {
    NAME_MAX_BYTES = 255, /* of an attribute, as Linux has it */
    TOTAL_MAX = 4096,     /* names and values: a block of ext4 */
    NAMES_MAX = 16 << 10, /* of all attributes of a file */
};

/* --- what a request brings -------------------------------------------------------------------- */

struct brought {
    struct buf text;
    struct jsonw w;
    size_t total, n;
    struct err e;
};

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

static void note_header(void *ctx, const char *name, const char *value)
{
    struct brought *b = ctx;
    char key[NAME_MAX_BYTES + 1];
    if (strncasecmp(name, HEADER, sizeof HEADER - 1) != 0 || b->e.code < 0)
        return;
    name += sizeof HEADER - 1;
    size_t n = strlen(name);
    if (n == 0 || n + sizeof ATTRIBUTE - 1 > NAME_MAX_BYTES || !is_printable(value)) {
        (void)err_set(&b->e, -EINVAL,
                      HEADER "%.80s: a key of 1 to %zu characters and a value of printable ASCII "
                             "are needed",
                      name, NAME_MAX_BYTES - sizeof ATTRIBUTE + 1);
        return;
    }
    for (size_t i = 0; i <= n; i++)
        key[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 'a' - 'A' : name[i]);
    b->n++;
    b->total += sizeof ATTRIBUTE - 1 + n + strlen(value);
    jsonw_set_text(&b->w, key, value);
    if (b->total > TOTAL_MAX)
        (void)err_set(&b->e, -EINVAL, HEADER "*: %d bytes are possible in all", TOTAL_MAX);
}

int envd_metadata_of(const struct http_request *r, struct json **ret, struct err *e)
{
    struct brought b = {.text = BUF_INIT(NAMES_MAX), .e = ERR_NONE};
    b.w = JSONW(&b.text);
    jsonw_object(&b.w);
    http_each_header(r, note_header, &b);
    jsonw_end(&b.w);
    int code = b.e.code;
    if (code == 0 && b.n > 0) {
        *ret = json_parse(b.text.data, b.text.len, JSON_STRICT, NULL);
        if (!*ret)
            code = err_set(&b.e, -EINVAL, HEADER "*: a key is there twice");
    }
    if (code < 0)
        *e = b.e;
    buf_done(&b.text);
    return code;
}

/* --- the file's ------------------------------------------------------------------------------- */

int envd_metadata_set(int fd, const struct json *metadata, struct err *e)
{
    for (const struct json *j = json_first(metadata); j; j = json_next(j)) {
        drop_str char *name = xasprintf(ATTRIBUTE "%s", json_name(j));
        const char *value = json_text(j);
        if (fsetxattr(fd, name, value, strlen(value), 0) == 0)
            continue;
        if (errno == EOPNOTSUPP)
            return err_set(e, -EOPNOTSUPP,
                           "metadata: the file system of the workspace has no user attributes");
        return err_set(e, -errno, "metadata: %s", strerror(errno));
    }
    return 0;
}

static void put_attribute(struct jsonw *w, int dir, const char *file, const char *name, bool *any)
{
    char value[TOTAL_MAX];
    ssize_t n = spot_attribute(dir, file, name, value, sizeof value - 1);
    if (n < 0 || memchr(value, '\0', (size_t)n) || !utf8_valid(value, (size_t)n) ||
        !utf8_valid(name, strlen(name)))
        return;
    value[n] = '\0';
    if (!*any)
        jsonw_set_object(w, "metadata");
    *any = true;
    jsonw_set_text(w, name + sizeof ATTRIBUTE - 1, value);
}

void envd_metadata_put(struct jsonw *w, int dir, const char *file)
{
    char names[NAMES_MAX];
    bool any = false;
    ssize_t n = spot_attributes(dir, file, names, sizeof names - 1);
    if (n <= 0)
        return;
    names[n] = '\0';
    for (const char *at = names; at < names + n; at += strlen(at) + 1)
        if (strncmp(at, ATTRIBUTE, sizeof ATTRIBUTE - 1) == 0)
            put_attribute(w, dir, file, at, &any);
    if (any)
        jsonw_end(w);
}
