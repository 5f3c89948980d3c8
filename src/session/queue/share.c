/* SPDX-License-Identifier: Apache-2.0 */
#include "session/queue/share.h"

#include <string.h>

#include "base/text/utf8.h"
#include "output/links.h"

enum { WORDS_AROUND = 20 }; /* one part in so many is for the words around several blocks */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* What ended the cell, beside its sentence. */
static size_t error_chars(const struct session *s, const struct cell_result *result)
{
    size_t n = result->ename ? failure_chars(&s->failure) : 0;
    if (result->last_words)
        n += utf8_count(result->last_words, strlen(result->last_words));
    return n;
}

static void fit_error(struct session *s, struct cell_result *result, size_t room)
{
    result->words_room = room;
    if (!result->ename)
        return;
    const char *whole = json_get_text(s->reply, "whole_traceback");
    failure_fit(&s->failure, whole, s->config->workspace, room);
    result->ename = s->failure.ename;
    result->evalue = s->failure.evalue;
    result->traceback = buf_text(&s->failure.traceback);
    result->error_file = s->failure.file;
}

void share_room(struct session *s, struct cell *cell, struct cell_result *result, bool late)
{
    struct output *o = &cell->output;
    output_end(o);
    size_t room = o->max_chars, links = links_chars(o), error = error_chars(s, result);
    size_t later = late ? background_chars(&s->late) : 0;
    if (later > 0 || error > 0)
        room -= room / WORDS_AROUND;
    later = smaller(later, room / 5);
    size_t own = smaller(o->chars + links, room - later);
    size_t error_room = room - later - smaller(own, (room - later) / 5 * 2);
    error_room = smaller(error, error_room);
    fit_error(s, result, error_room);
    result->late = late ? background_tell(&s->late, later) : "";
    size_t left = room - later - error_room;
    output_finish(o, left - smaller(links, left / 3));
    result->links_room = left - smaller(left, o->text_chars);
}
