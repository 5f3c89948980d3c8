/* SPDX-License-Identifier: Apache-2.0 */
#include "jupyter/fork_orders.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/jsonw.h"

static int put_fork_slot(int fd, enum child_slot slot, const struct buf *text, struct err *e)
{
    if (text->failed || text->len >= CHILD_SLOT)
        return err_set(e, -EMSGSIZE, "the orders for a fork are too long");
    const off_t at = (off_t)slot * CHILD_SLOT;
    if (pwrite(fd, text->data, text->len, at) != (ssize_t)text->len)
        return err_set(e, -errno, "the orders for a fork: %s", strerror(errno));
    return 0;
}

int fork_orders_put_token(int fd, enum child_slot slot, const struct token *token, struct err *e)
{
    drop_buf struct buf text = BUF_INIT(CHILD_SLOT);
    struct jsonw w = JSONW(&text);
    jsonw_object(&w);
    jsonw_set_text(&w, "token", token->text);
    jsonw_end(&w);
    return put_fork_slot(fd, slot, &text, e);
}

int fork_orders_put(int fd, const struct kernel_branch *how, struct err *e)
{
    char program[CHILD_SLOT / 2] = "";
    drop_buf struct buf text = BUF_INIT(CHILD_SLOT);
    struct jsonw w = JSONW(&text);
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        return err_set(e, -errno, "/proc/self/exe: %s", strerror(errno));
    jsonw_object(&w);
    jsonw_set_text(&w, "program", program);
    jsonw_set_bool(&w, "force", how->force);
    jsonw_set_bool(&w, "keep_random", how->keep_random);
    jsonw_set_bool(&w, "same_session", how->same_session);
    jsonw_end(&w);
    return put_fork_slot(fd, CHILD_SLOT_ORDER, &text, e);
}
