/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/tar.h"

#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"

/* Where what is in a header's block. */
enum {
    AT_NAME = 0,
    AT_MODE = 100,
    AT_UID = 108,
    AT_GID = 116,
    AT_SIZE = 124,
    AT_MTIME = 136,
    AT_SUM = 148,
    AT_TYPE = 156,
    AT_LINK = 157,
    AT_MAGIC = 257,
    AT_PREFIX = 345,
    N_NAME = 100,
    N_PREFIX = 155,
    N_SHORT = 8, /* numbers */
    N_LONG = 12,
};

#define SIZE_MAX_OCTAL 077777777777ULL

enum tar_state { HEAD, CONTENT, PADDING, EXTENDED, OVER, BROKEN };

void tar_reader_init(struct tar_reader *t)
{
    *t = (struct tar_reader){.state = HEAD, .extended = BUF_INIT(TAR_PAX_MAX)};
}

void tar_reader_done(struct tar_reader *t)
{
    buf_done(&t->extended);
}

/* The member as far as its name is known, for messages. */
static int broken(struct tar_reader *t, struct err *e, const char *why)
{
    t->state = BROKEN;
    if (t->has_path)
        return err_set(e, -EBADMSG, "%.200s: %s", t->path, why);
    return err_set(e, -EBADMSG, "member %llu: %s", (unsigned long long)t->members + 1, why);
}

/* --- numbers and texts ------------------------------------------------------------------------ */

static int read_base256(const char *field, size_t n, uint64_t *ret)
{
    uint64_t value = (uint64_t)field[0] & 0x7f;
    if (field[0] & 0x40) /* negative */
        return -ERANGE;
    for (size_t i = 1; i < n; i++) {
        if (value >> 55)
            return -ERANGE;
        value = value << 8 | (unsigned char)field[i];
    }
    *ret = value;
    return 0;
}

static int read_tar_number(const char *field, size_t n, uint64_t *ret)
{
    uint64_t value = 0;
    size_t i = 0;
    if (field[0] & 0x80)
        return read_base256(field, n, ret);
    while (i < n && field[i] == ' ')
        i++;
    for (; i < n && field[i] >= '0' && field[i] <= '7'; i++)
        value = value << 3 | (uint64_t)(field[i] - '0');
    if (i < n && field[i] != ' ' && field[i] != '\0')
        return -EINVAL;
    *ret = value;
    return 0;
}

static int read_decimal(const char *text, size_t n, uint64_t *ret)
{
    uint64_t value = 0;
    if (n == 0 || n > 19)
        return -EINVAL;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -EINVAL;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *ret = value;
    return 0;
}

static bool sum_is_right(const char block[TAR_BLOCK])
{
    uint64_t told = 0;
    int64_t plain = 0, with_signs = 0; /* old programs added up signed characters */
    for (size_t i = 0; i < TAR_BLOCK; i++) {
        char c = i >= AT_SUM && i < AT_SUM + N_SHORT ? ' ' : block[i];
        plain += (unsigned char)c;
        with_signs += (signed char)c;
    }
    return read_tar_number(block + AT_SUM, N_SHORT, &told) == 0 &&
           (plain == (int64_t)told || with_signs == (int64_t)told);
}

/* --- pax -------------------------------------------------------------------------------------- */

static int set_name(char to[TAR_NAME_MAX], bool *has, const char *value, size_t n)
{
    if (n >= TAR_NAME_MAX || memchr(value, '\0', n))
        return -EINVAL;
    memcpy(to, value, n);
    to[n] = '\0';
    *has = n > 0;
    return 0;
}

static bool is_pax_key(const char *key, size_t n, const char *name)
{
    return strlen(name) == n && memcmp(key, name, n) == 0;
}

static const char *take_record(struct tar_reader *t, const char *key, size_t key_n,
                               const char *value, size_t n)
{
    bool global = t->extended_type == 'g';
    if (key_n >= 10 && memcmp(key, "GNU.sparse", 10) == 0)
        return "a sparse file; make the archive without --sparse";
    if (is_pax_key(key, key_n, "path"))
        return global || set_name(t->path, &t->has_path, value, n) < 0 ? "a bad path" : NULL;
    if (is_pax_key(key, key_n, "linkpath"))
        return global || set_name(t->link, &t->has_link, value, n) < 0 ? "a bad linkpath" : NULL;
    if (is_pax_key(key, key_n, "size")) {
        t->has_size = true;
        return global || read_decimal(value, n, &t->size) < 0 ? "a bad size" : NULL;
    }
    if (is_pax_key(key, key_n, "mtime") && !global) {
        const char *point = memchr(value, '.', n);
        uint64_t seconds = 0;
        t->has_mtime = read_decimal(value, point ? (size_t)(point - value) : n, &seconds) == 0;
        t->mtime = (int64_t)(seconds & INT64_MAX);
    }
    return NULL;
}

/* "25 path=some/where/else\n", the length with its own digits. */
static const char *take_records(struct tar_reader *t)
{
    const char *at = buf_text(&t->extended), *end = at + t->extended.len;
    while (at < end) {
        const char *space = memchr(at, ' ', (size_t)(end - at));
        uint64_t n = 0;
        if (!space || read_decimal(at, (size_t)(space - at), &n) < 0 || n > (size_t)(end - at) ||
            n < (size_t)(space - at) + 3 || at[n - 1] != '\n')
            return "a broken pax header";
        const char *key = space + 1, *stop = at + n - 1;
        const char *equals = memchr(key, '=', (size_t)(stop - key));
        if (!equals || equals == key)
            return "a broken pax header";
        const char *wrong =
            take_record(t, key, (size_t)(equals - key), equals + 1, (size_t)(stop - equals - 1));
        if (wrong)
            return wrong;
        at += n;
    }
    return NULL;
}

static int end_extended(struct tar_reader *t, struct err *e)
{
    const char *wrong = NULL;
    size_t n = strnlen(buf_text(&t->extended), t->extended.len);
    if (t->extended_type == 'L')
        wrong =
            set_name(t->path, &t->has_path, buf_text(&t->extended), n) < 0 ? "a bad name" : NULL;
    else if (t->extended_type == 'K')
        wrong =
            set_name(t->link, &t->has_link, buf_text(&t->extended), n) < 0 ? "a bad link" : NULL;
    else
        wrong = take_records(t);
    buf_done(&t->extended);
    t->state = HEAD;
    return wrong ? broken(t, e, wrong) : 0;
}

/* --- a header --------------------------------------------------------------------------------- */

static void take_names(struct tar_reader *t)
{
    const char *b = t->block;
    if (!t->has_path) {
        /* GNU keeps other things where ustar has the prefix. */
        size_t n = memcmp(b + AT_MAGIC, "ustar\0", 6) == 0 ? strnlen(b + AT_PREFIX, N_PREFIX) : 0;
        memcpy(t->path, b + AT_PREFIX, n);
        if (n > 0)
            t->path[n++] = '/';
        size_t length = strnlen(b + AT_NAME, N_NAME);
        memcpy(t->path + n, b + AT_NAME, length);
        t->path[n + length] = '\0';
        t->has_path = true;
    }
    if (!t->has_link) {
        size_t n = strnlen(b + AT_LINK, N_NAME);
        memcpy(t->link, b + AT_LINK, n);
        t->link[n] = '\0';
    }
}

static int find_type(const struct tar_reader *t, enum tar_type *ret)
{
    size_t n = strlen(t->path);
    switch (t->block[AT_TYPE]) {
    case '\0':
    case '0':
    case '7':
        *ret = n > 0 && t->path[n - 1] == '/' ? TAR_FOLDER : TAR_FILE;
        return 0;
    case '1':
        *ret = TAR_HARDLINK;
        return 0;
    case '2':
        *ret = TAR_SYMLINK;
        return 0;
    case '3':
    case '4':
        *ret = TAR_DEVICE;
        return 0;
    case '5':
        *ret = TAR_FOLDER;
        return 0;
    case '6':
        *ret = TAR_FIFO;
        return 0;
    default:
        return -EINVAL;
    }
}

static int begin_member(struct tar_reader *t, uint64_t size, struct tar_event *ret, struct err *e)
{
    uint64_t mode = 0, mtime = 0;
    struct tar_member *m = &ret->member;
    take_names(t);
    if (t->block[AT_TYPE] == 'S')
        return broken(t, e, "a sparse file; make the archive without --sparse");
    *ret = (struct tar_event){.what = TAR_MEMBER};
    if (find_type(t, &m->type) < 0)
        return broken(t, e, "a kind of member that is not known here");
    size = t->has_size ? t->size : size;
    if (m->type == TAR_HARDLINK && size > 0)
        return broken(t, e, "a hard link with content");
    if (read_tar_number(t->block + AT_MODE, N_SHORT, &mode) < 0)
        return broken(t, e, "a bad mode");
    if (read_tar_number(t->block + AT_MTIME, N_LONG, &mtime) < 0)
        mtime = 0; /* before 1970 */
    bool is_link = m->type == TAR_HARDLINK || m->type == TAR_SYMLINK;
    m->path = t->path;
    m->link = is_link ? t->link : "";
    m->size = t->left = m->type == TAR_FILE ? size : 0;
    m->mode = (unsigned)(mode & 07777);
    m->mtime = t->has_mtime ? t->mtime : (int64_t)(mtime & INT64_MAX);
    t->padding = (TAR_BLOCK - t->left % TAR_BLOCK) % TAR_BLOCK;
    t->state = CONTENT;
    t->members++;
    return 1;
}

static int begin_extended(struct tar_reader *t, uint64_t size, struct err *e)
{
    char type = t->block[AT_TYPE];
    if (size > (type == 'L' || type == 'K' ? TAR_NAME_MAX : TAR_PAX_MAX))
        return broken(t, e, "a name or a pax header that is too long");
    t->extended_type = type;
    t->left = size;
    t->padding = (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
    t->state = EXTENDED;
    return 0;
}

static const char *what_is_this(const char block[TAR_BLOCK])
{
    static const struct {
        const char *magic;
        size_t n;
    } compressed[] = {{"\x1f\x8b", 2},
                      {"BZh", 3},
                      {"\xfd"
                       "7zXZ",
                       5},
                      {"\x28\xb5\x2f\xfd", 4},
                      {"PK\3\4", 4}};
    for (size_t i = 0; i < sizeof compressed / sizeof *compressed; i++) {
        if (memcmp(block, compressed[i].magic, compressed[i].n) == 0)
            return "this is compressed; send a plain tar archive";
    }
    return "no header of a tar archive is here (its checksum is wrong)";
}

static bool is_zero(const char block[TAR_BLOCK])
{
    return block[0] == '\0' && memcmp(block, block + 1, TAR_BLOCK - 1) == 0;
}

static int take_header(struct tar_reader *t, struct tar_event *ret, struct err *e)
{
    uint64_t size = 0;
    t->have = 0;
    if (is_zero(t->block)) {
        t->state = OVER;
        *ret = (struct tar_event){.what = TAR_END};
        return 1;
    }
    if (!sum_is_right(t->block))
        return broken(t, e, what_is_this(t->block));
    if (read_tar_number(t->block + AT_SIZE, N_LONG, &size) < 0 || size > INT64_MAX - TAR_BLOCK)
        return broken(t, e, "a bad size");
    switch (t->block[AT_TYPE]) {
    case 'x':
    case 'X':
    case 'g':
    case 'L':
    case 'K':
        return begin_extended(t, size, e);
    default:
        return begin_member(t, size, ret, e);
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

static size_t at_most(size_t n, uint64_t most)
{
    return n < most ? n : (size_t)most;
}

static void take_tar_bytes(const char **bytes, size_t *n, size_t taken)
{
    *bytes += taken;
    *n -= taken;
}

static int next_content(struct tar_reader *t, const char **bytes, size_t *n, struct tar_event *ret)
{
    if (t->left == 0) {
        t->state = PADDING;
        t->has_path = t->has_link = t->has_size = t->has_mtime = false;
        *ret = (struct tar_event){.what = TAR_MEMBER_END};
        return 1;
    }
    size_t some = at_most(*n, t->left);
    *ret = (struct tar_event){.what = TAR_BYTES, .bytes = *bytes, .n = some};
    t->left -= some;
    take_tar_bytes(bytes, n, some);
    return some > 0;
}

static int next_extended(struct tar_reader *t, const char **bytes, size_t *n, struct err *e)
{
    size_t some = at_most(*n, t->left);
    if (buf_add(&t->extended, *bytes, some) < 0)
        return err_set(e, -ENOMEM, "no memory for a pax header");
    t->left -= some;
    take_tar_bytes(bytes, n, some);
    if (t->left > 0)
        return 0;
    some = at_most(*n, t->padding);
    t->padding -= some;
    take_tar_bytes(bytes, n, some);
    return t->padding > 0 ? 0 : end_extended(t, e);
}

static int step_tar(struct tar_reader *t, const char **bytes, size_t *n, struct tar_event *ret,
                    struct err *e)
{
    size_t some;
    switch ((enum tar_state)t->state) {
    case HEAD:
        some = at_most(*n, TAR_BLOCK - t->have);
        memcpy(t->block + t->have, *bytes, some);
        t->have += some;
        take_tar_bytes(bytes, n, some);
        return t->have == TAR_BLOCK ? take_header(t, ret, e) : 0;
    case CONTENT:
        return next_content(t, bytes, n, ret);
    case PADDING:
        some = at_most(*n, t->padding);
        t->padding -= some;
        take_tar_bytes(bytes, n, some);
        t->state = t->padding == 0 ? HEAD : PADDING;
        return 0;
    case EXTENDED:
        return next_extended(t, bytes, n, e);
    case OVER:
        take_tar_bytes(bytes, n, *n);
        return 0;
    case BROKEN:
        return err_set(e, -EBADMSG, "the archive is broken");
    }
    return 0;
}

/* A member's end needs no byte of its own: it is told with the last of them. */
int tar_next(struct tar_reader *t, const char **bytes, size_t *n, struct tar_event *ret,
             struct err *e)
{
    int r = 0;
    while (r == 0 && (*n > 0 || (t->state == CONTENT && t->left == 0)))
        r = step_tar(t, bytes, n, ret, e);
    return r;
}

int tar_ended(const struct tar_reader *t, struct err *e)
{
    if (t->state == OVER)
        return 0;
    if (t->has_path && t->state == CONTENT)
        return err_set(e, -EBADMSG, "%.200s: the archive ends inside of it", t->path);
    return err_set(e, -EBADMSG, "the archive ends after member %llu without its last blocks",
                   (unsigned long long)t->members);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void put_octal(char *field, size_t n, uint64_t value)
{
    for (size_t i = n - 1; i > 0; i--, value >>= 3)
        field[i - 1] = (char)('0' + (value & 7));
}

/* Splits a path at a slash so that both parts fit. False: it needs pax. */
static bool put_tar_path(char block[TAR_BLOCK], const char *path)
{
    size_t n = strlen(path);
    if (n <= N_NAME) {
        memcpy(block + AT_NAME, path, n);
        return true;
    }
    for (size_t at = n - N_NAME - 1; at <= N_PREFIX && at < n - 1; at++) {
        if (at > 0 && path[at] == '/') {
            memcpy(block + AT_PREFIX, path, at);
            memcpy(block + AT_NAME, path + at + 1, n - at - 1);
            return true;
        }
    }
    memcpy(block + AT_NAME, path, N_NAME); /* for programs that know no pax */
    return false;
}

static size_t put_tar_digits(size_t n)
{
    size_t count = 1;
    for (; n >= 10; n /= 10)
        count++;
    return count;
}

static void put_record(struct buf *out, const char *key, const char *value)
{
    size_t rest = strlen(key) + strlen(value) + 3, n = rest + put_tar_digits(rest);
    n = rest + put_tar_digits(n);
    (void)buf_addf(out, "%zu %s=%s\n", n, key, value);
}

static void put_tar_header(struct buf *out, char block[TAR_BLOCK], char type, uint64_t size,
                           unsigned mode, int64_t mtime)
{
    static const char zeros[8] = "0000000";
    unsigned sum = 0;
    put_octal(block + AT_MODE, N_SHORT, mode & 07777);
    memcpy(block + AT_UID, zeros, N_SHORT);
    memcpy(block + AT_GID, zeros, N_SHORT);
    put_octal(block + AT_SIZE, N_LONG, size > SIZE_MAX_OCTAL ? 0 : size);
    put_octal(block + AT_MTIME, N_LONG,
              mtime < 0 || (uint64_t)mtime > SIZE_MAX_OCTAL ? 0 : (uint64_t)mtime);
    block[AT_TYPE] = type;
    memcpy(block + AT_MAGIC, "ustar\00000", 8);
    memset(block + AT_SUM, ' ', N_SHORT);
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += (unsigned char)block[i];
    put_octal(block + AT_SUM, N_SHORT - 1, sum);
    block[AT_SUM + N_SHORT - 2] = '\0';
    (void)buf_add(out, block, TAR_BLOCK);
}

static void put_pax(struct buf *out, const struct buf *records, int64_t mtime)
{
    char block[TAR_BLOCK] = "PaxHeader";
    put_tar_header(out, block, 'x', records->len, 0644, mtime);
    (void)buf_add(out, records->data, records->len);
    tar_put_padding(out, records->len);
}

void tar_put_member(struct buf *out, const struct tar_member *m)
{
    static const char types[] = {'0', '5', '2', '1', '6', '3'};
    drop_buf struct buf records = BUF_INIT(3 * TAR_NAME_MAX);
    char block[TAR_BLOCK] = {0}, number[24];
    size_t link = strlen(m->link);
    bool fits = put_tar_path(block, m->path);
    bool is_text = utf8_valid(m->path, strlen(m->path)) && utf8_valid(m->link, link);
    if (!is_text && (!fits || link > N_NAME))
        put_record(&records, "hdrcharset", "BINARY");
    if (!fits)
        put_record(&records, "path", m->path);
    if (link > N_NAME)
        put_record(&records, "linkpath", m->link);
    memcpy(block + AT_LINK, m->link, link < N_NAME ? link : N_NAME);
    if (m->size > SIZE_MAX_OCTAL) {
        (void)snprintf(number, sizeof number, "%llu", (unsigned long long)m->size);
        put_record(&records, "size", number);
    }
    if (records.len > 0)
        put_pax(out, &records, m->mtime);
    put_tar_header(out, block, types[m->type], m->size, m->mode, m->mtime);
}

static void put_zeros(struct buf *out, size_t n)
{
    static const char zeros[TAR_BLOCK * 2];
    (void)buf_add(out, zeros, n);
}

void tar_put_padding(struct buf *out, uint64_t size)
{
    put_zeros(out, (size_t)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK));
}

void tar_put_end(struct buf *out)
{
    put_zeros(out, (size_t)TAR_BLOCK * 2);
}
