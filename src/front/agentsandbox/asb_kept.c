/* SPDX-License-Identifier: Apache-2.0
 *
 * What is kept of a command's output for the one answer that it gets, and what is said with it. */
#include <stdio.h>

#include "front/agentsandbox/agentsandbox_internal.h"

/* `out` and `err` are as asb_keep() left them. */
void asb_kept_done(struct asb_kept *kept)
{
    kept->owner->outputs -= kept->out.len + kept->err.len;
    buf_done(&kept->out);
    buf_done(&kept->err);
}

void asb_keep(struct asb_kept *kept, enum command_stream stream, const char *bytes, size_t n)
{
    struct buf *into = stream == COMMAND_STDERR ? &kept->err : &kept->out;
    size_t room = into->cap - into->len;
    size_t left = AGENTSANDBOX_OUTPUTS_MAX - kept->owner->outputs;
    size_t fits = n < room ? n : room;
    fits = fits < left ? fits : left;
    if (fits > 0 && buf_add(into, bytes, fits) < 0)
        fits = 0;
    kept->owner->outputs += fits;
    kept->lost += n - fits;
}

void asb_put_note(struct buf *to, const struct asb_kept *kept, const struct command_end *end,
                  double seconds)
{
    if (end->why)
        (void)buf_addf(to, "Failed to execute command: %s", end->why);
    else if (end->timed_out)
        (void)buf_addf(to, "Command timed out after %g seconds", seconds);
    else if (end->limit)
        (void)buf_adds(to, end->limit);
    if (kept->lost > 0)
        (void)buf_addf(to,
                       "\n[%zu bytes of output are left out: more than %zu to stdout, or %zu to "
                       "stderr]",
                       kept->lost, kept->out.cap, kept->err.cap);
}

int asb_exit_code(const struct command_end *end)
{
    return end->signal ? -end->signal : end->code;
}
