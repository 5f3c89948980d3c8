/* SPDX-License-Identifier: Apache-2.0
 *
 * Archives. In however many pieces the bytes come, they say the same; and a member that was read is
 * read again as it was when it is written. The first byte is the size of the pieces; from 128 on,
 * every block gets the checksum that makes it a header. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "wire/tar.h"

enum { SAID_MAX = 1 << 26, AT_SUM = 148 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void write_again(const struct tar_member *m)
{
    struct buf out = BUF_INIT(1 << 20);
    struct tar_reader t;
    struct tar_event event;
    tar_put_member(&out, m);
    const char *bytes = out.data;
    size_t n = out.len;
    must(out.failed == 0 && n % TAR_BLOCK == 0);
    tar_reader_init(&t);
    must(tar_next(&t, &bytes, &n, &event, NULL) == 1 && event.what == TAR_MEMBER && n == 0);
    must(strcmp(event.member.path, m->path) == 0 && strcmp(event.member.link, m->link) == 0);
    must(event.member.size == m->size && event.member.mode == m->mode);
    tar_reader_done(&t);
    buf_done(&out);
}

static void take(const struct tar_event *event, struct buf *said)
{
    const struct tar_member *m = &event->member;
    if (event->what == TAR_BYTES) {
        (void)buf_add(said, event->bytes, event->n);
        return;
    }
    (void)buf_addf(said, "<%d", (int)event->what);
    if (event->what != TAR_MEMBER)
        return;
    (void)buf_addf(said, "%d %s %s %llu %o %lld>", (int)m->type, m->path, m->link,
                   (unsigned long long)m->size, m->mode, (long long)m->mtime);
    must(strlen(m->path) < TAR_NAME_MAX && strlen(m->link) < TAR_NAME_MAX && m->mtime >= 0);
    must(m->type == TAR_FILE || m->size == 0);
    if (m->type == TAR_FILE && m->path[0] && m->path[strlen(m->path) - 1] != '/')
        write_again(m);
}

static void read_archive(const char *bytes, size_t n, size_t step, struct buf *said)
{
    struct tar_reader t;
    struct tar_event event;
    int r = 0;
    tar_reader_init(&t);
    for (size_t at = 0; at < n && r >= 0; at += step) {
        const char *piece = bytes + at;
        size_t left = n - at < step ? n - at : step;
        while ((r = tar_next(&t, &piece, &left, &event, NULL)) > 0)
            take(&event, said);
        must(r < 0 || left == 0);
    }
    (void)buf_addf(said, " %d %d", r, tar_ended(&t, NULL));
    tar_reader_done(&t);
}

static void make_headers(char *bytes, size_t n)
{
    for (size_t at = 0; at + TAR_BLOCK <= n; at += TAR_BLOCK) {
        unsigned sum = 0;
        memset(bytes + at + AT_SUM, ' ', 8);
        for (size_t i = 0; i < TAR_BLOCK; i++)
            sum += (unsigned char)bytes[at + i];
        if (sum != 8 * ' ') /* the end stays one */
            (void)snprintf(bytes + at + AT_SUM, 8, "%06o", sum);
        else
            memset(bytes + at + AT_SUM, 0, 8);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct buf archive = BUF_INIT(SAID_MAX), whole = BUF_INIT(SAID_MAX),
               pieces = BUF_INIT(SAID_MAX);
    (void)buf_add(&archive, data + 1, size - 1);
    if (data[0] >= 128)
        make_headers(archive.data, archive.len);
    read_archive(buf_text(&archive), archive.len, size, &whole);
    read_archive(buf_text(&archive), archive.len, data[0] % 128U * 5 + 1, &pieces);
    must(whole.len == pieces.len && memcmp(buf_text(&whole), buf_text(&pieces), whole.len) == 0);
    buf_done(&archive);
    buf_done(&whole);
    buf_done(&pieces);
    return 0;
}
