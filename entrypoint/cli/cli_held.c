/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/cli/cli_held.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "entrypoint/cli/cli_client.h"

struct cli_piece {
    struct cli_piece *next;
    char *id; /* of a display that can be updated, or NULL */
    struct buf text;
    bool written; /* its place is; `text` is a last state that is to be added, or empty */
};

static void write_out_held(const struct buf *text)
{
    cli_write_text(STDOUT_FILENO, buf_text(text));
}

static void drop_pieces(struct cli_held *h)
{
    for (struct cli_piece *p = h->first, *next; p; p = next) {
        next = p->next;
        buf_done(&p->text);
        xfree(p->id);
        xfree(p);
    }
    h->first = h->last = NULL;
    h->bytes = h->displays = 0;
}

/* Writes all that is held in its place. Displays are remembered, for their last state. */
static void flush_held(struct cli_held *h)
{
    struct cli_piece **at = &h->first, *last = NULL;
    size_t kept = 0;
    while (*at) {
        struct cli_piece *p = *at;
        if (!p->written)
            write_out_held(&p->text);
        if (!p->written)
            buf_clear(&p->text);
        p->written = true;
        if (p->id) {
            kept += p->text.len;
            last = p;
            at = &p->next;
            continue;
        }
        *at = p->next;
        buf_done(&p->text);
        xfree(p);
    }
    h->last = last;
    h->bytes = kept;
}

static void clear_held_if_due(struct cli_held *h)
{
    if (h->clear_due)
        drop_pieces(h);
    h->clear_due = false;
}

static struct cli_piece *add_piece(struct cli_held *h, const char *id)
{
    struct cli_piece *p = NEW(struct cli_piece);
    *p = (struct cli_piece){.id = xstrdup(id), .text = BUF_INIT(CLI_EVENT_MAX)};
    *(h->last ? &h->last->next : &h->first) = p;
    h->last = p;
    h->displays += id != NULL;
    return p;
}

static void set_text(struct cli_held *h, struct cli_piece *p, const char *text)
{
    h->bytes -= p->text.len;
    buf_clear(&p->text);
    (void)buf_adds(&p->text, text);
    h->bytes += p->text.len;
}

static void limit_held(struct cli_held *h)
{
    if (h->bytes > CLI_HELD_MAX)
        flush_held(h);
}

void cli_held_text(struct cli_held *h, const char *text)
{
    clear_held_if_due(h);
    if (!h->holding) {
        cli_write_text(STDOUT_FILENO, text);
        return;
    }
    struct cli_piece *p = h->last && !h->last->id ? h->last : add_piece(h, NULL);
    size_t before = p->text.len;
    (void)buf_adds(&p->text, text);
    h->bytes += p->text.len - before;
    limit_held(h);
}

void cli_held_display(struct cli_held *h, const char *id, const char *text)
{
    clear_held_if_due(h);
    if (id && *id && h->displays < CLI_DISPLAYS_MAX) {
        h->holding = true;
        set_text(h, add_piece(h, id), text);
        limit_held(h);
    } else {
        cli_held_text(h, text);
    }
}

void cli_held_update(struct cli_held *h, const char *id, const char *text)
{
    clear_held_if_due(h);
    for (struct cli_piece *p = id ? h->first : NULL; p; p = p->next) {
        if (p->id && strcmp(p->id, id) == 0)
            set_text(h, p, text);
    }
    limit_held(h);
}

void cli_held_clear(struct cli_held *h, bool wait)
{
    h->holding = true;
    h->clear_due = wait;
    if (!wait)
        drop_pieces(h);
}

void cli_held_end(struct cli_held *h)
{
    for (struct cli_piece *p = h->first; p; p = p->next) {
        if (!p->written)
            write_out_held(&p->text);
    }
    for (struct cli_piece *p = h->first; p; p = p->next) {
        if (p->written)
            write_out_held(&p->text);
    }
    drop_pieces(h);
    *h = (struct cli_held){0};
}
