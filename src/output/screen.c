/* SPDX-License-Identifier: Apache-2.0 */
#include "output/screen.h"

#include <string.h>

#include "base/text/bytes8.h"
#include "base/text/utf8.h"

enum { ESCAPE_MAX = 4096, CSI_MAX = 64 };

enum escape_state { ESCAPE_OPEN, ESCAPE_COMPLETE, ESCAPE_DROPPED, ESCAPE_BROKEN };

static struct buf *row_at(struct screen *s, size_t i)
{
    return &s->rows[(s->first + i) % SCREEN_ROWS];
}

static void reset_screen(struct screen *s)
{
    for (size_t i = 0; i < SCREEN_ROWS; i++)
        buf_clear(&s->rows[i]);
    s->first = s->row = s->column = 0;
    s->count = 1;
    s->behind = true;
}

void screen_init(struct screen *s, void (*out)(void *ctx, const char *text, size_t n), void *ctx)
{
    *s = (struct screen){.out = out, .ctx = ctx, .escape = BUF_INIT(ESCAPE_MAX)};
    for (size_t i = 0; i < SCREEN_ROWS; i++)
        s->rows[i] = BUF_INIT(SCREEN_ROW_MAX + 8);
    reset_screen(s);
}

void screen_done(struct screen *s)
{
    for (size_t i = 0; i < SCREEN_ROWS; i++)
        buf_done(&s->rows[i]);
    buf_done(&s->escape);
}

void screen_clear(struct screen *s)
{
    reset_screen(s);
    buf_clear(&s->escape);
}

static void hand_out(struct screen *s, const char *text, size_t n)
{
    if (n > 0)
        s->out(s->ctx, text, n);
}

static void hand_out_first_row(struct screen *s)
{
    struct buf *row = row_at(s, 0);
    hand_out(s, buf_text(row), row->len);
    hand_out(s, "\n", 1);
    buf_clear(row);
    s->first = (s->first + 1) % SCREEN_ROWS;
    s->count--;
    s->row = s->row > 0 ? s->row - 1 : 0;
}

/* --- a row ---------------------------------------------------------------------------------- */

static size_t character_length(const struct buf *row, size_t at)
{
    if (at >= row->len)
        return 0;
    size_t width = utf8_char(row->data + at, row->len - at, NULL);
    return width > 0 ? width : 1;
}

/* Where in the row a column begins; the row's length when it is shorter. *ret_missing: how many
 * columns short it is. */
static size_t column_offset(const struct buf *row, size_t column, size_t *ret_missing)
{
    size_t i = 0;
    for (; column > 0; column--) {
        size_t width = character_length(row, i);
        if (width == 0)
            break;
        i += width;
    }
    *ret_missing = column;
    return i;
}

static void replace_on_screen(struct buf *row, size_t at, size_t old, const char *text, size_t n)
{
    if (buf_reserve(row, n > old ? n - old : 0) < 0)
        return; /* no memory: the row stands as it is */
    memmove(row->data + at + n, row->data + at + old, row->len - at - old);
    memcpy(row->data + at, text, n);
    row->len = row->len + n - old;
    row->data[row->len] = '\0';
}

/* The cursor's row is too long to be kept: it is handed out as far as it is written. */
static void spill_row(struct screen *s)
{
    while (s->row > 0)
        hand_out_first_row(s);
    struct buf *row = row_at(s, 0);
    hand_out(s, buf_text(row), row->len);
    buf_clear(row);
    s->column = 0;
    s->behind = true;
}

static size_t cursor_offset(struct screen *s, size_t *ret_missing)
{
    const struct buf *row = row_at(s, s->row);
    *ret_missing = 0;
    return s->behind ? row->len : column_offset(row, s->column, ret_missing);
}

/* One character at the cursor, over whatever stood there. */
static void put_on_screen(struct screen *s, const char *text, size_t n)
{
    size_t missing;
    size_t at = cursor_offset(s, &missing);
    if (row_at(s, s->row)->len + missing + n > SCREEN_ROW_MAX) {
        spill_row(s);
        at = missing = 0;
    }
    struct buf *row = row_at(s, s->row);
    for (; missing > 0; missing--, at++)
        (void)buf_addc(row, ' ');
    size_t old = character_length(row, at);
    s->behind = at + old == row->len;
    replace_on_screen(row, at, old, text, n);
    s->column++;
}

void screen_flush(struct screen *s)
{
    while (s->count > 1)
        hand_out_first_row(s);
    hand_out(s, buf_text(row_at(s, 0)), row_at(s, 0)->len);
    hand_out(s, buf_text(&s->escape), s->escape.len); /* it never became one */
    screen_clear(s);
}

static void erase_line(struct screen *s, size_t row_index, int how)
{
    struct buf *row = row_at(s, row_index);
    size_t missing;
    size_t at = how == 2 ? 0 : column_offset(row, s->column, &missing);
    s->behind = false;
    if (how == 1) {
        for (size_t i = 0; i < at; i++)
            row->data[i] = ' ';
    } else if (row->data) {
        row->len = at;
        row->data[at] = '\0';
    }
}

/* --- control -------------------------------------------------------------------------------- */

static void line_feed(struct screen *s)
{
    s->column = 0;
    s->behind = s->row + 1 == s->count;
    if (s->row + 1 < s->count) {
        s->row++;
        return;
    }
    if (s->count == SCREEN_ROWS)
        hand_out_first_row(s);
    s->count++;
    s->row = s->count - 1;
}

static void erase_display(struct screen *s, int how)
{
    if (how >= 2) {
        screen_clear(s);
        return;
    }
    size_t from = how == 1 ? 0 : s->row, to = how == 1 ? s->row : s->count - 1;
    for (size_t i = from; i <= to; i++)
        erase_line(s, i, i == s->row ? how : 2);
    if (how == 0)
        s->count = s->row + 1; /* what is empty to the end is not there */
}

static void move_cursor(struct screen *s, char final, size_t n)
{
    s->behind = false;
    switch (final) {
    case 'A':
    case 'F': /* up */
        s->row = s->row > n ? s->row - n : 0;
        break;
    case 'B':
    case 'E': /* down, at most to the last row there is */
        s->row = s->row + n < s->count ? s->row + n : s->count - 1;
        break;
    case 'C':
        s->column = s->column + n < SCREEN_ROW_MAX ? s->column + n : SCREEN_ROW_MAX;
        break;
    case 'D':
        s->column = s->column > n ? s->column - n : 0;
        break;
    case 'G':
        s->column = (n < SCREEN_ROW_MAX ? n : SCREEN_ROW_MAX) - 1;
        break;
    default:
        return;
    }
    if (final == 'E' || final == 'F')
        s->column = 0;
}

static size_t first_number(const char *text)
{
    size_t n = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        n = n < SCREEN_ROW_MAX ? n * 10 + (size_t)(*text - '0') : n;
    return n;
}

static void run_sequence(struct screen *s)
{
    const char *text = buf_text(&s->escape);
    char final = text[s->escape.len - 1];
    size_t n = first_number(text + 2);
    if (final == 'K')
        erase_line(s, s->row, (int)(n < 3 ? n : 0));
    else if (final == 'J')
        erase_display(s, (int)(n < 4 ? n : 0));
    else
        move_cursor(s, final, n > 0 ? n : 1);
    buf_clear(&s->escape);
}

/* How a sequence of n bytes goes on. ESC [ ... letter; ESC ] ... BEL or ESC \, for links and
 * titles; ESC ( B and its like. */
static enum escape_state escape_state(const char *text, size_t n)
{
    unsigned char c = (unsigned char)text[n - 1];
    if (n < 2)
        return ESCAPE_OPEN;
    if (text[1] == ']') {
        bool ends = c == '\a' || (n > 3 && c == '\\' && text[n - 2] == '\033');
        return ends ? ESCAPE_DROPPED : n < ESCAPE_MAX && c != '\n' ? ESCAPE_OPEN : ESCAPE_BROKEN;
    }
    if (text[1] == '[') {
        if (n >= CSI_MAX || (n > 2 && c < 0x20))
            return ESCAPE_BROKEN;
        return n > 2 && c >= 0x40 && c <= 0x7E ? ESCAPE_COMPLETE : ESCAPE_OPEN;
    }
    if (text[1] < 0x20 || text[1] > 0x2F)
        return ESCAPE_BROKEN;
    return n < 3 ? ESCAPE_OPEN : ESCAPE_DROPPED;
}

/* A byte of a sequence. What cannot be one, or is too long, is text after all. */
static void feed_escape(struct screen *s, char c)
{
    (void)buf_addc(&s->escape, c);
    switch (escape_state(s->escape.data, s->escape.len)) {
    case ESCAPE_OPEN:
        return;
    case ESCAPE_COMPLETE:
        run_sequence(s);
        return;
    case ESCAPE_BROKEN:
        for (size_t i = 0; i < s->escape.len; i++)
            put_on_screen(s, s->escape.data + i, 1);
        break;
    case ESCAPE_DROPPED:
        break;
    }
    buf_clear(&s->escape);
}

static size_t feed_one(struct screen *s, const char *text, size_t n)
{
    char c = *text;
    if (s->escape.len > 0 || c == '\033') {
        feed_escape(s, c);
        return 1;
    }
    if (c == '\n') {
        line_feed(s);
        return 1;
    }
    if (c == '\r' || c == '\b') {
        s->behind = false;
    }
    if (c == '\r') {
        s->column = 0;
        return 1;
    }
    if (c == '\b') {
        s->column = s->column > 0 ? s->column - 1 : 0;
        return 1;
    }
    size_t width = utf8_char(text, n, NULL);
    if (width == 0) /* C0 80, which stands for NUL, is the one form that is no character */
        width = n > 1 && (unsigned char)c == 0xC0 ? 2 : 1;
    put_on_screen(s, text, width);
    return width;
}

/* --- text without control ------------------------------------------------------------------- */

static bool has_control(uint64_t word)
{
    return (bytes8_equal(word, '\r') | bytes8_equal(word, '\b') | bytes8_equal(word, '\033')) != 0;
}

static size_t plain_screen_length(const char *text, size_t n)
{
    size_t i = 0;
    while (i + 8 <= n && !has_control(bytes8_load(text + i)))
        i += 8;
    while (i < n && text[i] != '\r' && text[i] != '\b' && text[i] != '\033')
        i++;
    return i;
}

/* Where the last `rows` lines of the text begin. */
static size_t tail_offset(const char *text, size_t n, size_t rows)
{
    while (rows-- > 0) {
        const char *line = memrchr(text, '\n', n);
        if (!line)
            return 0;
        n = (size_t)(line - text);
    }
    return n + 1;
}

/* Appends a piece of one line at the cursor, which is at the end of the last row. A row is handed
 * out where the next character does not fit, however the text came in pieces. */
static void append_to_screen(struct screen *s, const char *text, size_t n)
{
    while (n > 0) {
        size_t room = SCREEN_ROW_MAX - row_at(s, s->row)->len;
        size_t part = n < room ? n : room;
        while (part > 0 && part < n && ((unsigned char)text[part] & 0xC0) == 0x80)
            part--; /* never half a character */
        (void)buf_add(row_at(s, s->row), text, part);
        s->column += utf8_count(text, part);
        if (part < n)
            spill_row(s);
        text += part;
        n -= part;
    }
}

static bool at_end(const struct screen *s)
{
    return s->behind && s->row == s->count - 1 && s->escape.len == 0;
}

static void write_plain(struct screen *s, const char *text, size_t n)
{
    size_t tail = tail_offset(text, n, SCREEN_ROWS);
    if (tail > 0 && at_end(s)) { /* most of it can never be changed */
        while (s->count > 1)
            hand_out_first_row(s);
        hand_out(s, buf_text(row_at(s, 0)), row_at(s, 0)->len);
        hand_out(s, text, tail);
        reset_screen(s);
        text += tail;
        n -= tail;
    }
    while (n > 0) {
        const char *end = memchr(text, '\n', n);
        size_t part = end ? (size_t)(end - text) : n;
        if (at_end(s)) {
            append_to_screen(s, text, part);
        } else {
            for (size_t i = 0; i < part;)
                i += feed_one(s, text + i, part - i);
        }
        if (end)
            line_feed(s);
        text += part + (end != NULL);
        n -= part + (end != NULL);
    }
}

void screen_write(struct screen *s, const char *text, size_t n)
{
    while (n > 0) {
        size_t plain = s->escape.len > 0 ? 0 : plain_screen_length(text, n);
        if (plain > 0)
            write_plain(s, text, plain);
        else
            plain = feed_one(s, text, n);
        text += plain;
        n -= plain;
    }
}
