/* SPDX-License-Identifier: Apache-2.0
 *
 * Jupyter messages. Input: frames, each behind its length in two bytes (little endian). They are
 * decoded as they are, and once more with a right signature put in, so that what lies behind the
 * check is reached. A message that decodes has all it promises, and does not decode twice. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hmac.h"
#include "wire/jupyter_msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static const char secret[] = "key";

static size_t split(char *bytes, size_t size, struct slice *frames)
{
    size_t n = 0;
    for (size_t i = 0; i + 2 <= size && n < JUPYTER_FRAMES_MAX + 1; n++) {
        size_t len = (size_t)(unsigned char)bytes[i] | (size_t)(unsigned char)bytes[i + 1] << 8;
        i += 2;
        if (len > size - i)
            len = size - i;
        frames[n] = (struct slice){bytes + i, len};
        i += len;
    }
    return n;
}

static void check(const struct jupyter_msg *m, const struct slice *frames, size_t n)
{
    must(m->identity_count + m->buffer_count + 6 == n);
    must(m->identities == frames && m->buffers == frames + m->identity_count + 6);
    must(m->msg_id && m->type_name && m->parent_id && m->type < JUPYTER__COUNT);
    must(m->type == JUPYTER_OTHER || strcmp(jupyter_type_name(m->type), m->type_name) == 0);
    must(json_is_object(m->header) && json_is_object(m->parent));
    must(!m->content || json_is_object(m->content));
    must(!m->metadata || json_is_object(m->metadata));
    must((m->content && m->metadata) == (m->content_error == 0));
}

/* Decodes a copy, since decoding writes into the frames. */
static int decode(const char *bytes, size_t size, struct jupyter_key *key, const char *signature)
{
    static struct slice frames[JUPYTER_FRAMES_MAX + 1];
    drop_str char *copy = xcalloc(1, size + 1);
    memcpy(copy, bytes, size);
    size_t n = split(copy, size, frames);
    char hex[HMAC_HEX + 1];
    size_t i = 0;
    while (i < n && !(frames[i].len == 9 && memcmp(frames[i].data, "<IDS|MSG>", 9) == 0))
        i++;
    if (signature && i + 1 < n) {
        memcpy(hex, signature, sizeof hex);
        frames[i + 1] = (struct slice){hex, HMAC_HEX};
    }
    struct jupyter_msg m;
    struct err e = ERR_NONE;
    int r = jupyter_msg_decode(frames, n, key, &m, &e);
    must(r == 0 ? e.code == 0 : r < 0 && e.code == r);
    if (r == 0) {
        check(&m, frames, n);
        jupyter_msg_done(&m);
    }
    return r;
}

static void sign(const char *bytes, size_t size, char hex[HMAC_HEX + 1])
{
    static struct slice frames[JUPYTER_FRAMES_MAX + 1];
    drop_str char *copy = xcalloc(1, size + 1);
    memcpy(copy, bytes, size);
    size_t n = split(copy, size, frames);
    size_t i = 0;
    while (i < n && !(frames[i].len == 9 && memcmp(frames[i].data, "<IDS|MSG>", 9) == 0))
        i++;
    struct hmac *h = hmac_new(secret, sizeof secret - 1);
    hmac_begin(h);
    for (size_t f = i + 2; f < i + 6 && f < n; f++)
        hmac_add(h, frames[f].data, frames[f].len);
    unsigned char digest[HMAC_BYTES];
    hmac_end(h, digest);
    hmac_hex(digest, hex);
    (void)hmac_free(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jupyter_key *key = jupyter_key_new(secret, sizeof secret - 1);
    const char *bytes = (const char *)data;
    char hex[HMAC_HEX + 1];
    sign(bytes, size, hex);
    (void)decode(bytes, size, key, NULL);
    int first = decode(bytes, size, key, hex);
    int second = decode(bytes, size, key, hex);
    must(second == (first == 0 ? -EALREADY : second) && second != 0);
    (void)jupyter_key_free(key);
    return 0;
}
