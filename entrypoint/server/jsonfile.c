/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/server/jsonfile.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

enum { CHUNK = 64 << 10 };

static int read_json_file(const char *path, struct buf *ret)
{
    drop_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    for (;;) {
        int r = buf_reserve(ret, CHUNK);
        if (r < 0)
            return r == -EMSGSIZE ? -EFBIG : r;
        ssize_t n = read(fd, ret->data + ret->len, CHUNK);
        if (n <= 0)
            return n < 0 ? -errno : 0;
        ret->len += (size_t)n;
    }
}

int jsonfile_text(const char *path, size_t max, struct buf *ret, struct err *e)
{
    *ret = BUF_INIT(max + CHUNK);
    int r = read_json_file(path, ret);
    return r < 0 ? err_set(e, r, "%s: %s", path, strerror(-r)) : 0;
}

int jsonfile_read(const char *path, size_t max, struct json **ret, struct err *e)
{
    drop_buf struct buf text = BUF_INIT(0);
    int r = jsonfile_text(path, max, &text, e);
    if (r < 0)
        return r;
    struct json *file = json_parse(text.data, text.len, JSON_STRICT, e);
    if (!file)
        return err_wrap(e, "%s", path);
    *ret = file;
    return 0;
}
