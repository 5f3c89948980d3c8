/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/sse.h"

#include <string.h>

enum field { NONE, DATA, EVENT, ID, RETRY };

enum { BLOCK_KEPT = 64 * 1024, BOM_OVER = 3 };

void sse_done(struct sse *s)
{
    buf_done(&s->data);
    *s = SSE_INIT(s->data.cap);
}

static void clear_event(struct sse *s)
{
    if (s->data.size > BLOCK_KEPT || s->data.failed)
        buf_done(&s->data);
    else
        buf_clear(&s->data);
    s->type[0] = '\0';
    s->has_data = s->has_id = s->returned = false;
}

static void clear_line(struct sse *s)
{
    s->name_len = s->value_len = 0;
    s->field = NONE;
    s->in_value = s->skip_space = false;
    s->number = 0;
}

void sse_restart(struct sse *s)
{
    clear_event(s);
    clear_line(s);
    s->after_cr = false;
    s->bom = 0;
}

static enum field event_field_of(const struct sse *s)
{
    static const struct {
        const char *name;
        enum field field;
    } fields[] = {{"data", DATA}, {"event", EVENT}, {"id", ID}, {"retry", RETRY}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (s->name_len == strlen(fields[i].name) &&
            memcmp(s->name, fields[i].name, s->name_len) == 0)
            return fields[i].field;
    }
    return NONE;
}

/* The field's name is read; its value, perhaps an empty one, begins. */
static int begin_value(struct sse *s)
{
    s->field = event_field_of(s);
    s->in_value = s->skip_space = true;
    if (s->field != DATA)
        return 0;
    bool more = s->has_data; /* lines of one event are joined by a line break */
    s->has_data = true;
    return more ? buf_addc(&s->data, '\n') : 0;
}

/* Too long a value counts as absent. */
static void add_short(char *to, size_t max, struct sse *s, const char *bytes, size_t n)
{
    if (n > max - (s->value_len < max ? s->value_len : max) || memchr(bytes, '\0', n)) {
        s->field = NONE;
        return;
    }
    memcpy(to + s->value_len, bytes, n);
    s->value_len += n;
}

static void add_digits(struct sse *s, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] < '0' || bytes[i] > '9') {
            s->field = NONE;
            return;
        }
        s->number = s->number * 10 + (bytes[i] - '0');
        s->number = s->number < SSE_RETRY_MAX_MS ? s->number : SSE_RETRY_MAX_MS;
        s->value_len = 1;
    }
}

static int add_event_value(struct sse *s, const char *bytes, size_t n)
{
    if (n > 0 && s->skip_space && *bytes == ' ')
        bytes++, n--;
    s->skip_space = false;
    switch ((enum field)s->field) {
    case DATA:
        return buf_add(&s->data, bytes, n);
    case EVENT:
        add_short(s->type, SSE_TYPE_MAX, s, bytes, n);
        if (s->field == NONE) /* a name that nobody knows */
            memcpy(s->type, "?", 2);
        break;
    case ID:
        add_short(s->new_id, SSE_ID_MAX, s, bytes, n);
        s->has_id &= s->field == ID; /* an earlier one of the same event is spoilt */
        break;
    case RETRY:
        add_digits(s, bytes, n);
        break;
    case NONE:
        break;
    }
    return 0;
}

/* The part of a line that is there. */
static int add_part(struct sse *s, const char *bytes, size_t n)
{
    if (!s->in_value) {
        const char *colon = memchr(bytes, ':', n);
        size_t name = colon ? (size_t)(colon - bytes) : n;
        for (size_t i = 0; i < name && s->name_len < sizeof s->name; i++)
            s->name[s->name_len++] = bytes[i];
        if (!colon)
            return 0;
        int r = begin_value(s);
        if (r < 0)
            return r;
        bytes += name + 1;
        n -= name + 1;
    }
    return n > 0 ? add_event_value(s, bytes, n) : 0;
}

/* 1: an event is complete. */
static int end_event_line(struct sse *s)
{
    bool empty = !s->in_value && s->name_len == 0;
    int r = s->in_value || empty ? 0 : begin_value(s);
    if (s->field == EVENT)
        s->type[s->value_len] = '\0';
    if (s->field == ID) {
        s->new_id[s->value_len] = '\0';
        s->has_id = true;
    }
    if (s->field == RETRY && s->value_len > 0)
        s->retry_ms = s->number;
    clear_line(s);
    if (!empty)
        return r;
    if (s->has_id)
        memcpy(s->id, s->new_id, strlen(s->new_id) + 1);
    if (s->has_data)
        return 1;
    clear_event(s);
    return 0;
}

/* A byte order mark may stand before everything. */
static void skip_bom(struct sse *s, const char **bytes, size_t *n)
{
    static const char mark[BOM_OVER] = "\xEF\xBB\xBF";
    while (s->bom < BOM_OVER && *n > 0) {
        if (**bytes != mark[s->bom]) {
            s->bom = BOM_OVER; /* a part of the mark is a name that nobody knows: left out, too */
            return;
        }
        s->bom++;
        (*bytes)++, (*n)--;
    }
}

static int take_event_line(struct sse *s, const char **bytes, size_t *n)
{
    const char *at = *bytes, *end = at + *n;
    if (s->after_cr && *at == '\n') {
        s->after_cr = false;
        (*bytes)++, (*n)--;
        return 0;
    }
    s->after_cr = false;
    while (at < end && *at != '\n' && *at != '\r')
        at++;
    int r = add_part(s, *bytes, (size_t)(at - *bytes));
    bool whole = at < end;
    if (r == 0 && whole) {
        s->after_cr = *at++ == '\r';
        r = end_event_line(s);
    }
    *n -= (size_t)(at - *bytes);
    *bytes = at;
    return r;
}

int sse_next(struct sse *s, const char **bytes, size_t *n, struct sse_event *ret)
{
    if (s->data.failed)
        return s->data.failed;
    if (s->returned)
        clear_event(s);
    skip_bom(s, bytes, n);
    while (*n > 0) {
        int r = take_event_line(s, bytes, n);
        if (r < 0)
            return r;
        if (r == 0)
            continue;
        s->returned = true;
        if (buf_reserve(&s->data, 0) < 0) /* a text even when it is empty */
            return s->data.failed;
        s->data.data[s->data.len] = '\0';
        *ret = (struct sse_event){
            .type = s->type[0] ? s->type : "message", .data = s->data.data, .n = s->data.len};
        return 1;
    }
    return 0;
}
