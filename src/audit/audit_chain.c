/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/audit_chain.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/json.h"

#define SEAL ",\"hash\":\""
enum {
    SEAL_LEN = sizeof SEAL - 1,
    SEALED = SEAL_LEN + HMAC_HEX + 2, /* and the quote and the brace */
    READ_STEP = 64 << 10,
};

/* 2^53: above it the numbers of JSON are no longer exact. No log gets there. */
#define SEQ_MAX 9007199254740992.0

void audit_seal(struct buf *line, struct audit_link *link)
{
    (void)buf_addf(line, ",\"prev\":\"%s\"", link->hash);
    if (line->failed)
        return;
    sha256_hex(line->data, line->len, link->hash);
    (void)buf_addf(line, SEAL "%s\"}\n", link->hash);
    link->seq++;
}

/* --- one line -------------------------------------------------------------------------------- */

static bool is_hash(const char *text)
{
    return text && strlen(text) == HMAC_HEX && strspn(text, "0123456789abcdef") == HMAC_HEX;
}

static bool read_record_number(const struct json *object, const char *name, uint64_t *ret)
{
    const struct json *value = json_get(object, name);
    double number = json_number(value);
    if (!json_is_number(value) || number < 0 || number > SEQ_MAX)
        return false;
    *ret = (uint64_t)number;
    return true;
}

static int read_record_members(const struct json *line, struct audit_record *ret, struct err *e)
{
    const char *prev = json_get_text(line, "prev"), *hash = json_get_text(line, "hash");
    const struct json *torn = json_get(line, "torn");
    const char *torn_hash = json_get_text(torn, "sha256");
    if (!read_record_number(line, "seq", &ret->link.seq) || !is_hash(prev) || !is_hash(hash))
        return err_set(e, -EBADMSG, "seq, prev or hash is missing");
    memcpy(ret->prev, prev, HMAC_HEX);
    memcpy(ret->link.hash, hash, HMAC_HEX);
    if (!torn)
        return 0;
    if (!is_hash(torn_hash) || !read_record_number(torn, "bytes", &ret->torn_bytes))
        return err_set(e, -EBADMSG, "torn: bytes or sha256 is missing");
    memcpy(ret->torn_sha256, torn_hash, HMAC_HEX);
    ret->names_torn = true;
    return 0;
}

static int read_record(const char *line, size_t n, struct audit_record *ret, struct err *e)
{
    char hash[HMAC_HEX + 1];
    if (n <= SEALED || n > AUDIT_LINE_MAX || memcmp(line + n - SEALED, SEAL, SEAL_LEN) != 0)
        return err_set(e, -EBADMSG, "it is no record");
    sha256_hex(line, n - SEALED, hash);
    if (!hmac_equal(hash, line + n - SEALED + SEAL_LEN))
        return err_set(e, -EBADMSG, "its hash does not match its content");
    drop_json struct json *object = json_parse_copy(line, n, JSON_STRICT, NULL);
    if (!json_is_object(object))
        return err_set(e, -EBADMSG, "it is not JSON");
    struct audit_record record = {0};
    int r = read_record_members(object, &record, e);
    if (r == 0)
        *ret = record;
    return r;
}

/* --- the whole -------------------------------------------------------------------------------- */

struct check {
    struct audit_verdict verdict;
    const char *wanted;
    struct buf bad; /* lines that a start may name, one behind the other */
    uint64_t bad_line;
    struct err why; /* it is bad */
};

static int blame(const struct check *c, struct err *e)
{
    return err_set(e, -EBADMSG, "line %llu: %s", (unsigned long long)c->bad_line, c->why.msg);
}

static int bad_here(struct check *c, struct err *e, const char *why)
{
    c->bad_line = c->verdict.lines;
    (void)err_set(&c->why, -EBADMSG, "%s", why);
    return blame(c, e);
}

/* The bad lines so far are what the record says was torn. */
static bool names_them(const struct check *c, const struct audit_record *record)
{
    char hash[HMAC_HEX + 1];
    size_t n = c->bad.len - 1; /* its last line feed was written by the start */
    sha256_hex(c->bad.data, n, hash);
    return record->torn_bytes == n && hmac_equal(hash, record->torn_sha256);
}

static int accept_record(struct check *c, const struct audit_record *record, struct err *e)
{
    struct audit_verdict *v = &c->verdict;
    if (c->bad.len > 0 && (!record->names_torn || !names_them(c, record)))
        return blame(c, e);
    if (c->bad.len == 0 && record->names_torn)
        return bad_here(c, e, "it names a torn line that is not there");
    if (record->link.seq != v->last.seq + 1)
        return bad_here(c, e, "its number does not follow: a line was taken out, put in or moved");
    if (!hmac_equal(record->prev, v->last.hash))
        return bad_here(c, e, "it does not follow the record before it");
    v->torn += record->names_torn;
    v->last = record->link;
    if (c->wanted && hmac_equal(c->wanted, v->last.hash)) {
        v->known = true;
        v->known_seq = v->last.seq;
    }
    buf_clear(&c->bad);
    return 0;
}

static int take_record_line(struct check *c, const char *line, size_t n, struct err *e)
{
    struct audit_record record;
    struct err why = ERR_NONE;
    c->verdict.lines++;
    if (read_record(line, n, &record, &why) == 0)
        return accept_record(c, &record, e);
    if (c->bad.len == 0) {
        c->bad_line = c->verdict.lines;
        c->why = why;
    }
    if (buf_add(&c->bad, line, n) < 0 || buf_addc(&c->bad, '\n') < 0)
        return blame(c, e); /* no crash leaves so much */
    return 0;
}

/* Behind the last line feed. A record that lacks nothing but that is one. */
static int take_rest(struct check *c, const char *rest, size_t n, struct err *e)
{
    struct audit_record record;
    struct err why = ERR_NONE;
    if (n > 0 && read_record(rest, n, &record, &why) == 0) {
        c->verdict.lines++;
        return accept_record(c, &record, e);
    }
    if (c->bad.len > 0 && n == 0)
        return blame(c, e);
    c->verdict.torn_bytes = c->bad.len + n;
    return 0;
}

static int take_lines(struct check *c, struct buf *text, struct err *e)
{
    size_t at = 0;
    int r = 0;
    for (const char *end; r == 0 && (end = memchr(text->data + at, '\n', text->len - at));) {
        size_t n = (size_t)(end - text->data) - at;
        r = take_record_line(c, text->data + at, n, e);
        at += n + 1;
    }
    buf_cut_front(text, at);
    if (r == 0 && text->len > AUDIT_TORN_MAX) {
        c->verdict.lines++;
        return bad_here(c, e, "it is too long");
    }
    return r;
}

static int read_audit_log(int fd, struct check *c, struct err *e)
{
    drop_buf struct buf text = BUF_INIT(AUDIT_TORN_MAX + READ_STEP);
    for (;;) {
        if (buf_reserve(&text, READ_STEP) < 0)
            return err_set(e, text.failed, "no memory");
        ssize_t n = read(fd, text.data + text.len, READ_STEP);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(e, -errno, "read: %s", strerror(errno));
        if (n == 0)
            return take_rest(c, text.data, text.len, e);
        text.len += (size_t)n;
        int r = take_lines(c, &text, e);
        if (r < 0)
            return r;
    }
}

int audit_verify(int fd, const char *hash, struct audit_verdict *ret, struct err *e)
{
    struct check c = {.verdict = {.last = AUDIT_FIRST},
                      .wanted = is_hash(hash) ? hash : NULL,
                      .bad = BUF_INIT(AUDIT_TORN_MAX)};
    int r = read_audit_log(fd, &c, e);
    buf_done(&c.bad);
    if (r == 0)
        *ret = c.verdict;
    return r;
}

/* --- the end of a file ------------------------------------------------------------------------ */

/* The beginning of a first record, as far as it got; nobody's other file. */
static bool is_first_torn(const char *tail, size_t n)
{
    static const char begin[] = "{\"seq\":1,";
    size_t len = n < sizeof begin - 1 ? n : sizeof begin - 1;
    return memcmp(tail, begin, len) == 0;
}

static int set_chain_end(const char *torn, size_t n, const char **ret_torn, size_t *ret_torn_n,
                         struct err *e)
{
    if (n > AUDIT_TORN_MAX - 1)
        return err_set(e, -EBADMSG, "there is no record at its end");
    if (n > 0 && torn[n - 1] == '\n')
        return err_set(e, -EBADMSG, "its last line is no record, or not the one that was written");
    *ret_torn = torn;
    *ret_torn_n = n;
    return 0;
}

int audit_find_end(const char *tail, size_t n, bool whole, struct audit_link *ret,
                   const char **ret_torn, size_t *ret_torn_n, struct err *e)
{
    struct audit_record record;
    for (size_t end = n, begin; end > 0; end = begin - 1) {
        begin = end;
        while (begin > 0 && tail[begin - 1] != '\n')
            begin--;
        if (read_record(tail + begin, end - begin, &record, NULL) == 0) {
            *ret = record.link;
            size_t behind = end < n ? end + 1 : end;
            return set_chain_end(tail + behind, n - behind, ret_torn, ret_torn_n, e);
        }
        if (begin == 0)
            break;
    }
    *ret = AUDIT_FIRST;
    if (!whole || (n > 0 && !is_first_torn(tail, n)))
        return err_set(e, -EBADMSG, "it is no audit log, or has no record at its end");
    return set_chain_end(tail, n, ret_torn, ret_torn_n, e);
}
