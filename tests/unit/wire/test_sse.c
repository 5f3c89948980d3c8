/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "wire/sse.h"

/* What the stream says, with its bytes in pieces of `step`: type(data)id, and what went wrong. */
static void expect_pieces(const char *stream, size_t n, const char *expected, size_t step)
{
    struct sse s = SSE_INIT(1000);
    drop_buf struct buf out = BUF_INIT(4096);
    int r = 0;
    for (size_t at = 0; at < n && r >= 0; at += step) {
        const char *bytes = stream + at;
        size_t left = n - at < step ? n - at : step;
        struct sse_event event;
        while ((r = sse_next(&s, &bytes, &left, &event)) > 0)
            (void)buf_addf(&out, "%s(%s)%s;", event.type, event.data, s.id);
    }
    if (s.retry_ms >= 0)
        (void)buf_addf(&out, "retry %d", (int)s.retry_ms);
    if (r < 0)
        (void)buf_addf(&out, "%s", strerror(-r));
    TEST_CHECK(strcmp(buf_text(&out), expected) == 0);
    TEST_MSG("pieces of %zu: expected %s", step, expected);
    TEST_MSG("actual   %s", buf_text(&out));
    sse_done(&s);
}

static void expect(const char *stream, const char *expected)
{
    for (size_t step = 1; step < 9; step++)
        expect_pieces(stream, strlen(stream), expected, step);
    expect_pieces(stream, strlen(stream), expected, strlen(stream));
}

static void events_are_what_the_standard_says(void)
{
    expect("data: {}\n\n", "message({});");
    expect("event: endpoint\r\ndata: /x?a=b:c\r\n\r\n", "endpoint(/x?a=b:c);");
    expect("data:a\rdata:  b\rdata\r\r", "message(a\n b\n);");
    expect(": comment\n\ndata: a\n\n: data: x\n\n", "message(a);");
    expect("\xEF\xBB\xBF"
           "data: a\n\ndata: b",
           "message(a);");
    expect("datum: a\ndata : a\n\ndata\n\n", "message();");
    expect("event: x\n\ndata: a\n\n", "message(a);");
    expect("", "");
}

static void ids_and_retry_are_kept(void)
{
    expect("id: 1\ndata:\n\nid: 2\nretry: 500\n\ndata: a\n\n", "message()1;message(a)2;retry 500");
    expect("id: 1\ndata: a\n\nid\ndata: b\n\n", "message(a)1;message(b);");
    expect("id: 1\ndata: a\n\nid: 2", "message(a)1;");
    expect("retry: 5x\nretry: \nretry\n\n", "");
    expect("retry: 99999999999999999999\n\n", "retry 3600000");
    expect_pieces("id: a\0b\ndata: x\n\n", 17, "message(x);", 17);
}

static void what_is_too_long_is_refused_or_passed_over(void)
{
    char text[4096];
    memset(text, 'x', sizeof text);
    memcpy(text, "data: ", 6);
    expect_pieces(text, sizeof text, strerror(EMSGSIZE), 100);
    memcpy(text, "id: xx", 6);
    memcpy(text + sizeof text - 10, "\ndata: a\n\n", 10);
    expect_pieces(text, sizeof text, "message(a);", 100);
    memcpy(text, "event:", 6);
    expect_pieces(text, sizeof text, "?(a);", 100);
    memcpy(text, "xxxxxx", 6);
    expect_pieces(text, sizeof text, "message(a);", 100);
    memcpy(text, ": xxxx", 6);
    expect_pieces(text, sizeof text, "message(a);", 4096);
}

static void after_a_restart_the_half_of_an_event_is_forgotten(void)
{
    struct sse s = SSE_INIT(10);
    const char *bytes = "id: 7\ndata: a\n\ndata: b\nid: 8\nda";
    size_t n = strlen(bytes);
    struct sse_event event;
    TEST_CHECK(sse_next(&s, &bytes, &n, &event) == 1 && sse_next(&s, &bytes, &n, &event) == 0);
    sse_restart(&s);
    TEST_CHECK(strcmp(s.id, "7") == 0);
    bytes = "data: c\n\ndata: 12345678901";
    n = strlen(bytes);
    TEST_CHECK(sse_next(&s, &bytes, &n, &event) == 1 && strcmp(event.data, "c") == 0);
    TEST_CHECK(sse_next(&s, &bytes, &n, &event) == -EMSGSIZE);
    TEST_CHECK(sse_next(&s, &bytes, &n, &event) == -EMSGSIZE);
    sse_restart(&s);
    bytes = "data: d\n\n";
    n = strlen(bytes);
    TEST_CHECK(sse_next(&s, &bytes, &n, &event) == 1 && strcmp(event.data, "d") == 0);
    sse_done(&s);
}

#define T(name) {#name, name}

TEST_LIST = {
    T(events_are_what_the_standard_says),
    T(ids_and_retry_are_kept),
    T(what_is_too_long_is_refused_or_passed_over),
    T(after_a_restart_the_half_of_an_event_is_forgotten),
    {NULL, NULL},
};
